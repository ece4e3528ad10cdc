"""What several readings took of a flood becomes what one reading takes of it."""

from __future__ import annotations

from tests.lived import KNOWN
from triage.knowledge.table import RuleTable
from triage.model import Event, Instant, Place
from triage.parsers.repeats import EVIDENCE_PER_RULE, FLOOD_LINES, FLOOD_MINUTES, HARMLESS_PER_LIFE
from triage.parsers.thinned import thinned

TABLE = RuleTable(KNOWN)
HARMLESS = next(rule.id for rule in TABLE.rules if rule.is_harmless)


def lines(rule: str, minutes: int, each: int, *, start: int = 0, kind: str = "signature") -> list[Event]:
    times = [60.0 * (start + minute) + number / 10 for minute in range(minutes) for number in range(each)]
    return [Event(kind=kind, rule=rule, place=Place("#1", "", 0), text="", at=Instant(at, at, "outer stamp")) for at in times]  # type: ignore[arg-type]


def kept(events: list[Event]) -> int:
    return len(list(thinned(events, TABLE)))


def test_a_flood_is_cut_once_it_has_lasted() -> None:
    assert kept(lines("cublas-fault/status", FLOOD_MINUTES, 100)) == EVIDENCE_PER_RULE * FLOOD_MINUTES
    assert kept(lines("cublas-fault/status", FLOOD_MINUTES + 11, 100)) == EVIDENCE_PER_RULE * FLOOD_MINUTES + 11 * FLOOD_LINES


def test_few_lines_and_those_of_unknown_rules_stay() -> None:
    assert kept(lines("cublas-fault/status", 200, 2)) == 400
    assert kept(lines("no-such/rule", 30, 100)) == 3000


def test_a_boot_lets_it_be_told_anew() -> None:
    life = [*lines("vllm/boot-banner", 1, 1, kind="boot"), *lines(HARMLESS, 1, 40)]
    assert kept(life) == 1 + HARMLESS_PER_LIFE
    assert kept([*life, *life]) == 2 * (1 + HARMLESS_PER_LIFE)


def test_what_was_cut_once_is_not_cut_again() -> None:
    once = list(thinned([*lines("cublas-fault/status", 40, 100), *lines(HARMLESS, 2, 40)], TABLE))
    assert list(thinned(once, TABLE)) == once


def test_a_line_without_a_time_stays() -> None:
    timeless = [Event(kind="signature", rule="cublas-fault/status", place=Place("#1", "", 0), text="") for _ in range(500)]
    assert kept(timeless) == 500
