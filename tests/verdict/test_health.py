"""What probes can see of each engine: said where engine and address are known, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lives import Life, log
from triage.model import Incident, Instant, Outage
from triage.pipeline import classify
from triage.verdict.health import health_hints


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
    (hint,) = health_hints(incident(engine, target, symbols), hung=hung)
    assert said in hint


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
    assert health_hints(incident(engine, target, symbols), hung=hung) == ()


def test_it_is_a_hint_of_the_verdict(tmp_path: Path) -> None:
    life = Life(5.0).serves().raises(0, "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(handle)`").dies()
    probes = tmp_path / "probe.log"
    lines = [f"2026-11-20T05:{minute:02}:00Z http://gpu1:8000/health {'000 28' if 4 <= minute < 7 else '200 0'}" for minute in range(10)]
    probes.write_text("\n".join(lines))
    (verdict,) = classify([log(tmp_path, life), str(probes)]).verdicts
    assert any("whatever the engine does" in hint for hint in verdict.hints)
