"""Findings made for tests of reports: a few incidents with given texts, or thousands of them."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import msgspec

import triage
from triage.knowledge.load import Knowledge, load
from triage.model import Boot, Coverage, Event, Findings, ForkAnswer, Incident, Instant, Outage, Place, Span, Verdict
from triage.report.numbers import numbered
from triage.report.postmortem.gather import gather
from triage.report.postmortem.html import as_html
from triage.report.postmortem.say import Say
from triage.report.redact import Redactor

ROOT = Path(__file__).parent.parent.parent.parent
DAY = 86400.0
START = 1_794_441_600.0  # 2026-11-12 00:00 UTC


@cache
def known() -> Knowledge:
    return load()


@cache
def weeks() -> Findings:
    """The findings of fixtures/outage-weeks, with line numbers."""
    return numbered(triage.classify(ROOT / "fixtures" / "outage-weeks"))


def say(*, redact: bool = True) -> Say:
    return Say(Redactor(known().redaction, on=redact))


def line(text: str, *, file: str = "vllm.log", number: int = 7, rule: str = "cublas-fault/status", host: str = "") -> Event:
    return Event(kind="signature", rule=rule, place=Place("vllm.log", file, 0, number), text=text, host=host)


def verdict(number: int, *, text: str = "RuntimeError: CUBLAS_STATUS_INTERNAL_ERROR", fault_class: str = "cublas-fault", at: float | None = None,
            low: float = 90.0, high: float = 90.0, down: float = 600.0, host: str = "gpu-a", file: str = "vllm.log", engine: str = "vllm",
            config: dict[str, str] | None = None) -> Verdict:  # fmt: skip
    """One instant crash of a boot of its own, an hour after the one before unless `at` says when (seconds after START)."""
    onset = START + (3600.0 * number if at is None else at)
    boot = Boot(id=f"b{number}", source=file, engine=engine, host=host, version="0.27.0", start=Instant.sharp(onset - 1800),
                ready=Instant.sharp(onset - 1700), end=Instant.sharp(onset + low), config=config or {"args": "{'tp': 8}"})  # fmt: skip
    incident = Incident(
        id=f"{number:08x}", engine=engine, host=host, source=file, boot=boot, onset=Instant.sharp(onset), dead=Instant.sharp(onset + low),
        recovered=Instant.sharp(onset + down), time_to_death=Span(low, high), dump_state="absent", dump_reason="armed", onset_from=text,
        outage=Outage(target=f"http://{host}:8000", symbols="rr", began=Instant.sharp(onset + low), onset=Instant.sharp(onset + low)),
    )  # fmt: skip
    return Verdict(
        incident=incident, fault_class=fault_class, family="instant", fault=True, root=line(text, file=file, host=host),
        consequences=(line(text, file=file, rule="vllm/death-fatal"),), conflicts=(text,), missing=(text,),
        forks=(ForkAnswer("time-to-death", "instant", f"because {text}"),),
    )  # fmt: skip


def findings(*verdicts: Verdict, **parts: object) -> Findings:
    boots = tuple(v.incident.boot for v in verdicts if v.incident.boot)
    outages = tuple(v.incident.outage for v in verdicts if v.incident.outage)
    given = {"coverage": Coverage(start=START - DAY, end=START + 2 * DAY), "boots": boots, "outages": outages} | parts
    return Findings(rules="test", verdicts=verdicts, **given)  # type: ignore[arg-type]


def many(count: int) -> Findings:
    """The incidents of outage-weeks, again and again at random times of one year, each under an id of its own."""
    found, chance = weeks(), random.Random(17)
    start = found.coverage.start or START
    verdicts = []
    for number in range(count):
        of = found.verdicts[number % len(found.verdicts)]
        by = chance.random() * 365 * DAY + start - (of.incident.onset or Instant.sharp(start)).earliest
        moved = {name: at.shifted(by) for name in ("onset", "dead", "recovered") if (at := getattr(of.incident, name))}
        verdicts.append(msgspec.structs.replace(of, incident=msgspec.structs.replace(of.incident, id=f"{number:08x}", **moved)))
    boots = [_moved(boot, again * 17 * DAY) for again in range(22) for boot in found.boots]
    year = Coverage(start=start, end=start + 365 * DAY)
    return msgspec.structs.replace(found, verdicts=tuple(verdicts), boots=tuple(boots), coverage=year, hints=())


def _moved(boot: Boot, by: float) -> Boot:
    return msgspec.structs.replace(boot, **{name: at.shifted(by) for name in ("start", "ready", "end") if (at := getattr(boot, name))})


def page(found: Findings, *, redact: bool = True, **given: object) -> str:
    """The page of findings; `given`: mitigations, trials, title."""
    told = say(redact=redact)
    measures = {name: given.pop(name) for name in ("mitigations", "trials") if name in given}
    parts = gather(found, known(), told, now=START + 30 * DAY, **measures, **given)  # type: ignore[arg-type]
    return as_html(parts, told, redacting=redact, version="test", **measures)  # type: ignore[arg-type]
