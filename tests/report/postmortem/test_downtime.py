"""Minutes down: bounds where the evidence gives bounds, overlaps counted once, and nothing invented where no end was seen."""

from __future__ import annotations

import msgspec
import pytest

from tests.report.postmortem.made import verdict
from triage.model import Instant, Verdict
from triage.report.postmortem.downtime import length, total


def changed(of: Verdict, **parts: object) -> Verdict:
    return msgspec.structs.replace(of, incident=msgspec.structs.replace(of.incident, **parts))


def test_from_onset_to_recovery() -> None:
    assert length(verdict(1, down=480)) == (480.0, 480.0)


def test_bounds_where_the_onset_lies_between_two_probes() -> None:
    of = verdict(1, at=1000.0, down=480)
    onset = of.incident.onset
    assert onset is not None
    assert length(changed(of, onset=Instant(onset.earliest - 180, onset.latest))) == (480.0, 660.0)


def test_no_end_no_length() -> None:
    of = changed(verdict(1), recovered=None)
    assert length(of) is None
    assert total([of, verdict(2, down=60)]) == (60.0, 60.0, 1)


def test_without_recovery_the_first_good_probe_ends_it() -> None:
    of = verdict(1)
    ended = Instant.sharp(of.incident.onset.earliest + 900) if of.incident.onset else None
    outage = msgspec.structs.replace(of.incident.outage, ended=ended) if of.incident.outage else None
    assert length(changed(of, recovered=None, outage=outage)) == (900.0, 900.0)


@pytest.mark.parametrize(("second", "seconds"), [(300.0, 900.0), (600.0, 1200.0), (7200.0, 1200.0)])
def test_overlapping_times_of_one_engine_count_once(second: float, seconds: float) -> None:
    low, high, _ = total([verdict(1, at=0, down=600), verdict(2, at=second, down=600)])
    assert (low, high) == (seconds, seconds)


def test_two_engines_that_are_down_at_once_count_twice() -> None:
    assert total([verdict(1, at=0, down=600), verdict(2, at=0, down=600, host="gpu-b")])[0] == 1200.0


def test_an_end_before_the_onset_is_no_length() -> None:
    assert length(verdict(1, down=-50)) is None
