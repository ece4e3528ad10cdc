"""The short way for the bulk of a log: lines that differ in dates and figures only are read a few times, and mean what they mean alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.model import Place, Probe
from triage.parsers.probe import Batch, Row, parse
from triage.parsers.probe.bulk import Bulk
from triage.parsers.probe.lines import LineReader

START = datetime(2026, 11, 12, 23, 0, tzinfo=UTC)
Written = Callable[[datetime, float], str]


ODD = ["", "curl: (7) refused", "2026-11-12T24:10:00Z 200 0", "x\u2028y", "2026-11-13T03:00:00Z 000 7"]


def iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


FORMATS: dict[str, Written] = {
    "columns": lambda at, took: f"{at:%Y-%m-%dT%H:%M:%SZ} 200 0 {took:.6f}",
    "named": lambda at, took: f"{at:%Y-%m-%dT%H:%M:%S+00:00} http=200 exit=0 time={took:.6f}",
    "offset": lambda at, took: f"{at + timedelta(hours=2):%Y-%m-%dT%H:%M:%S+02:00} 200 {took:.3f}",
    "compact": lambda at, took: f"{at:%Y%m%dT%H%M%SZ} 200",
    "minutes": lambda at, took: f"{at:%Y-%m-%d %H:%M} 200",
    "comma": lambda at, took: f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03} 200 {took:.3f}",
    "date": lambda at, took: f"{at:%a %b %d %H:%M:%S UTC %Y} 200",
    "epoch": lambda at, took: f"{at.timestamp():.3f} 200 {took:.3f}",
    "millis": lambda at, took: f"{at.timestamp() * 1000:.0f} 200 {took * 1000:.0f}ms",
    "nanos": lambda at, took: f"{at.timestamp() * 1e6:.0f}789 200",
    "json": lambda at, took: f'{{"ts": {at.timestamp():.0f}, "url": "http://gpu1:8000/health", "status": 200, "latency": {took:.4f}}}',
    "json ms": lambda at, took: f'{{"time":"{iso(at)}","status":204,"ms":{took * 1000:.0f}}}',
    "two dates": lambda at, took: f'{{"start":"{iso(at)}","end":"{iso(at + timedelta(seconds=took))}","status":200,"ok":true}}',
    "access": lambda at, took: f'10.0.0.1 - - [{at:%d/%b/%Y:%H:%M:%S +0000}] "GET /health HTTP/1.1" 200 0 "-" "kube-probe/1.31"',
    "exporter": lambda at, took: f'ts={iso(at)} caller=handler.go:117 target=gpu1 level=info msg="Probe succeeded" duration_seconds={took:.9f}',
}


def log_of(written: Written) -> list[str]:
    moments = (START + timedelta(minutes=i, milliseconds=37 * i % 1000) for i in range(200))
    return [written(at, 0.011 + i * 0.0017) for i, at in enumerate(moments)]


def told(probe: Probe) -> tuple[object, ...]:
    return probe.symbol, probe.target, probe.text, probe.at.how, probe.at.earliest, probe.at.latest


@pytest.mark.parametrize("name", FORMATS)
def test_a_line_means_the_same_among_others_as_alone(name: str) -> None:
    lines = log_of(FORMATS[name])
    together = parse([Row(line) for line in lines]).probes
    alone = [parse([Row(line)]).probes[0] for line in lines]
    for one, other in zip(together, alone, strict=True):
        assert told(one)[:4] == told(other)[:4]
        assert told(one)[4:] == pytest.approx(told(other)[4:], abs=1e-6, rel=0)


@pytest.mark.parametrize("name", FORMATS)
def test_few_lines_are_read_the_long_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = LineReader.read
    monkeypatch.setattr(LineReader, "read", lambda self, text, near: (read.append(text), whole(self, text, near))[1])
    parse([Row(line) for line in log_of(FORMATS[name])])
    assert len(read) <= 12


def test_targets_that_take_turns_are_each_a_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = LineReader.read
    monkeypatch.setattr(LineReader, "read", lambda self, text, near: (read.append(text), whole(self, text, near))[1])
    lines = [f"{START + timedelta(minutes=i // 20):%Y-%m-%dT%H:%M:%SZ} http://gpu{i % 20}:8000/health 200 0.0{i % 97:02}" for i in range(1000)]
    log = parse([Row(line) for line in lines])
    assert (len(log.probes), len(log.targets)) == (1000, 20)
    assert len(read) <= 60


@pytest.mark.parametrize(
    ("first", "second", "symbols"),
    [
        ("2026-11-12T03:00:00Z 200 0.2", "2026-11-12T03:01:00Z 503 0.2", ".r"),
        ("2026-11-12T03:00:00Z status=200 ms=200", "2026-11-12T03:01:00Z status=503 ms=200", ".r"),
        ("2026-11-12T03:00:00Z exit=0 http=200 time=0", "2026-11-12T03:01:00Z exit=7 http=000 time=0", ".r"),
        ('{"ts":1794453000,"status":200,"duration":2e-1}', '{"ts":1794453060,"status":500,"duration":2e-1}', ".e"),
    ],
)
def test_a_code_is_never_taken_for_a_duration(first: str, second: str, symbols: str) -> None:
    log = parse([Row(first), Row(first.replace(":00:00Z", ":00:30Z")), Row(second)])
    assert "".join(probe.symbol for probe in log.probes)[-2:] == symbols


@pytest.mark.parametrize("text", ["2026-11-12T24:10:00Z 200 0", "2026-11-12T03:60:00Z 200 0", "2026-11-12T03:10:60Z 200 0"])
def test_a_time_that_there_is_not_is_no_probe(text: str) -> None:
    log = parse([Row("2026-11-12T03:00:00Z 200 0"), Row(text), Row("2026-11-12T03:20:00Z 200 0")])
    assert (len(log.probes), log.unknown) == (len(parse([Row(text)]).probes) + 2, parse([Row(text)]).unknown)


@given(
    name=st.sampled_from(sorted(FORMATS)),
    size=st.sampled_from([1, 7, 64]),
    odd=st.dictionaries(st.integers(0, 399), st.sampled_from(ODD)),
)
def test_lines_by_the_dozen_mean_what_they_mean_one_by_one(name: str, size: int, odd: dict[int, str]) -> None:
    lines = log_of(FORMATS[name])[:400]
    for position, text in odd.items():
        lines[position:position] = [text]
    sizes = [len(line.encode()) + 1 for line in lines]
    batches = [
        Batch(lines[start : start + size], sizes[start : start + size], Place("p", "p", sum(sizes[:start]), start + 1))
        for start in range(0, len(lines), size)
    ]
    rows = [row for batch in batches for row in batch.rows()]
    assert [row.text for row in rows] == [line for line in lines if line.strip()]
    together, alone = parse(batches), parse(rows)
    assert (together.probes, together.unknown) == (alone.probes, alone.unknown)


def test_most_lines_of_a_file_are_read_by_the_dozen(monkeypatch: pytest.MonkeyPatch) -> None:
    by_itself: list[str] = []
    known = Bulk.known
    monkeypatch.setattr(Bulk, "known", lambda self, text: (by_itself.append(text), known(self, text))[1])
    lines = [f"{START + timedelta(minutes=i):%Y-%m-%dT%H:%M:%SZ} 200 0.0{i % 89 + 10}" for i in range(6400)]
    log = parse([Batch(lines[i : i + 64], [26] * 64, Place("p", "p", 26 * i, i + 1)) for i in range(0, 6400, 64)])
    assert len(log.probes) == 6400
    assert len(by_itself) < 640
