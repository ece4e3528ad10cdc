"""The clock completes what stamps leave open and says so; wrong clocks are noticed; nothing it is given raises."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from triage.model import Instant, Place
from triage.sources.clock import Clock, zone_of
from triage.sources.lines import Line
from triage.sources.stamps import Stamp

DAY = 86400


def at(text: str) -> float:
    """Seconds since the epoch of an ISO time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def line(text: str, outer: Instant | None = None, *, stream: str = "", start: int = 0) -> Line:
    return Line(text=text, outer=outer, stream=stream, host="", unit="", pid=None, start=start, end=start + len(text))


def moments(first: int, last: int) -> st.SearchStrategy[datetime]:
    """Times in UTC between the beginnings of two years."""
    return st.integers(int(at(f"{first}-01-01")), int(at(f"{last}-01-01"))).map(lambda second: datetime.fromtimestamp(second, UTC))


class Page:
    """Names the place of a line, as a piece does."""

    def place(self, line: Line) -> Place:
        return Place("log", "engine.log", line.start, line.start // 10)


def test_the_outer_stamp_goes_before_the_inner_one() -> None:
    outer = Instant.sharp(at("2026-11-01T09:43:00"))
    assert Clock().instant(line("INFO 11-01 01:43:00 [core.py:1] x", outer)) == outer


def test_whole_seconds_are_a_second_wide_and_fractions_are_sharp() -> None:
    clock = Clock(reference=at("2026-11-02T00:00:00"))
    second = at("2026-11-01T09:43:00")
    assert clock.instant(line("INFO 11-01 09:43:00 [core.py:1] x")) == Instant(second, second + 1, "inner stamp")
    assert clock.instant(line("[E1101 09:43:00.25 f.cpp:1] x")) == Instant(second + 0.25, second + 0.25, "inner stamp")


@pytest.mark.parametrize(
    ("reference", "stamp", "expected"),
    [
        ("2026-11-20T06:00:00", "11-20 05:51:01", "2026-11-20T05:51:01"),
        ("2027-01-01T03:00:00", "12-31 23:59:59", "2026-12-31T23:59:59"),
        ("2027-01-01T03:00:00", "01-01 00:00:01", "2027-01-01T00:00:01"),
        ("2026-12-31T20:00:00", "01-01 00:30:00", "2027-01-01T00:30:00"),  # a clock that is ahead by some hours
        ("2026-11-20T00:00:00", "11-22 00:00:00", "2025-11-22T00:00:00"),
        ("2026-06-01T00:00:00", "02-29 12:00:00", "2024-02-29T12:00:00"),
        ("2028-06-01T00:00:00", "02-29 12:00:00", "2028-02-29T12:00:00"),
        ("2103-06-01T00:00:00", "02-29 12:00:00", "2096-02-29T12:00:00"),  # 2100 has none
    ],
)
def test_a_missing_year_is_the_latest_that_the_log_can_have(reference: str, stamp: str, expected: str) -> None:
    clock = Clock(reference=at(reference))
    found = clock.instant(line(f"INFO {stamp} [core.py:1] x"))
    assert found is not None
    assert found.earliest == at(expected)
    assert clock.assumptions == [f"year {expected[:4]} inferred from file time", "inner stamps read as UTC (no zone in the log)"]


def test_a_log_over_new_year_runs_forward() -> None:
    clock = Clock(reference=at("2027-01-02T00:00:00"))
    found = [clock.instant(line(f"INFO {stamp} [core.py:1] x")) for stamp in ("12-30 10:00:00", "12-31 23:59:59", "01-01 00:00:00", "01-01 12:00:00")]
    moments = [one.earliest for one in found if one]
    assert len(moments) == 4
    assert moments == sorted(moments)
    assert "years 2026, 2027 inferred from file time" in clock.assumptions


@given(moments(1990, 2090), st.floats(-0.9, 363.9))
@example(datetime(2024, 2, 29, tzinfo=UTC), 300)
@example(datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC), 0.0)
def test_the_year_is_found_for_every_log_younger_than_a_year(moment: datetime, days: float) -> None:
    moment = moment.replace(microsecond=0)
    clock = Clock(reference=(moment + timedelta(days=days)).timestamp())
    found = clock.instant(line(f"INFO {moment:%m-%d %H:%M:%S} [core.py:1] x"))
    assert found is not None
    assert found.earliest == moment.timestamp()


def test_a_given_year_is_not_doubted() -> None:
    clock = Clock(year=2019, reference=at("2026-11-02T00:00:00"))
    found = clock.instant(line("INFO 12-31 00:00:00 [core.py:1] x"))
    assert found is not None
    assert found.earliest == at("2019-12-31T00:00:00")
    assert clock.assumptions == ["inner stamps read as UTC (no zone in the log)"]


@pytest.mark.parametrize(
    ("stamp", "expected"), [("11-14 22:12:20", 2025), ("12-31 22:12:20", 2025), ("01-01 00:00:00", 2026), ("02-29 00:00:00", 2024)]
)
def test_a_dated_line_gives_the_others_their_year(stamp: str, expected: int) -> None:
    clock = Clock(reference=at("2031-06-01T00:00:00"))
    clock.instant(line("[2025-11-14 22:12:19,845] x"))
    found = clock.instant(line(f"INFO {stamp} [core.py:1] x"))
    assert found is not None
    assert datetime.fromtimestamp(found.earliest, UTC).year == expected
    assert f"year {expected} inferred from dated lines" in clock.assumptions


def test_without_a_reference_the_year_comes_from_the_present() -> None:
    clock = Clock()
    found = clock.instant(line("INFO 01-01 00:00:00 [core.py:1] x"))
    assert found is not None
    assert "the present date" in clock.assumptions[0]


@pytest.mark.parametrize("tz", ["Europe/Berlin", "+01:00", "+0100", "UTC+1"])
def test_stamps_without_a_zone_are_in_the_users(tz: str) -> None:
    clock = Clock(tz, reference=at("2026-11-02T00:00:00"))
    found = clock.instant(line("INFO 11-01 09:43:00 [core.py:1] x"))
    assert found is not None
    assert found.earliest == at("2026-11-01T08:43:00")
    assert f"inner stamps read as {tz} (no zone in the log)" in clock.assumptions


@pytest.mark.parametrize("tz", ["Mars/Olympus", "", "+99:00", "../../etc/passwd", "Europe", "+1:2:3", "\0"])
def test_an_unknown_zone_is_refused(tz: str) -> None:
    with pytest.raises(ValueError, match=r"zone|offset|strictly"):
        Clock(tz)


def test_a_zone_in_the_stamp_is_believed() -> None:
    clock = Clock("America/New_York")
    assert clock.read(Stamp(2026, 11, 1, 9, 43, 0, 0.0, "+02:00"), "outer stamp") == Instant.sharp(at("2026-11-01T07:43:00"))
    assert clock.read(Stamp(2026, 11, 1, 9, 43, 0, 0.0, "UTC"), "outer stamp") == Instant.sharp(at("2026-11-01T09:43:00"))
    assert clock.assumptions == []


def test_the_repeated_hour_gives_an_interval_over_both() -> None:
    clock = Clock("Europe/Berlin")
    found = clock.read(Stamp(2026, 10, 25, 2, 30, 0), "inner stamp")
    assert found == Instant(at("2026-10-25T00:30:00"), at("2026-10-25T01:30:01"), "inner stamp")
    assert "DST repeats 02:00-03:00 on 2026-10-25 in Europe/Berlin: instants there are 1 h wide" in clock.assumptions


def test_an_abbreviation_tells_summer_from_winter() -> None:
    clock = Clock("Europe/Berlin")
    assert clock.read(Stamp(2026, 10, 25, 2, 30, 0, 0.0, "CEST"), "outer stamp") == Instant.sharp(at("2026-10-25T00:30:00"))
    assert clock.read(Stamp(2026, 10, 25, 2, 30, 0, 0.0, "CET"), "outer stamp") == Instant.sharp(at("2026-10-25T01:30:00"))
    assert clock.assumptions == []


def test_an_abbreviation_of_another_zone_is_told() -> None:
    clock = Clock()
    assert clock.read(Stamp(2026, 10, 25, 2, 30, 0, 0.0, "CET"), "outer stamp") == Instant.sharp(at("2026-10-25T02:30:00"))
    assert clock.assumptions == ["zone CET in the log read as UTC"]


def test_an_hour_that_never_was_speaks_against_the_zone() -> None:
    clock = Clock("Europe/Berlin")
    found = clock.read(Stamp(2026, 3, 29, 2, 30, 0), "inner stamp")
    assert found == Instant(at("2026-03-29T00:30:00"), at("2026-03-29T01:30:01"), "inner stamp")
    assert "2026-03-29 02:30 does not exist in Europe/Berlin: the log is in another zone" in clock.assumptions


@pytest.mark.parametrize("stamp", ["13-01 00:00:00", "00-10 00:00:00", "02-30 00:00:00", "11-20 24:00:00", "11-20 00:61:00"])
def test_dates_that_do_not_exist_are_no_instants(stamp: str) -> None:
    assert Clock().instant(line(f"INFO {stamp} [core.py:1] x")) is None


def test_an_inner_clock_that_is_off_by_hours_is_told() -> None:
    clock = Clock()
    for minute in range(3):
        clock.instant(line(f"INFO 11-01 01:{minute:02}:00 [core.py:1] x", Instant.sharp(at(f"2026-11-01T09:{minute:02}:01"))))
    assert clock.assumptions == ["inner clock is 8 h behind the outer"]


def test_an_inner_clock_over_new_year_is_compared_in_the_right_year() -> None:
    clock = Clock()
    clock.instant(line("INFO 12-31 23:30:00 [core.py:1] x", Instant.sharp(at("2027-01-01T00:00:00"))))
    assert clock.assumptions == ["inner clock is 30 min behind the outer"]


def test_lines_that_were_buffered_are_no_other_clock() -> None:
    clock = Clock()
    for late in (0, 1, 500, 901, 3000):
        clock.instant(line("INFO 11-01 09:00:00 [core.py:1] x", Instant.sharp(at("2026-11-01T09:00:00") + late)))
    assert clock.assumptions == []


def test_a_shippers_stamp_is_compared_with_the_engines() -> None:
    clock = Clock()
    clock.instant(line("2026-03-09 01:27:30.12 ship INFO 03-08 17:27:28 [core.py:1] x"))
    assert "inner clock is 8 h behind the outer" in clock.assumptions


def test_a_clock_that_runs_backwards_is_told_with_its_place() -> None:
    clock = Clock(reference=at("2026-11-02T00:00:00"))
    clock.follow(Page())
    for start, stamp in enumerate(("00:00:00", "02:59:59", "02:00:00", "02:00:10", "01:59:50")):
        clock.instant(line(f"INFO 11-01 {stamp} [core.py:1] x", start=start * 10))
    assert clock.assumptions[-1] == "clock ran backwards by 3599 s at engine.log:2"
    assert sum("backwards" in told for told in clock.assumptions) == 1


def test_looking_back_at_earlier_lines_is_no_clock_running_backwards() -> None:
    clock = Clock(reference=at("2026-11-02T00:00:00"))
    clock.follow(Page())
    clock.instant(line("INFO 11-01 09:00:00 [core.py:1] x", start=100))
    clock.instant(line("INFO 11-01 07:00:00 [core.py:1] x", start=50))
    assert not any("backwards" in told for told in clock.assumptions)


def test_lines_that_were_kept_are_no_clock_running_backwards() -> None:
    clock = Clock(reference=at("2026-11-02T00:00:00"))
    clock.follow(Page())
    clock.instant(line("INFO 11-01 09:00:00 [core.py:1] x", start=100))
    clock.follow(Page())
    clock.instant(line("INFO 11-01 07:00:00 [core.py:1] x", start=0))
    clock.follow(None)
    clock.instant(line("INFO 11-01 07:00:00 [core.py:1] x", start=500))
    assert not any("backwards" in told for told in clock.assumptions)


def test_streams_have_clocks_of_their_own() -> None:
    clock = Clock(reference=at("2026-11-02T00:00:00"))
    clock.follow(Page())
    clock.instant(line("INFO 11-01 09:00:00 [core.py:1] x", start=10, stream="a"))
    clock.instant(line("INFO 11-01 07:00:00 [core.py:1] x", start=50, stream="b"))
    assert not any("backwards" in told for told in clock.assumptions)


def test_many_jumps_are_counted_and_not_listed() -> None:
    clock = Clock(reference=at("2026-11-02T00:00:00"))
    clock.follow(Page())
    for start in range(1, 21):
        clock.instant(line(f"INFO 11-01 0{8 + start % 2}:00:00 [core.py:1] x", start=start * 10))
    assert clock.assumptions[-1] == "clock ran backwards 7 more times"


stamps = st.builds(
    Stamp,
    year=st.none() | st.integers(0, 9999),
    month=st.integers(0, 99),
    day=st.integers(0, 99),
    hour=st.integers(0, 99),
    minute=st.integers(0, 99),
    second=st.integers(0, 99),
    fraction=st.none() | st.floats(0, 0.999999999),
    zone=st.sampled_from(["", "Z", "+0000", "-12:00", "+99:99", "+14", "CET", "XYZ"]),
)


@given(stamps, st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Kiritimati", "-11:30"]), st.none() | st.integers(1, 9999))
def test_any_stamp_gives_an_interval_or_nothing(stamp: Stamp, tz: str, year: int | None) -> None:
    found = Clock(tz, year, reference=at("2026-11-02T00:00:00")).read(stamp, "inner stamp")
    assert found is None or 0 <= found.latest - found.earliest <= 2 * DAY


@given(moments(1971, 2100), st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"]))
def test_the_true_moment_lies_in_the_interval(moment: datetime, tz: str) -> None:
    local = moment.astimezone(zone_of(tz))
    found = Clock(tz).read(Stamp(local.year, local.month, local.day, local.hour, local.minute, local.second), "inner stamp")
    assert found is not None
    assert found.earliest <= moment.timestamp() <= found.latest


class TestTheYearThatTheUserGives:
    """It is that of the first stamp without one; the log goes on from there."""

    @staticmethod
    def read(clock: Clock, *stamps: tuple[int, int, int]) -> list[float | None]:
        found = [clock.read(Stamp(None, month, day, hour, 0, 0), "inner stamp") for month, day, hour in stamps]
        return [instant.earliest if instant else None for instant in found]

    def test_goes_on_over_new_year_and_back_by_some_seconds(self) -> None:
        clock = Clock(year=2025)
        times = self.read(clock, (12, 31, 23), (1, 1, 0), (12, 31, 23), (5, 1, 0), (9, 1, 0), (1, 5, 0))
        days = ("2025-12-31T23", "2026-01-01T00", "2025-12-31T23", "2026-05-01T00", "2026-09-01T00", "2027-01-05T00")
        assert times == [at(f"{day}:00:00") for day in days]

    def test_says_that_stamps_of_a_day_which_it_lacks_were_dropped(self) -> None:
        clock = Clock(year=2025)
        assert self.read(clock, (2, 28, 0), (2, 29, 0), (3, 1, 0)) == [at("2025-02-28"), None, at("2025-03-01")]
        assert "stamps of 02-29 were dropped: there is no such day in 2025 (--year)" in clock.assumptions

    def test_a_leap_year_has_that_day(self) -> None:
        clock = Clock(year=2024)
        assert self.read(clock, (2, 29, 0)) == [at("2024-02-29")]
        assert not any("dropped" in told for told in clock.assumptions)
