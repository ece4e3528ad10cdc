"""Addresses: what is one, what is shown of it, and that nothing secret is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.sources.paths import path_of, shown
from triage.sources.urls import address_of, is_url, parted, shown_url, without_secrets

WORD = st.text(st.characters(categories=["L", "N"]), min_size=8, max_size=20)


@pytest.mark.parametrize("path", ["s3://logs/vllm.log", "gs://a/b", "HTTP://host/x", "file:///var/log/x", "s3a://b", "node://gpu-7/var/log"])
def test_an_address_has_a_scheme_and_something_behind_it(path: str) -> None:
    assert is_url(path)


@pytest.mark.parametrize("path", ["-", "logs/", "/var/log/x", "a:b", "C:/logs", "C://logs", "://x", "s3://", "s3:/x", "./s3://x", "\n"])
def test_what_is_none(path: str) -> None:
    assert not is_url(path)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://me:hunter22@host/logs/a.log", "https://host/logs/a.log"),
        ("ftp://me@host/a", "ftp://host/a"),
        ("https://b.s3.amazonaws.com/a.log?X-Amz-Credential=AKIA1&X-Amz-Date=2&X-Amz-Signature=f00",
         "https://b.s3.amazonaws.com/a.log?X-Amz-Credential=***&X-Amz-Date=2&X-Amz-Signature=***"),
        ("https://acc.blob.core.windows.net/c/a.log?sv=1&sig=abc%3D", "https://acc.blob.core.windows.net/c/a.log?sv=1&sig=***"),
        ("https://host/a.log?day=3", "https://host/a.log?day=3"),
        ("s3://b/mail@x/a?b#c", "s3://b/mail@x/a?b#c"),
    ],
)  # fmt: skip
def test_what_gives_access_is_not_shown(url: str, name: str) -> None:
    assert shown(url) == name
    assert path_of(name) == url
    assert shown(name) == name


def test_two_addresses_never_share_a_name() -> None:
    one, other = "https://a.test/log?token=11", "https://a.test/log?token=22"
    assert shown_url(one) != shown_url(other)
    assert [address_of(shown_url(url)) for url in (one, other, one)] == [one, other, one]


@given(WORD, WORD)
def test_no_password_is_left_in_a_text(user: str, secret: str) -> None:
    told = without_secrets(f"GET https://{user}:{secret}@host/x?access_token={secret} failed")
    assert secret not in told.replace("https://host/x", "")


def test_the_parameters_of_a_signed_address_are_no_part_of_its_file_name() -> None:
    assert parted("https://b.test/logs/vllm.log.1.gz?X-Amz-Signature=1") == ("https://b.test/logs", "vllm.log.1.gz")
    assert parted("https://b.test/download?file=vllm.log") == ("https://b.test", "download?file=vllm.log")
