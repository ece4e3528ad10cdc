"""Words of a command become options: short names, booleans with and without a value, lists, objects, dotted names, the last one wins."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.booting import KNOWN
from triage.ledger.drift.asked import Word
from triage.ledger.drift.options import engine_start, inner_command, options_of
from triage.ledger.drift.shell_words import commands

VLLM = KNOWN.flags["vllm"]


def told(line: str) -> dict[str, Any]:
    (words,) = commands(line, {})
    return {setting.name: setting.value for setting in options_of(words, VLLM)}


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("-tp 8", {"tensor_parallel_size": "8"}),
        ("--tensor-parallel-size=8 --tensor_parallel_size 4", {"tensor_parallel_size": "4"}),
        ("acme/oak-8b --enforce-eager --port 1", {"model": "acme/oak-8b", "enforce_eager": True, "port": "1"}),
        ("--enforce-eager false", {"enforce_eager": "false"}),
        ("--no-enable-prefix-caching", {"enable_prefix_caching": False}),
        ("--served-model-name a b --seed 1", {"served_model_name": ["a", "b"], "seed": "1"}),
        ("--compilation-config '{\"cudagraph_mode\": \"FULL\"}'", {"compilation_config": {"cudagraph_mode": "FULL"}}),
        ("-cc.cudagraph_mode FULL --compilation-config.level=3", {"compilation_config": {"cudagraph_mode": "FULL", "level": "3"}}),
        ("-O3", {"optimization_level": "3"}),
        ("--chunked-size -1 --x", {"chunked_size": "-1", "x": True}),
        ("--made-up value", {"made_up": "value"}),
    ],
)
def test_words_become_options(line: str, options: dict[str, Any]) -> None:
    assert told(line) == options


@pytest.mark.parametrize(
    ("line", "engine"),
    [
        ("vllm serve acme/oak-8b", "vllm"),
        ("/opt/venv/bin/vllm serve acme/oak-8b", "vllm"),
        ("python3 -m vllm.entrypoints.openai.api_server --model x", "vllm"),
        ("python -m sglang.launch_server --tp 8", "sglang"),
        ("trtllm-serve serve acme/oak-8b", "tensorrt_llm"),
        ("nginx -g daemon", None),
        ("vllm bench serve", None),
    ],
)
def test_the_engine_that_a_command_starts(line: str, engine: str | None) -> None:
    (words,) = commands(line, {})
    start = engine_start(words, KNOWN.flags)
    assert (start[0] if start else None) == engine


def test_a_shell_that_is_to_run_a_text() -> None:
    inner = inner_command([Word("/bin/bash"), Word("-lc"), Word("vllm serve x", "c.yaml:3")])
    assert inner == Word("vllm serve x", "c.yaml:3")
    assert inner_command([Word("bash"), Word("start.sh")]) is None


@given(st.lists(st.text(max_size=12), max_size=12))
def test_no_words_are_too_odd(words: list[str]) -> None:
    settings = options_of([Word(word) for word in words], VLLM)
    assert len({setting.name for setting in settings}) == len(settings)
