"""Made-up lives of an engine as the ledger sees them, in days: which value each boot had, when it died and of what."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec

from triage.ledger.book import Mitigation, Word
from triage.ledger.entry import Claim, Entry, Falsifier
from triage.ledger.evidence import Death, Evidence, Life
from triage.ledger.standing import Standing, standings
from triage.ledger.stretches import AXIS
from triage.model import Boot

DAY = 86400.0
ZERO = 1_790_000_000.0  # day 0: 2026-09-21 14:13:20 UTC
ENTRY = Entry(name="m", fault_class="cublas-fault", changes=("VLLM_X=0",), falsifier=Falsifier(classes=("cublas-fault",)))


def day(number: float) -> float:
    return ZERO + number * DAY


def mitigation(registered: float, *words: tuple[str, float], entry: Entry = ENTRY, **changed: Any) -> Mitigation:
    """A mitigation that was registered on a day, and what was said of it: (said, day), or (said, day, day it was written)."""
    told = tuple(
        Word(said=said, since=day(at), written=day(written[0] if written else at))  # type: ignore[arg-type]
        for said, at, *written in words
    )
    return Mitigation(entry=msgspec.structs.replace(entry, **changed), registered=day(registered), hash="f" * 64, words=told)


def life(start: float, end: float, value: str | None = "1", *, name: str = "", engine: int = 0, host: str = "", **config: str) -> Life:
    """One boot from day to day with VLLM_X set to `value` (None: its lines do not tell)."""
    told = {"VLLM_X": value, **config} if value is not None else dict(config)
    boot = Boot(id=name or f"{engine}@{start:g}", source=f"log{engine}", engine="vllm", host=host, config=told)
    return Life(boot=boot, start=day(start), end=day(end), axis=engine * AXIS)


def lives(*edges: float, value: str | None = "1", **given: Any) -> list[Life]:
    """Boots one after the other, from edge to edge."""
    return [life(a, b, value, **given) for a, b in pairwise(edges)]


def death(at: float, of: str = "cublas-fault", *, boot: str = "", engine: int | None = 0, **changed: Any) -> Death:
    """A death on a day, of the boot named."""
    axis = None if engine is None else engine * AXIS
    base = Death(id=f"d{at:g}", at=day(at), fault_class=of, fault=of != "external-stop", phase="serving", boot=boot, host="", axis=axis)
    return msgspec.structs.replace(base, **changed)


def evidence(some: list[Life], deaths: list[Death], until: float, **given: Any) -> Evidence:
    """What was seen up to a day."""
    return Evidence(lives=tuple(some), deaths=tuple(sorted(deaths, key=lambda d: d.at)), start=ZERO, until=day(until), idle=(), **given)


def stand(of: Mitigation, some: list[Life], deaths: list[Death], until: float, *others: Mitigation, **given: Any) -> Standing:
    """Where the first of the mitigations stands."""
    return standings([of, *others], evidence(some, deaths, until, **given))[0]


def reducing(ratio: float) -> dict[str, Any]:
    return {"claim": Claim("reduces", ratio)}
