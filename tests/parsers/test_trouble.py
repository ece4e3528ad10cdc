"""What is kept of a loud log: the different lines before a turn and some after it, never more than is bounded, and no word of a user."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from triage.knowledge.load import load
from triage.knowledge.table import RuleTable
from triage.model import Event
from triage.parsers import trouble
from triage.parsers.engine import EngineParser
from triage.sources.clock import Clock
from triage.sources.find import Source
from triage.sources.pieces import pieces

TABLE = RuleTable(load())
DEATH = "(EngineCore_DP0 pid=7) ERROR 11-20 05:51:02 [core.py:844] EngineCore encountered a fatal error."


def loud(tmp_path: Path, text: str, size: int = 1 << 20) -> list[Event]:
    """The lines of a log that are kept as trouble, all of them."""
    file = tmp_path / "vllm.log"
    file.write_text(text, encoding="utf-8")
    clock = Clock()
    parser = EngineParser(TABLE, "vllm.log", "engine", clock)
    for _ in parser.events(pieces(Source(name="vllm.log", files=(str(file),)), clock, size)):
        pass
    return parser.asides.trouble.between(0, float("inf"))


def said(events: list[Event]) -> list[str]:
    return [event.data["message"] for event in events]


def test_lines_before_and_after_a_death_are_kept_but_not_the_marks_themselves(tmp_path: Path) -> None:
    lines = ["(Worker_TP1 pid=9) ERROR 11-20 05:51:01 [pool.py:144] page 17 points to itself", DEATH, "acme.PoolError: gone"]
    assert said(loud(tmp_path, "\n".join(lines))) == ["page 17 points to itself", "acme.PoolError: gone"]


def test_of_a_line_repeated_a_thousand_times_one_is_kept_and_the_one_before_the_storm_too(tmp_path: Path) -> None:
    storm = [f"(Worker_TP{n % 8} pid={n}) ERROR 11-20 05:51:01 [x.py:{n}] retry {n} failed" for n in range(100)]
    kept = said(loud(tmp_path, "\n".join(["acme.PoolError: slot 3 broke", *storm, DEATH])))
    assert "acme.PoolError: slot 3 broke" in kept
    assert sum("retry" in text for text in kept) <= trouble.AFTER


def test_frames_of_a_traceback_crowd_nothing_out(tmp_path: Path) -> None:
    who = "(Worker_TP1 pid=9) ERROR 11-20 05:51:01 [x.py:1]"
    frames = [f'{who}   File "/opt/engine/m{name}.py", line 1, in failed' for name in "abcdefghijklmnopqrstuvwxyz"]
    kept = said(loud(tmp_path, "\n".join([f"{who} page 17 points to itself", f"{who} Traceback (most recent call last):", *frames, DEATH])))
    assert kept == ["page 17 points to itself"]


@pytest.mark.parametrize("size", [128, 300, 1 << 20])
def test_borders_of_pieces_change_nothing(tmp_path: Path, size: int) -> None:
    lines = [f"(Worker_TP1 pid=9) ERROR 11-20 05:51:0{n} [pool.py:144] {word} table broke" for n, word in enumerate(["slot", "page", "root"])]
    assert said(loud(tmp_path, "\n".join([*lines, DEATH, ""]), size)) == ["slot table broke", "page table broke", "root table broke"]


def test_what_a_user_wrote_is_no_trouble(tmp_path: Path) -> None:
    asked = "(APIServer pid=1) INFO 11-20 05:50:00 [logger.py:40] Received request cmpl-1: prompt: 'why is my RuntimeError: lost slot failing?'"
    told = "(Worker_TP1 pid=9) ERROR 11-20 05:51:01 [pool.py:144] slot lost, prompt: 'my secret story'"
    kept = loud(tmp_path, f"{asked}\n{told}\n{DEATH}")
    assert len(kept) == 1
    assert "secret" not in kept[0].text + kept[0].data["message"]


def test_a_line_that_a_root_would_match_names_the_rule(tmp_path: Path) -> None:
    kept = loud(tmp_path, f"RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasGemmEx(handle)`\n{DEATH}")
    assert [event.data["known"] for event in kept] == ["cublas-fault/status"]


def test_an_echo_is_no_trouble(tmp_path: Path) -> None:
    assert loud(tmp_path, f"vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n{DEATH}") == []


def test_a_loud_log_keeps_a_bounded_number_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trouble, "MOST_SAMPLED", 64)
    monkeypatch.setattr(trouble, "MOST_BYTES", 2000)
    text = io.StringIO()
    for number in range(4000):
        text.write(f"acme.Error{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}Error: lost\n" + (f"{DEATH}\n" if number % 50 == 49 else ""))
    file = tmp_path / "vllm.log"
    file.write_text(text.getvalue())
    clock = Clock()
    parser = EngineParser(TABLE, "vllm.log", "engine", clock)
    for _ in parser.events(pieces(Source(name="vllm.log", files=(str(file),)), clock, 4096)):
        pass
    assert len(parser.asides.trouble._sample) <= 65
    assert 1900 < sum(len(kept.raw) for kept in parser.asides.trouble._given.values()) <= 2000
    assert 0 < len(parser.asides.trouble.between(0, float("inf"))) <= trouble.MOST_MADE


def test_the_place_of_a_kept_line_is_its_own(tmp_path: Path) -> None:
    first = "INFO 11-20 05:50:00 [x.py:1] all is well"
    (kept,) = loud(tmp_path, f"{first}\nacme.PoolError: gone\n{DEATH}\n")
    assert kept.place.offset == len(first) + 1
    assert (kept.kind, kept.rule) == ("trouble", "trouble/exception")
