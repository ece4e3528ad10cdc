"""The names under which probing clients write their facts (JSON, CSV headers, key=value), and what they amount to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from triage.model import Seconds
from triage.parsers.probe.dates import DateReader
from triage.parsers.probe.records import LONGEST_EVIDENCE, Answer

Meaning = Literal["start", "end", "status", "exit", "error", "ok", "seconds", "millis", "timeout", "target"]

# Within a meaning the earlier name wins. `time` is a date or a number of seconds: it is both here, and its value decides.
_NAMES: dict[Meaning, str] = {
    "start": "start started start_time started_at begin ts timestamp @timestamp datetime date time t when lasttimestamp eventtime firsttimestamp",
    "end": "end ended end_time ended_at finish finished finished_at stop",
    "status": "http_code status_code http_status statuscode response_code status code http probe_http_status_code",
    "exit": "exit exit_code exitcode exit_status rc returncode curl_exit curl_rc curl_exit_code ret",
    "error": "error err errormsg error_kind kind exception message msg reason detail output result state health",
    "ok": "ok up success healthy alive probe_success passed",
    "seconds": "duration latency time_total elapsed seconds duration_s latency_s elapsed_s took response_time rtt duration_seconds latency_seconds"
    " total_time probe_duration_seconds time total",
    "millis": "ms duration_ms latency_ms elapsed_ms took_ms response_time_ms time_ms",
    "timeout": "timeout timeout_s timeout_seconds max_time",
    "target": "target url endpoint instance pod service server name host probe check",
}


def _meanings() -> dict[str, tuple[tuple[Meaning, int], ...]]:
    """For each name its meanings, each with the name's rank in it."""
    found: dict[str, tuple[tuple[Meaning, int], ...]] = {}
    for meaning, names in _NAMES.items():
        for rank, name in enumerate(names.split()):
            found[name] = (*found.get(name, ()), (meaning, rank))
    return found


def _named(*meanings: Meaning) -> frozenset[str]:
    return frozenset(name for meaning in meanings for name in _NAMES[meaning].split())


_MEANINGS = _meanings()
TIME_KEYS = _named("start", "end")
RESULT_KEYS = _named("status", "exit", "ok") | {"error", "err", "errormsg", "error_kind", "result", "state", "health"}
ALL_KEYS = frozenset(_MEANINGS)

_LONGEST_ATTEMPT: Seconds = 86400.0
_TRUE, _FALSE = ("true", "yes", "1", "1.0", "ok"), ("false", "no", "0", "0.0")
_UNITS = (("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("s", 1.0))

Given = dict[Meaning, list[object]]


def answer_of(facts: Mapping[str, object], dates: DateReader) -> Answer:
    """What named facts say; names are compared in lower case, unknown names are left alone."""
    given = _given(facts)
    status, answerless, words = _status(given.get("status", ()))
    exit_code = next((code for value in given.get("exit", ()) if (code := number(value)) is not None), None)
    errors = (str(value) for value in given.get("error", ()) if not isinstance(value, bool | dict | list))
    failed = answerless or bool(exit_code)
    return Answer(
        start=_date(given.get("start", ()), dates),
        end=_date(given.get("end", ()), dates),
        evidence=evidence(status, exit_code, " ".join((words, *errors)) if words else " ".join(errors)),
        ok=False if failed else next((truth for value in given.get("ok", ()) if (truth := _truth(value)) is not None), None),
        answerless=answerless,
        duration=_duration(given),
        timeout=next((limit for value in given.get("timeout", ()) if (limit := number(value)) is not None), None),
        target=next((str(value)[:200] for value in given.get("target", ())), ""),
    )


def evidence(status: int | None, exit_code: float | None, text: str = "") -> str:
    """Codes and text in the one form that rules/probes.toml is written for: `exit 28 http 200 Operation timed out ...`."""
    codes = "" if not exit_code else f"exit {exit_code:.0f} "
    codes += "" if not status else f"http {status} "
    return (codes + text[:LONGEST_EVIDENCE]).strip()


def flattened(document: Mapping[str, object]) -> dict[str, object]:
    """A decoded JSON object with the values of nested objects beside its own, which win."""
    flat: dict[str, object] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            flat.update({inner: deep for inner, deep in value.items() if inner not in document and not isinstance(deep, dict | list)})
        else:
            flat[key] = value
    return flat


def number(value: object) -> float | None:
    """A number, also as text and with a unit of time (`12ms`, `0.5s`); None for anything else."""
    if isinstance(value, int | float):
        return None if isinstance(value, bool) else float(value)
    if not isinstance(value, str) or not value[:1].isdecimal() or len(value) > 24:
        return None
    for unit, size in _UNITS:
        if value.endswith(unit):
            return _plain(value[: -len(unit)].rstrip(), size)
    return _plain(value, 1.0)


def _plain(text: str, size: float) -> float | None:
    return float(text) * size if text.isascii() and text.replace(".", "", 1).isdecimal() else None


def _given(facts: Mapping[str, object]) -> Given:
    """The facts by meaning, the more telling name first."""
    ranked: dict[Meaning, list[tuple[int, object]]] = {}
    for name, value in facts.items():
        if value is None or value == "" or value == "-":
            continue
        for meaning, rank in _MEANINGS.get(name) or _MEANINGS.get(name.lower(), ()):
            ranked.setdefault(meaning, []).append((rank, value))
    return {meaning: [value for _, value in sorted(values, key=_rank_of)] for meaning, values in ranked.items()}


def _rank_of(ranked: tuple[int, object]) -> int:
    return ranked[0]


def _status(values: Iterable[object]) -> tuple[int | None, bool, str]:
    """The HTTP status, whether it says that no answer came (000), and the words that stand in its place."""
    words = ""
    for value in values:
        code = number(value)
        if code is not None and (code == 0 or 100 <= code <= 599):
            return int(code) or None, code == 0, words
        if isinstance(value, str) and not words:
            words = value
    return None, False, words


def _date(values: Iterable[object], dates: DateReader) -> Seconds | None:
    return next((seconds for value in values if (seconds := dates.value(value)) is not None), None)


def _duration(given: Given) -> Seconds | None:
    millis = [value / 1000 for raw in given.get("millis", ()) if (value := number(raw)) is not None]
    seconds = [value for raw in given.get("seconds", ()) if (value := number(raw)) is not None]
    return next((value for value in (*millis, *seconds) if 0 <= value <= _LONGEST_ATTEMPT), None)


def _truth(value: object) -> bool | None:
    text = str(value).strip().lower()
    return True if text in _TRUE else False if text in _FALSE else None
