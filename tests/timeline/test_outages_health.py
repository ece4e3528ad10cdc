"""What probes can see of each engine: said where engine and address are known, and nowhere else."""

from __future__ import annotations

import pytest

from triage.model import Incident, Instant, Outage, Verdict
from triage.timeline.outages_health import health_note, with_health_notes


def incident(engine: str, target: str, symbols: str) -> Incident:
    at = Instant.sharp(60.0)
    return Incident(id="1", engine=engine, outage=Outage(target=target, symbols=symbols, began=at, onset=at))


@pytest.mark.parametrize(
    ("engine", "target", "symbols", "hung", "said"),
    [
        ("vllm", "http://gpu1:8000/health", "rrr", True, "failed when the server went, not when the hang began"),
        ("vllm", "http://gpu1:8000/ping/", "rrr", True, "vLLM's /ping, which answers 200 while the engine hangs"),
        ("vllm", "http://gpu1:8000/health", "ttrr", True, "whatever the engine does"),
        ("vllm", "http://gpu1:8000/health", "tt", False, "whatever the engine does"),
        ("sglang", "http://gpu1:30000/health", "tt", True, "a timeout there is a stall or a queue"),
        ("sglang", "http://gpu1:30000/health_generate", "rr", False, "a 503 there counts as refused and may be a stall"),
    ],
)
def test_what_is_known_is_said(engine: str, target: str, symbols: str, hung: bool, said: str) -> None:
    assert said in health_note(incident(engine, target, symbols), hung=hung)


@pytest.mark.parametrize(
    ("engine", "target", "symbols", "hung"),
    [
        ("vllm", "http://gpu1:8000/health", "rrr", False),  # a crash: the port is refused at once, whatever /health asks
        ("vllm", "http://gpu1:8000/v1/completions", "ttt", True),
        ("vllm", "http://gpu1:8000", "ttt", True),  # as `triage probe` writes it: with --generate it makes a token
        ("vllm", "gpu1", "ttt", True),
        ("", "http://gpu1:8000/health", "ttt", True),
        ("tensorrt_llm", "http://gpu1:8000/health", "ttt", True),
        ("sglang", "http://gpu1:30000/v1/models", "ttt", True),
        ("vllm", "http://[gpu1:8000/health", "ttt", True),
    ],
)
def test_where_engine_or_address_is_not_known_nothing_is_said(engine: str, target: str, symbols: str, hung: bool) -> None:
    assert health_note(incident(engine, target, symbols), hung=hung) == ""


def test_the_note_is_a_hint_beside_those_that_are_there() -> None:
    told = Verdict(incident=incident("vllm", "http://gpu1:8000/health", "rr"), fault_class="collective-hang", family="hang", fault=True, hints=("x",))
    (noted,) = with_health_notes([told])
    assert noted.hints[0] == "x"
    assert noted.hints[1:] == (health_note(told.incident, hung=True),)
