"""What `triage fleet` prints: the classes of many hosts, the host that stands out in each, and the counts behind it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from triage.fleet.carriers import RARE, Carrier
from triage.fleet.load import Count, Fleet
from triage.history.export import cell
from triage.report import words
from triage.report.fitting import TERMINAL, columns, fitted_table, wrapped
from triage.verdict.chance import spoken

BY = ("host", "driver", "engine", "version")
HEADINGS = ("class", "n", "hosts", "most telling", "n there", "expected", "chance")
GIVE = (("most telling", 12), ("class", 16), ("expected", 0))
BY_GIVE = (("version", 12), ("driver", 12), ("host", 14), ("class", 16), ("engine", 0), ("seen", 0))
COUNT_COLUMNS = ("class", "family", *BY, "count", "first", "last")
SHOWN = 5


def text(fleet: Fleet, found: Sequence[Carrier], by: Sequence[str] = (), *, style: str = TERMINAL) -> str:
    """One row a class, or a class and what it is counted by; below it what stands out and what limits the answer."""
    table = counted(fleet, by, style) if by else compared(found, style)
    notes = [*([] if by else _notes(fleet, found)), *_limits(fleet)]
    lines = [wrapped(words.clean(note), columns()) if style == TERMINAL else words.clean(note) for note in notes]
    return "\n".join([heading(fleet), "", table, *(["", *lines] if lines else [])])


def heading(fleet: Fleet) -> str:
    """One line of what was seen, by how many hosts."""
    days = sum(fleet.seen.values()) / 86400
    time = f", {words.minutes(fleet.start, fleet.end)} UTC" if fleet.start is not None and fleet.end is not None else ""
    return f"{words.number(len(fleet.hosts), 'host')}, {days:,.1f} host-days seen{time}, {words.number(fleet.boots, 'boot')}"


def compared(found: Sequence[Carrier], style: str) -> str:
    """The classes with the host that has more of each than its share of the time."""
    if not found:
        return "no incident on any host in this time"
    rows = [(words.clean(c.fault_class, 40), c.of, c.hosts, *_of_host(c)) for c in found]
    return fitted_table(HEADINGS, rows, style, GIVE, right=("n", "hosts", "n there", "expected", "chance"))


def _of_host(of: Carrier) -> tuple[str, int, str, str]:
    expected = "-" if of.expected is None else f"{of.expected:.1f}"
    return words.clean(of.host, 40), of.count, expected, "cannot tell" if of.chance is None else spoken(of.chance)


def counted(fleet: Fleet, by: Sequence[str], style: str) -> str:
    """The counts by class and the columns of BY that are asked for."""
    rows = [(*(words.clean(value, 40) or "-" for value in key), n, _seen(first, last)) for key, n, first, last in _grouped(fleet, by)]
    return fitted_table(("class", *by, "n", "seen"), rows, style, BY_GIVE, right=("n",)) if rows else "no incident on any host in this time"


def _grouped(fleet: Fleet, by: Sequence[str]) -> list[tuple[tuple[str, ...], int, float | None, float | None]]:
    groups: dict[tuple[str, ...], list[Count]] = {}
    for each in fleet.counts:
        groups.setdefault((each.fault_class, *(getattr(each, name) for name in by)), []).append(each)
    rows = [
        (key, sum(c.count for c in own), min((c.first for c in own if c.first), default=None), max((c.last for c in own if c.last), default=None))
        for key, own in groups.items()
    ]
    return sorted(rows, key=lambda row: (row[0][0], -row[1], row[0]))


def _seen(first: float | None, last: float | None) -> str:
    if first is None or last is None:
        return "-"
    begin, end = words.minute(first)[5:10], words.minute(last)[5:10]
    return begin if begin == end else f"{begin} .. {end}"


def _notes(fleet: Fleet, found: Sequence[Carrier]) -> list[str]:
    looks = f"{words.number(len(fleet.hosts), 'host')} x {words.number(len(found), 'class')}"
    notes = [_sentence(of) for of in found if of.stands_out]
    notes += [f"{of.fault_class}: the {of.count} on {of.host} are {words.number(of.bursts, 'crash')} and repeats of it within an hour"
              for of in found if of.chance is not None and not of.stands_out and of.bursts < of.count]  # fmt: skip
    notes += [f"{of.fault_class}: cannot tell whether a host stands out, because {_why(fleet, of)}" for of in found if of.chance is None]
    if any(of.chance is not None for of in found):
        notes.append(
            "chance: of seeing so many on some host, were each crash as likely at any moment seen on any host, for all that was looked at"
            f" ({looks}); a host stands out below {spoken(RARE)}; crashes of a host within an hour of each other count as one there"
        )
    return notes


def _sentence(of: Carrier) -> str:
    bursts = f", {of.bursts} of {of.all_bursts} without crash loops" if of.bursts != of.count or of.all_bursts != of.of else ""
    elsewhere = len(of.most) > 1 or of.most[0] != of.host
    most = f"; more than half is on {words.number(len(of.most), 'host')}: {_listed(of.most)}" if elsewhere else ""
    return f"{of.fault_class}: {of.host} has {of.count} of {of.of}{bursts}, {of.expected:.1f} expected by its share of the time seen{most}"


def _why(fleet: Fleet, of: Carrier) -> str:
    unseen = sorted({host for name, host in fleet.times if name == of.fault_class and not fleet.seen.get(host)})
    return f"of {_listed(unseen)} no seen time is on record"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _limits(fleet: Fleet) -> list[str]:
    unseen = [host for host in fleet.hosts if not fleet.seen.get(host)]
    limits = [f"nothing was seen of {words.number(len(unseen), 'host')}: {_listed(unseen)}"] if unseen else []
    limits += [f"{words.number(fleet.dismissed, 'incident')} dismissed by people, not counted"] if fleet.dismissed else []
    return [*limits, *(f"{problem.file}: {problem.what}" for problem in fleet.problems)]


def document(fleet: Fleet, found: Sequence[Carrier]) -> str:
    """Everything as one JSON document, schema `triage-fleet/1`."""
    import orjson

    said = {
        "schema": "triage-fleet/1",
        "window": {"from": _iso(fleet.start), "to": _iso(fleet.end)},
        "hosts": [{"host": host, "seen_seconds": round(fleet.seen.get(host, 0.0), 3)} for host in fleet.hosts],
        "boots": fleet.boots,
        "dismissed": fleet.dismissed,
        "classes": [_class(of) for of in found],
        "counts": rows(fleet),
        "problems": [{"file": p.file, "what": p.what, "lost": p.lost} for p in fleet.problems],
    }
    return orjson.dumps(said, option=orjson.OPT_INDENT_2).decode()


def _iso(at: float | None) -> str | None:
    return None if at is None else words.iso(at)


def _class(of: Carrier) -> dict[str, Any]:
    return {
        "class": of.fault_class, "count": of.of, "hosts": of.hosts, "bursts": of.all_bursts, "host": of.host, "host_count": of.count,
        "host_bursts": of.bursts, "expected": of.expected, "chance": of.chance, "stands_out": of.stands_out, "most": list(of.most),
    }  # fmt: skip


def rows(fleet: Fleet) -> list[dict[str, Any]]:
    """The counts by class, host, driver, engine and version, one record each; times in ISO 8601."""
    return [
        {"class": c.fault_class, "family": c.family, "host": c.host, "driver": c.driver, "engine": c.engine, "version": c.version, "count": c.count,
         "first": _iso(c.first), "last": _iso(c.last)}
        for c in fleet.counts
    ]  # fmt: skip


def as_csv(fleet: Fleet) -> str:
    """The counts with a header; text that a spreadsheet would take for a formula is quoted."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COUNT_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: cell(value) for key, value in row.items()} for row in rows(fleet))
    return out.getvalue().rstrip("\n")


def as_jsonl(fleet: Fleet) -> str:
    """The counts, one JSON object a line."""
    import orjson

    return "\n".join(orjson.dumps(row).decode() for row in rows(fleet))
