"""What belongs to one of many incidents finds it: outages and kernel lines among hundreds of lives, each asked for near its own time only."""

from __future__ import annotations

import pytest

from tests.verdict.story import T0
from triage.model import Event, Instant, Outage, Place
from triage.timeline import joining
from triage.timeline.boots import boots
from triage.timeline.incidents import join

HOURS = 300


def event(kind: str, rule: str, at: float, order: int, *, source: str = "vllm.log", **more: str) -> Event:
    return Event(kind=kind, rule=rule, place=Place(source, source, order, order), text=rule, at=Instant.sharp(T0 + at), order=order, **more)


def lives() -> list[Event]:
    """An engine that boots at every hour and dies half an hour later."""
    made = []
    for hour in range(HOURS):
        made.append(event("boot", "vllm/boot-banner", 3600 * hour, 3 * hour))
        made.append(event("signature", "cublas-fault/status", 3600 * hour + 1800, 3 * hour + 1, role="root", fault="cublas-fault"))
        made.append(event("death", "vllm/death-fatal", 3600 * hour + 1801, 3 * hour + 2))
    return made


def outage(at: float) -> Outage:
    began = Instant.sharp(T0 + at)
    return Outage(source="probe.log", target="a", onset=Instant.sharp(T0 + at - 60), began=began, ended=Instant.sharp(T0 + at + 300), symbols="rr")


def test_each_of_hundreds_of_lives_gets_its_own_outage_and_kernel_line() -> None:
    outages = [outage(3600 * hour + 1860) for hour in range(HOURS)]
    kernel = [event("signature", "gpu-hardware/xid", 3600 * hour + 1799, hour, source="kernel.log", origin="kernel") for hour in range(HOURS)]
    joined = join(boots(lives()), outages, [], kernel)
    assert len(joined) == HOURS
    for hour, incident in enumerate(joined):
        assert incident.outage == outages[hour]
        assert [e for e in incident.events if e.origin == "kernel"] == [kernel[hour]]


def test_what_lies_near_no_life_stands_alone() -> None:
    before = -86400.0
    xid = event("signature", "gpu-hardware/xid", 10 * before, 0, source="kernel.log", origin="kernel", role="root", fault="gpu-hardware")
    joined = join(boots(lives()), [outage(before)], [], [xid])
    assert len(joined) == HOURS + 2
    assert (joined[1].outage, joined[1].boot) == (outage(before), None)
    assert joined[0].events == (xid,)


def test_the_work_grows_with_the_incidents_and_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    window = joining.window

    def counted(incident: joining.Incident) -> joining.Window | None:
        nonlocal looked
        looked += 1
        return window(incident)

    monkeypatch.setattr(joining, "window", counted)
    join(boots(lives()), [outage(3600 * hour + 1860) for hour in range(HOURS)], [], [])
    assert looked <= 4 * HOURS
