"""Excerpts hold the very lines that are cited, whatever the log is wrapped in, with the lines that stand around them in the file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triage
from triage.model import Event, Place, Verdict
from triage.report.bundle.excerpts import excerpt, written

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
SCENARIOS = sorted(folder.parent.name for folder in FIXTURES.glob("*/logs"))


def cited(verdict: Verdict) -> list[Event]:
    return [*([verdict.root] if verdict.root else []), *verdict.consequences, *verdict.best_lines]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_is_cited_is_shown_and_marked(scenario: str) -> None:
    found = triage.classify(FIXTURES / scenario)
    for verdict in found.verdicts[:3]:
        for event in cited(verdict):
            if event.origin != "flight_recorder":
                assert [line.text for line in excerpt(event.place.file, [event.place], before=2, after=2) if line.cited] == [event.text]


def places(file: Path, numbers: list[int]) -> list[Place]:
    lines = file.read_bytes().splitlines(keepends=True)
    return [Place("x", str(file), sum(map(len, lines[: number - 1]))) for number in numbers]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=5), st.integers(0, 7), st.integers(0, 7))
def test_lines_come_once_in_order_with_their_own_numbers(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[int], before: int, after: int
) -> None:
    file = tmp_path_factory.mktemp("x") / "x.log"
    text = [f"INFO 11-12 10:00:{number % 60:02} line {number}" for number in range(1, 61)]
    file.write_text("".join(f"{line}\n" for line in text))
    shown = excerpt(str(file), places(file, numbers), before=before, after=after)
    wanted = {near for number in numbers for near in range(max(1, number - before), min(60, number + after) + 1)}
    assert [line.number for line in shown] == sorted(wanted)
    assert [line.text for line in shown] == [text[number - 1] for number in sorted(wanted)]
    assert {line.number for line in shown if line.cited} == set(numbers)


def test_lines_of_a_file_of_many_pieces_are_found_in_any_of_them(tmp_path: Path) -> None:
    file = tmp_path / "big.log"
    text = [f"INFO 11-12 10:00:00 line {number} {'x' * 200}" for number in range(1, 12_001)]
    file.write_text("".join(f"{line}\n" for line in text))
    numbers = [1, 4_700, 4_800, 12_000]
    shown = excerpt(str(file), places(file, numbers), before=1, after=1)
    assert [line.number for line in shown if line.cited] == numbers
    assert [line.number for line in shown] == [1, 2, 4699, 4700, 4701, 4799, 4800, 4801, 11_999, 12_000]
    packed = tmp_path / "big.log.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert [(line.number, line.text) for line in excerpt(str(packed), places(file, numbers), before=1, after=1)] == [
        (line.number, line.text) for line in shown
    ]


def test_a_gap_is_shown_and_cited_lines_are_marked(tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_text("".join(f"line {number}\n" for number in range(1, 10)))
    assert written(excerpt(str(file), places(file, [2, 7]), before=1, after=0)) == (
        "         1 | line 1\n>        2 | line 2\n...\n         6 | line 6\n>        7 | line 7\n"
    )


@pytest.mark.parametrize("name", ["-", "no such file", ""])
def test_what_cannot_be_read_once_more_gives_nothing(name: str) -> None:
    assert excerpt(name, [Place("x", name, 0)]) == []


def test_a_place_behind_the_end_gives_nothing_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_text("line 1\n")
    assert [line.text for line in excerpt(str(file), [Place("x", str(file), 10_000)]) if line.text != "line 1"] == []
