"""Whole probe logs: lines that belong together, stamps and durations, targets, formats of a user's own, unknown lines, hostile ones."""

from __future__ import annotations

import itertools
import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.knowledge.schema import Probes, ProbeText
from triage.model import Instant, Place
from triage.parsers.probe import ProbeLog, Row, parse

START = datetime(2026, 11, 12, 3, 0, tzinfo=UTC)


def read(text: str, **options: object) -> ProbeLog:
    return parse([Row(line) for line in text.splitlines()], **options)  # type: ignore[arg-type]


def symbols(log: ProbeLog) -> str:
    return "".join(probe.symbol for probe in log.probes)


def at(minute: int, second: float = 0) -> float:
    return (START + timedelta(minutes=minute, seconds=second)).timestamp()


def test_curl_error_on_the_next_line_belongs_to_the_dated_line() -> None:
    log = read(
        "2026-11-12T03:00:00Z 200\n"
        "2026-11-12T03:01:00Z FAIL\n"
        "curl: (28) Operation timed out after 5001 milliseconds with 0 bytes received\n"
        "2026-11-12T03:02:00Z 000\n"
        "curl: (7) Failed to connect to localhost port 8000 after 0 ms: Couldn't connect to server\n"
        "2026-11-12T03:03:00Z 200\n"
    )
    assert symbols(log) == ".tr."
    assert log.unknown == 0
    assert log.probes[1].at == Instant(at(1), at(1, 5.001), "inner stamp")
    assert "Operation timed out" in log.probes[1].text


def test_curl_error_before_the_dated_line_belongs_to_it_too() -> None:
    log = read(
        "2026-11-12T03:00:00Z OK\n"
        "curl: (7) Failed to connect to localhost port 8000 after 0 ms: Couldn't connect to server\n"
        "2026-11-12T03:01:00Z FAIL\n"
        "curl: (28) Connection timed out after 5001 milliseconds\n"
        "2026-11-12T03:02:00Z FAIL\n"
        "2026-11-12T03:03:00Z OK\n"
    )
    assert symbols(log) == ".rt."
    assert log.unknown == 0


def test_error_that_no_dated_line_claims_lies_between_its_neighbours() -> None:
    log = read("2026-11-12T03:00:00Z OK\ncurl: (52) Empty reply from server\n2026-11-12T03:02:00Z OK\n")
    assert symbols(log) == ".r."
    assert log.probes[1].at == Instant(at(0), at(2), "carried")


def test_errors_that_only_their_envelope_dates_are_attempts_of_their_own() -> None:
    text = "curl: (7) Failed to connect to localhost port 8000 after 0 ms: Couldn't connect to server"
    log = parse([Row(text, Instant.sharp(at(minute))) for minute in range(3000)])
    assert [probe.at for probe in log.probes] == [Instant.sharp(at(minute)) for minute in range(3000)]
    assert symbols(log) == "r" * 3000


def test_date_and_result_on_lines_of_their_own() -> None:
    log = read("Thu Nov 12 03:00:00 UTC 2026\n200\nThu Nov 12 03:01:00 UTC 2026\n000\n")
    assert symbols(log) == ".f"
    assert [probe.at.earliest for probe in log.probes] == [at(0), at(1)]


def test_traceback_belongs_to_the_line_before_it() -> None:
    log = read(
        "2026-11-12T03:00:00Z probing http://gpu1:8000/health\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/probe.py", line 11, in <module>\n'
        "    requests.get(URL, timeout=5)\n"
        "ConnectionRefusedError: [Errno 111] Connection refused\n"
        "\n"
        "During handling of the above exception, another exception occurred:\n"
        "\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/probe.py", line 12, in <module>\n'
        "requests.exceptions.ConnectionError: HTTPConnectionPool(host='gpu1', port=8000): Max retries exceeded with url: /health\n"
        "2026-11-12T03:01:00Z 200\n"
    )
    assert symbols(log) == "r."
    assert log.unknown == 0


def test_wget_in_full() -> None:
    log = read(
        "--2026-11-12 03:00:00--  http://localhost:8000/health\n"
        "Resolving localhost (localhost)... 127.0.0.1\n"
        "Connecting to localhost (localhost)|127.0.0.1|:8000... connected.\n"
        "HTTP request sent, awaiting response... 200 OK\n"
        "Length: 0\n"
        "--2026-11-12 03:01:00--  http://localhost:8000/health\n"
        "Connecting to localhost (localhost)|127.0.0.1|:8000... failed: Connection refused.\n"
        "--2026-11-12 03:02:00--  http://localhost:8000/health\n"
        "Connecting to localhost (localhost)|127.0.0.1|:8000... connected.\n"
        "HTTP request sent, awaiting response... Read error (Connection timed out) in headers.\n"
        "Retrying.\n"
        "--2026-11-12 03:03:00--  http://localhost:8000/health\n"
        "HTTP request sent, awaiting response... 503 Service Unavailable\n"
        "2026-11-12 03:03:00 ERROR 503: Service Unavailable.\n"
    )
    assert symbols(log) == ".rtrr"
    assert log.unknown == 0
    assert log.targets == ("http://localhost:8000/health",)


def test_exporter_page_is_one_attempt() -> None:
    page = (
        "# HELP probe_success Displays whether or not the probe was a success\n"
        "probe_duration_seconds {0}\nprobe_http_status_code {1}\nprobe_success {2}\n"
    )
    log = read(
        "Thu Nov 12 03:00:00 UTC 2026\n" + page.format("0.0013", 200, 1)
        + "Thu Nov 12 03:01:00 UTC 2026\n" + page.format("0.0004", 0, 0)
        + "Thu Nov 12 03:02:00 UTC 2026\n" + page.format("9.5001", 0, 0)
        + "Thu Nov 12 03:03:00 UTC 2026\n" + page.format("0.0031", 503, 0)
    )  # fmt: skip
    assert symbols(log) == ".rtr"
    assert log.unknown == 0


def test_exporter_s_closing_line_is_the_same_attempt() -> None:
    common = "caller=handler.go:117 module=http_2xx target=http://gpu1:8000/health"
    error = 'err="Get \\"http://10.0.0.5:8000/health\\": context deadline exceeded"'
    log = read(
        f'ts=2026-11-12T03:00:00.000Z {common} level=info msg="Beginning probe" probe=http timeout_seconds=9.5\n'
        f'ts=2026-11-12T03:00:09.500Z {common} level=error msg="Error for HTTP request" {error}\n'
        f'ts=2026-11-12T03:00:09.501Z {common} level=error msg="Probe failed" duration_seconds=9.5\n'
    )
    assert symbols(log) == "t"
    assert log.probes[0].at.earliest == pytest.approx(at(0), abs=0.01)
    assert log.targets == ("http://gpu1:8000/health",)


def test_csv_with_header_in_any_order() -> None:
    log = read('target,status,error,time,latency_ms\nvllm-a,200,,2026-11-12T03:00:00Z,12\nvllm-a,0,"timed out, twice",2026-11-12T03:01:00Z,5000\n')
    assert symbols(log) == ".t"
    assert log.targets == ("vllm-a",)
    assert log.probes[1].at == Instant(at(1), at(1, 5), "inner stamp")


def test_start_and_end_stamps() -> None:
    log = read('{"start":"2026-11-12T03:00:00Z","end":"2026-11-12T03:00:05Z","error":"timeout"}\n2026-11-12T03:01:00Z 2026-11-12T03:01:30Z 000 28\n')
    assert [(probe.at.earliest, probe.at.latest) for probe in log.probes] == [(at(0), at(0, 5)), (at(1), at(1, 30))]


@pytest.mark.parametrize(("stamp", "expected"), [("start", (at(1), at(1, 30))), ("end", (at(0, 30), at(1)))])
def test_stamp_with_duration(stamp: str, expected: tuple[float, float]) -> None:
    (probe,) = read("2026-11-12T03:01:00Z http=000 exit=28 time=30.0", stamp=stamp).probes
    assert (probe.at.earliest, probe.at.latest) == expected


def test_timeout_of_the_log_reaches_attempts_that_do_not_tell_it() -> None:
    log = read("2026-11-12T03:00:00Z curl: (28) Operation timed out after 10001 milliseconds\n2026-11-12T03:01:00Z 000 28\n")
    assert log.probes[1].at.latest - log.probes[1].at.earliest == pytest.approx(10.001)


def test_envelope_s_later_stamp_is_the_end() -> None:
    (probe,) = parse([Row("2026-11-12T03:00:00Z 000", Instant.sharp(at(0, 30.02)))]).probes
    assert (probe.at.earliest, probe.at.latest, probe.symbol) == (at(0), at(0, 30.02), "t")


def test_date_without_zone_far_from_the_envelope_s_gives_way() -> None:
    (probe,) = parse([Row("2026-11-12 11:00:00 000 7", Instant.sharp(at(0)))]).probes
    assert probe.at == Instant.sharp(at(0))


def test_answerless_attempts_are_told_apart_by_how_long_they_took() -> None:
    log = read("2026-11-12T03:00:00Z 000 0.0002\n2026-11-12T03:01:00Z 000 5.3\n2026-11-12T03:02:00Z 000 3.2\n2026-11-12T03:03:00Z 000 2.002\n")
    assert symbols(log) == "rtrt"


def test_zone_of_the_user() -> None:
    (probe,) = read("2026-11-12 04:00:00 200", tz="Europe/Berlin").probes
    assert probe.at.earliest == at(0)


def test_hour_that_a_clock_change_repeats() -> None:
    lines = ["2026-10-25 01:30:00 200", "2026-10-25 02:30:00 200", "2026-10-25 02:00:00 000 7", "2026-10-25 02:30:00 200", "2026-10-25 03:30:00 200"]
    log = read("\n".join(lines), tz="Europe/Berlin")
    assert symbols(log) == "..r.."
    starts = [probe.at.earliest for probe in log.probes]
    assert [after - before for before, after in itertools.pairwise(starts)] == [3600, 1800, 1800, 3600]


def test_stamps_without_a_year_pass_new_year() -> None:
    log = read("Dec 31 23:59:00 gpu1 probe: 200\nJan  1 00:00:00 gpu1 probe: 000 7\n", year=2026)
    assert log.probes[1].at.earliest - log.probes[0].at.earliest == 60
    assert log.probes[1].at.earliest == datetime(2027, 1, 1, tzinfo=UTC).timestamp()


def test_stamps_without_any_year_take_the_envelope_s() -> None:
    (probe,) = parse([Row("Nov 12 03:00:00 gpu1 probe[12]: 000 7", Instant.sharp(at(0)))]).probes
    assert (probe.symbol, probe.at.earliest) == ("r", at(0))


def test_targets_are_kept_apart() -> None:
    log = read("2026-11-12T03:00:00Z vllm-a 200\n2026-11-12T03:00:00Z vllm-b 000 7\n")
    assert {probe.target: probe.symbol for probe in log.probes} == {"vllm-a": ".", "vllm-b": "r"}


def test_the_only_target_is_everybody_s() -> None:
    log = read("2026-11-12T03:00:00Z http://gpu1:8000/health 200\n2026-11-12T03:01:00Z curl: (52) Empty reply from server\n")
    assert log.targets == ("http://gpu1:8000/health",)


def test_probes_come_in_order_of_their_start() -> None:
    log = read("2026-11-12T03:02:00Z 200\n2026-11-12T03:00:00Z 000 7\n2026-11-12T03:01:00Z 000 28\n")
    assert symbols(log) == "rt."


def test_unknown_lines_are_counted_and_shown() -> None:
    log = read("prober 1.4 starting\n2026-11-12T03:00:00Z 200\n2026-11-12T03:00:30Z reloading configuration\n2026-11-12T03:01:00Z 200\n")
    assert symbols(log) == ".."
    assert log.unknown == 2
    assert [row.text for row in log.unknown_samples] == ["prober 1.4 starting", "2026-11-12T03:00:30Z reloading configuration"]


def test_results_without_any_date_are_unknown() -> None:
    log = read("200\n000\n200\n")
    assert (log.probes, log.unknown) == ((), 3)


def test_requests_that_are_no_health_checks_are_traffic() -> None:
    log = read(
        '10.0.0.1 - - [12/Nov/2026:03:00:00 +0000] "GET /health HTTP/1.1" 200 0\n'
        '10.0.0.2 - - [12/Nov/2026:03:00:01 +0000] "POST /v1/completions HTTP/1.1" 500 0\n'
    )
    assert (symbols(log), log.unknown) == (".", 0)


def test_place_of_failing_lines_is_kept() -> None:
    place = Place("probe.log", "probe.log", 25, 2)
    log = parse([Row("2026-11-12T03:00:00Z 200", None, Place("probe.log", "probe.log", 0, 1)), Row("2026-11-12T03:01:00Z 000 7", None, place)])
    assert log.probes[1].place == place


class TestUserFormat:
    PATTERN = r"^(?P<target>\S+) \| (?P<time>\S+ \S+) \| s=(?P<status>\d+) e=(?P<exit>\d+) d=(?P<duration>[\d.]+)"

    def test_reads_what_it_names(self) -> None:
        log = read("vllm-a | 2026-11-12 03:00:00 | s=000 e=28 d=5.0\nvllm-a | 2026-11-12 03:01:00 | s=200 e=0 d=0.01\n", format=self.PATTERN)
        assert symbols(log) == "t."
        assert log.probes[0].at == Instant(at(0), at(0, 5), "inner stamp")
        assert log.targets == ("vllm-a",)

    def test_lines_that_do_not_fit_are_unknown(self) -> None:
        log = read("2026-11-12T03:00:00Z 200\n", format=self.PATTERN)
        assert (log.probes, log.unknown) == ((), 1)

    @pytest.mark.parametrize("pattern", ["(", r"(?P<time>\S+)", r"(?P<status>\d+) (?P<colour>\w+)"])
    def test_one_that_cannot_work_is_refused(self, pattern: str) -> None:
        with pytest.raises(ValueError, match="format"):
            read("x", format=pattern)

    def test_one_that_runs_away_is_stopped(self) -> None:
        log = read("a" * 60 + "!", format=r"(?P<status>(?:a|aa|a?)+)$")
        assert (log.probes, log.unknown) == ((), 1)


def test_unknown_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="Mars/Olympus"):
        read("2026-11-12 03:00:00 200", tz="Mars/Olympus")


def test_rules_decide() -> None:
    rules = Probes((ProbeText(id="teapot", symbol="e", pattern="http 418"),))
    assert symbols(read("2026-11-12T03:00:00Z 418", rules=rules)) == "e"


# The short way for the bulk must say what the long way says.

CODES = ["200", "200 0", "000 7", "000 28", "503", "FAIL", "http=200 exit=0 time={:.6f}", "http=000 exit=28 time={:.6f}", "200 {:.6f}", "000 {:.6f}"]
STYLES = ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "[%Y-%m-%d %H:%M:%S]", "%a %b %d %H:%M:%S UTC %Y", "%d/%b/%Y:%H:%M:%S +0000", "%s"]


def stamp(style: str, seconds: int) -> str:
    moment = START + timedelta(seconds=seconds)
    return str(int(moment.timestamp())) if style == "%s" else moment.strftime(style)


lines = st.tuples(st.integers(0, 10**7), st.sampled_from(CODES), st.floats(0, 60))


@given(st.sampled_from(STYLES), st.lists(lines, min_size=1, max_size=40, unique_by=lambda line: line[0]))
def test_a_line_means_the_same_among_others_as_alone(style: str, made: list[tuple[int, str, float]]) -> None:
    texts = [f"{stamp(style, seconds)} {code.format(took)}" for seconds, code, took in sorted(made)]
    together = parse([Row(text) for text in texts])
    alone = [parse([Row(text)]).probes[0] for text in texts]
    assert [probe.at.earliest for probe in together.probes] == [probe.at.earliest for probe in alone]
    assert [probe.symbol in ".s" for probe in together.probes] == [probe.symbol in ".s" for probe in alone]
    decided = [(one.symbol, other.symbol) for one, other, text in zip(together.probes, alone, texts, strict=True) if "000 " not in text]
    assert all(one == other for one, other in decided)


@given(st.lists(lines, max_size=40, unique_by=lambda line: line[0]), st.randoms(use_true_random=False))
def test_order_of_dated_lines_does_not_matter(made: list[tuple[int, str, float]], order: random.Random) -> None:
    rows = [Row(f"{stamp('%Y-%m-%dT%H:%M:%SZ', seconds)} {code.format(took)}") for seconds, code, took in made]
    shuffled = list(rows)
    order.shuffle(shuffled)
    assert parse(shuffled).probes == parse(rows).probes


@given(st.lists(st.text(max_size=200), max_size=20), st.booleans())
def test_any_text_is_read_without_raising(texts: list[str], dated: bool) -> None:
    instant = Instant.sharp(at(0)) if dated else None
    log = parse([Row(text, instant) for text in texts])
    assert len(log.probes) + log.unknown <= len(texts)
    assert all(probe.symbol for probe in log.probes)


pieces = st.sampled_from(
    ["2026-11-12T03:00:00Z", " ", "{", "}", '"', "status", "=", ":", "200", "000", "exit", "28", "curl: (", ")", "\t", ",", "[", "-", "9" * 400]
)


@given(st.lists(st.lists(pieces, max_size=12).map("".join), max_size=10))
def test_almost_probe_lines_are_read_without_raising(texts: list[str]) -> None:
    log = parse([Row(text) for text in texts])
    assert len(log.probes) + log.unknown <= len(texts)


def test_a_line_of_ten_megabytes_is_read() -> None:
    log = parse([Row("2026-11-12T03:00:00Z 000 28 " + "x(" * 5_000_000)])
    assert symbols(log) == "t"
    assert len(log.probes[0].text) < 10_000


def test_an_envelope_in_whole_seconds_makes_no_timeout_of_a_refusal() -> None:
    (probe,) = parse([Row("2026-11-12T03:00:00Z 000", Instant(at(0), at(0, 1)))]).probes
    assert (probe.symbol, probe.at.latest) == ("f", at(0))
