"""Periodic and loud lines are found only where somebody asks: what is found there is the same as if all had been looked at."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.knowledge.load import load
from triage.knowledge.table import RuleTable
from triage.model import Event
from triage.parsers import again, pulse
from triage.parsers.engine import EngineParser
from triage.sources.clock import Clock
from triage.sources.find import Source
from triage.sources.pieces import pieces

TABLE = RuleTable(load())
NINE = 1793523600.0  # 2026-11-01 09:00 UTC
WHO = "(EngineCore_DP0 pid=7)"
STATS = (
    "INFO {} [loggers.py:257] Engine 000: Avg prompt throughput: #.0 tokens/s, Avg generation throughput: #.0 tokens/s, "
    "Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%, Prefix cache hit rate: 0.0%"
)
LINES = {
    "progress": STATS.replace("#", "40"),
    "stall": STATS.replace("#", "0"),
    "loud": "ERROR {} [pool.py:144] page {} points to itself",
    "quiet": "INFO {} [x.py:1] nothing in particular was said this time",
    "death": "ERROR {} [core.py:844] EngineCore encountered a fatal error.",
    "boot": "INFO {} [api_server.py:1977] vLLM API server version 0.11.2",
}
LIFE = st.lists(st.sampled_from(["progress"] * 6 + ["quiet"] * 3 + ["stall", "stall", "loud", "loud", "death", "boot"]), min_size=1, max_size=120)


def log_of(life: list[str]) -> bytes:
    """One line every ten seconds from nine o'clock on."""
    stamps = [f"11-01 {9 + n // 360:02}:{n // 6 % 60:02}:{n % 6 * 10:02}" for n in range(len(life))]
    return "".join(f"{WHO} {LINES[kind].format(at, 'abcdefgh'[n % 8])}\n" for n, (kind, at) in enumerate(zip(life, stamps, strict=True))).encode()


def parsed(file: Path, size: int) -> tuple[list[Event], EngineParser]:
    clock = Clock(year=2026)
    parser = EngineParser(TABLE, "vllm.log", "engine", clock)
    events = list(parser.events(pieces(Source(name="vllm.log", files=(str(file),)), clock, size, numbered=False)))
    return sorted(events, key=lambda event: (event.order, event.rule)), parser


def told(events: list[Event]) -> list[tuple[str, int, str]]:
    return [(event.rule, event.order, event.text) for event in events]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("asides")


@settings(deadline=None, max_examples=60)
@given(life=LIFE, size=st.sampled_from([400, 900, 2000, 5000]))
def test_a_file_that_is_only_swept_gives_the_same_events_as_one_that_is_looked_through(life: list[str], size: int, folder: Path) -> None:
    plain, packed = folder / "vllm.log", folder / "vllm.log.gz"
    plain.write_bytes(log_of(life))
    packed.write_bytes(gzip.compress(log_of(life)))
    swept, full = parsed(plain, size), parsed(packed, size)
    assert told(swept[0]) == told(full[0])


@settings(deadline=None, max_examples=60)
@given(life=LIFE, size=st.sampled_from([400, 900, 2000]), start=st.integers(0, 120), length=st.integers(0, 60))
def test_around_an_outage_every_periodic_line_is_found_again(life: list[str], size: int, start: int, length: int, folder: Path) -> None:
    plain, packed = folder / "vllm.log", folder / "vllm.log.gz"
    plain.write_bytes(log_of(life))
    packed.write_bytes(gzip.compress(log_of(life)))
    span = NINE + 10 * start, NINE + 10 * (start + length)
    swept, full = (parsed(file, size)[1].asides.pulse.between(*span) for file in (plain, packed))
    assert told(swept) == told(full)
    moments = [event.at.earliest for event in swept if event.at]
    assert all(span[0] <= moment < span[1] for moment in moments[1:-1]), "and of those outside the nearest on each side"


def test_loud_lines_in_the_pieces_before_a_death_are_kept(folder: Path) -> None:
    (folder / "vllm.log").write_bytes(log_of(["loud"] * 8 + ["progress"] * 4 + ["death"]))
    kept = parsed(folder / "vllm.log", 400)[1].asides.trouble.between(0, float("inf"))
    assert [event.data["message"][5] for event in kept] == list("abcdefgh")


def test_most_pieces_of_a_healthy_log_are_not_looked_through(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of a piece that was only swept is its first periodic line."""
    life = ["progress"] * 1000
    (folder / "vllm.log").write_bytes(log_of(life))
    parser = parsed(folder / "vllm.log", 2000)[1]
    assert len(parser.asides.pulse._beats) < 200
    monkeypatch.setattr(again, "path_of", lambda name: name + ".gone")
    assert len(parser.asides.pulse.between(NINE, NINE + 10000)) < 200  # the sample is all there is where the file is gone


def test_another_file_in_the_place_of_the_one_that_was_read_tells_nothing(folder: Path) -> None:
    (folder / "vllm.log").write_bytes(log_of(["progress"] * 200))
    parser = parsed(folder / "vllm.log", 2000)[1]
    (folder / "vllm.log").write_bytes(log_of(["quiet"] + ["progress"] * 200))
    found = parser.asides.pulse.between(NINE, NINE + 600)
    assert 2 <= len(found) < 12
    assert all("40.0 tokens/s" in event.text for event in found)


def test_of_a_long_outage_both_ends_are_told_in_full(folder: Path) -> None:
    (folder / "vllm.log").write_bytes(log_of(["progress"] * 2000))
    found = parsed(folder / "vllm.log", 4000)[1].asides.pulse.between(NINE, NINE + 20000)
    moments = [event.at.earliest - NINE for event in found if event.at]
    assert moments[:90] == [10.0 * n for n in range(90)]
    assert moments[-90:] == [10.0 * n for n in range(1910, 2000)]
    assert len(found) <= pulse.MOST_RECALLED + 1


@settings(deadline=None, max_examples=60)
@given(life=LIFE, size=st.sampled_from([400, 900, 2000]), start=st.integers(0, 9000), length=st.integers(0, 4000))
def test_loud_lines_of_a_part_that_was_only_swept_are_found_again(life: list[str], size: int, start: int, length: int, folder: Path) -> None:
    plain, packed = folder / "vllm.log", folder / "vllm.log.gz"
    plain.write_bytes(log_of(life))
    packed.write_bytes(gzip.compress(log_of(life)))
    swept, full = (parsed(file, size)[1].asides.trouble.between(start, start + length) for file in (plain, packed))
    assert {event.order for event in full} <= {event.order for event in swept}
    assert all(start <= event.order <= start + length for event in swept)


@settings(deadline=None, max_examples=40)
@given(life=LIFE, size=st.sampled_from([400, 2000]))
def test_a_log_with_colours_tells_what_one_without_them_does(life: list[str], size: int, folder: Path) -> None:
    bare, coloured = folder / "vllm.log", folder / "vllm-colours.log"
    bare.write_bytes(log_of(life))
    coloured.write_bytes(b"".join(b"\x1b[1;36m" + line + b"\x1b[0m\n" for line in log_of(life).splitlines()))
    span = NINE, NINE + 10 * len(life)
    (first, plain), (second, noisy) = parsed(bare, size), parsed(coloured, size)
    assert [(event.rule, event.text) for event in first] == [(event.rule, event.text) for event in second]
    texts = [[event.text for event in parser.asides.pulse.between(*span)] for parser in (plain, noisy)]
    assert texts[0] == texts[1]
