"""What must not leave the house does not; figures and code stay."""

from __future__ import annotations

import pytest

from triage.report.redact import redacted


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("api_key=sk-live-0123456789abcdef0123", "0123456789abcdef"),
        ("'hf_token': 'hf_AbCdEfGhIjKlMnOpQrStUv'", "AbCdEf"),
        ("Authorization: Bearer abc.def-ghi_jkl", "abc.def"),
        ("cloning https://bob:hunter22@git.example/x", "hunter22"),
        ("password = hunter22", "hunter22"),
        ("got AKIAIOSFODNN7EXAMPLE99 from the environment", "IOSFODNN"),
        ("stop=['tell me a story about a bear']", "bear"),
        ("prompt_token_ids=[101, 7592, 2088, 102, 9, 10, 11, 12, 13]", "7592"),
    ],
)
def test_secrets_and_prose_go(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "Tried to allocate 978.00 MiB. GPU 0 has a total capacity of 79.25 GiB",
        "#new-token: 8192, token usage: 0.41, max_tokens=512",
        "'NoneType' object has no attribute 'block_ids'",
        "shape [1, 2, 3] does not fit",
        "it can't be read and won't be tried",
    ],
)
def test_figures_and_names_stay(text: str) -> None:
    assert redacted(text) == text
