"""What engines print of their settings becomes values, whatever it holds and wherever it is cut off."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.ledger.literal import pairs, value

PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**12), 10**12), st.text(max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, min_size=1, max_size=4)),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("{'mode': <CompilationMode.VLLM_COMPILE: 3>, 'sizes': [1, 2]}", {"mode": "VLLM_COMPILE", "sizes": [1, 2]}),
        ('{"cudagraph_mode":[2,1],"level":3,"x":null}', {"cudagraph_mode": [2, 1], "level": 3, "x": None}),
        ("{'pooler_config': PoolerConfig(pooling_type='LAST', dimensions=None)}", {"pooler_config": {"pooling_type": "LAST", "dimensions": None}}),
        ("Namespace(model='x', tp=2, f=0.9)", {"model": "x", "tp": 2, "f": 0.9}),
        ("{'t': \"it's\", 'n': -1.5e3}", {"t": "it's", "n": -1500.0}),
        ("{'a': (2, 1), 's': set(), 'd': torch.bfloat16}", {"a": [2, 1], "s": "set", "d": "torch.bfloat16"}),
        ("{'cut': 'of", {"cut": "of"}),
        ("", None),
    ],
)  # fmt: skip
def test_values(text: str, read: Any) -> None:
    assert value(text) == read


def test_pairs() -> None:
    told = pairs("model='m', speculative_config=None, device_config=cuda, obs=Config(a=None, b=[1]), compilation_config={'m': <M.FULL: 2>, 'z': 1")
    assert told == {
        "model": "m", "speculative_config": None, "device_config": "cuda", "obs": {"a": None, "b": [1]}, "compilation_config": {"m": "FULL", "z": 1},
    }  # fmt: skip


@given(PLAIN)
def test_what_python_prints_is_read_back(plain: Any) -> None:
    assert value(repr(plain)) == plain


@given(st.text(alphabet="{}[]()<>'\",:= aN1.\\", max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    value(text)
    assert isinstance(pairs(text), dict)


@pytest.mark.parametrize("text", ["{" * 100_000, "a(" * 100_000, "['" * 100_000, "<" * 100_000, "1" * 400_000])
def test_depth_and_length_are_bounded(text: str) -> None:
    value(text)
