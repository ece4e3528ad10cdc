"""The shapes a probe line can have once its date is taken off: columns, key=value, JSON, metrics, access logs, free text."""

from __future__ import annotations

import re

import msgspec
import orjson

from triage.model import Seconds
from triage.parsers.probe.access import access, is_health_request
from triage.parsers.probe.dates import DateReader
from triage.parsers.probe.keys import ALL_KEYS, RESULT_KEYS, answer_of, evidence, flattened
from triage.parsers.probe.records import LONGEST_EVIDENCE, Answer


class NothingSaidError(Exception):
    """The line is of a known kind and says nothing of how an attempt ended."""


_GAP = r"[\s,;|]+"
_TARGET = r"(?!(?:https?|status|code|curl|exit|rc)\b[^:])[A-Za-z\[][^\s,;|=\"'(]*"
_TIME = r"\d{1,9}(?:\.\d{1,9})?(?:ms|s)|\d{1,9}\.\d{1,9}"
_COLUMNS = re.compile(
    rf"^(?:(?P<target>{_TARGET}){_GAP})?(?:(?P<before>\d{{1,2}}){_GAP})?(?P<status>\d{{3}})(?:{_GAP}(?P<exit>\d{{1,3}}))?"
    rf"(?:{_GAP}(?P<duration>{_TIME}))?(?:{_GAP}(?P<after>\d{{1,3}}))?(?:{_GAP}(?P<url>https?://[^\s,;|]+))?[\s,;|]*$"
)
_NAMED_EXIT = re.compile(rf"(?:^|{_GAP})(?:curl_?)?(?:exit(?:_?code)?|rc|ret)[=:] ?(?P<exit>\d{{1,3}})(?=[\s,;|]|$)")
_LEADING = re.compile(
    rf"^(?P<status>\d{{3}})(?:{_GAP}(?P<exit>\d{{1,3}}))?(?:{_GAP}(?P<duration>{_TIME}))?{_GAP}(?P<text>[^\d\s].*)$", re.DOTALL
)
_METRIC = re.compile(r"^(?P<name>probe_(?:success|http_status_code|duration_seconds))(?:\{[^}]*\})? (?P<value>[\d.eE+-]+)$")
_PAIR = re.compile(r"""(?<![\w.@-])([A-Za-z_@][\w.@-]*)=("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;|]*)""")
_KUBELET = re.compile(r'(?:Liveness|Readiness|Startup) probe (?:failed|errored|succeeded)|"Probe (?:failed|errored|succeeded)" probeType=')
_GOOD = re.compile(
    r"(?i)\bprobe succeeded\b|^\W*(?:(?:debug|info)\W+)?(?:[\w./:-]{1,80} ){0,2}(?:ok|healthy|alive|up|success|succeeded|passed)(?:[ :=]+\d{3})?\W*$"
)
_POD = re.compile(r'\bpod[=/]"?(?P<pod>[\w./-]+)')
_URL = re.compile(r"https?://[^\s\"',;|)]+")
_NGINX = re.compile(r"\[(?:error|warn|crit)\] \d+#\d+: ")
_UPSTREAM = re.compile(r'upstream: "(?P<url>\w+://[^/"]+)')
_LOGGED = re.compile(r"^\W*(?:[\w.]+ )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
_LIMIT = re.compile(r"(?i)timed out after (?P<ms>\d{1,9}) milli|timeout[=:] ?(?P<s>\d{1,9}(?:\.\d{1,9})?)\b")
_TOOK = re.compile(r"(?i)\b(?:in|took|after|time|elapsed|latency)[ =:]{1,2}(?P<number>\d{1,9}(?:\.\d{1,9})?) ?(?P<unit>ms|s|sec|seconds)\b")

# What known clients say beside the result: wget's progress, the exporter's steps and metrics, events of a pod that are no probes.
_CHATTER = re.compile(
    r"^(?:Resolving |Length: |Saving to: |Reusing existing |Retrying\.|Giving up|Spider mode |Connecting to .*connected\.$|"
    r"HTTP request sent, awaiting response\.\.\.$|Logs for the probe:|Metrics that would have been returned:|Module configuration:|"
    r"# (?:HELP|TYPE) |probe_\w+|-+$|% Total|Dload|LAST SEEN\b|Events:)"
    r'|msg="(?:Beginning probe|Resol|Making HTTP|Response timings|Received HTTP|Validating|Starting |Listening|Loaded)'
    r"|^\[(?:debug|info|notice)\] \d+#\d+: |^\([\d.,]+ [KMG]?B/s\) - |will be restarted$|\bBack-off restarting "
    r"|^(?:\S+ +)?(?:Normal|Warning) +(?!Unhealthy|ProbeError|ProbeWarning)[A-Z]\w+ "
)


def read(text: str, dates: DateReader) -> Answer | None:
    """What a line says of an attempt, or None where it has no shape that could. Raises NothingSaidError for the chatter of known clients."""
    columns = _COLUMNS.match(text)
    if columns:
        return _columns(columns)
    named = _NAMED_EXIT.search(text)
    columns = _COLUMNS.match(text[: named.start()] + text[named.end() :]) if named else None
    if named and columns:
        return _columns(columns, named["exit"])
    metric = _METRIC.match(text)
    if metric:
        return answer_of({metric["name"]: metric["value"]}, dates)
    if _CHATTER.search(text):
        raise NothingSaidError
    return _document(text, dates) or _access(text) or _pairs(text, dates) or _leading_code(text) or _free_text(text)


def is_metric(text: str) -> bool:
    """Whether a line is a sample of the exporter's /probe page, which comes in several lines for one attempt."""
    return text.startswith("probe_") and _METRIC.match(text) is not None


def json_answer(text: str, dates: DateReader) -> Answer | None:
    """What a JSON object says, None for anything else."""
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(document, dict):
        return None
    facts = {key.lower(): value for key, value in flattened(document).items()}
    if ALL_KEYS.isdisjoint(facts):
        return None
    answer = answer_of(facts, dates)
    return msgspec.structs.replace(answer, at_end=True) if _KUBELET.search(answer.evidence) else answer


def _columns(found: re.Match[str], named_exit: str = "") -> Answer | None:
    """`200`, `000 7`, `503 0 0.012`, `vllm-a 200 0.012s`, `28 000`: a status, around it exit code, seconds and target.

    `named_exit` is that of `exit=7`, which may stand anywhere among them.
    """
    target, before, status, exit_code, duration, after, url = found.group("target", "before", "status", "exit", "duration", "after", "url")
    return _coded(status, named_exit or exit_code or before or after, duration, target=url or (target or "").strip("[]:"))


def _leading_code(text: str) -> Answer | None:
    """`503 Health check failed.`, `000 28 0.5 timed out`: the columns, and words after them."""
    found = _LEADING.match(text)
    return _coded(found["status"], found["exit"], found["duration"], text=found["text"]) if found else None


def _coded(status: str, exit_code: str | None, duration: str | None, *, text: str = "", target: str = "") -> Answer | None:
    code, number = int(exit_code or 0), int(status)
    if 0 < number < 100 or number > 599:
        return None
    return Answer(
        evidence=evidence(number, code, text),
        ok=False if code or not number else None,
        answerless=not number,
        duration=None if duration is None else _seconds(duration),
        target=target,
    )


def _seconds(text: str) -> Seconds:
    return float(text[:-2]) / 1000 if text.endswith("ms") else float(text.rstrip("s"))


def _document(text: str, dates: DateReader) -> Answer | None:
    begins = text.find("{") if text.endswith("}") else -1
    return json_answer(text[begins:], dates) if begins >= 0 else None


def _access(text: str) -> Answer | None:
    """A line of an access log. Raises NothingSaidError for requests that are no health checks: they are traffic."""
    if is_health_request(text) is False:
        raise NothingSaidError
    return access(text)


def _pairs(text: str, dates: DateReader) -> Answer | None:
    pairs = [(key.lower(), value.strip("\"'")) for key, value in _PAIR.findall(text)]
    facts: dict[str, object] = {key: value for key, value in pairs if key in ALL_KEYS}
    exporter = any(key in ("caller", "module") for key, _ in pairs)
    if RESULT_KEYS.isdisjoint(facts) and not exporter:
        return None
    left = _PAIR.sub(" ", text).strip()
    if any(character.isalpha() for character in left):
        facts.setdefault("detail", left)
    answer = answer_of(facts, dates)
    return msgspec.structs.replace(answer, at_end=True) if exporter else answer


def _free_text(text: str) -> Answer:
    target, at_end, ok = "", _LOGGED.search(text) is not None, _GOOD.search(text) is not None or None
    if _KUBELET.search(text):
        pod, url = _POD.search(text), _URL.search(text)
        target, at_end = pod["pod"] if pod else url[0] if url else "", True
    elif _NGINX.search(text):
        upstream = _UPSTREAM.search(text)
        target, at_end = upstream["url"] if upstream else "", True
    elif text.startswith(("http://", "https://")):
        target = text.split(maxsplit=1)[0]
    return Answer(evidence=text[:LONGEST_EVIDENCE], ok=ok, target=target, at_end=at_end, duration=_took(text), timeout=_limit(text))


def _took(text: str) -> Seconds | None:
    found = _TOOK.search(text)
    return None if found is None else float(found["number"]) / (1000 if found["unit"].lower() == "ms" else 1)


def _limit(text: str) -> Seconds | None:
    found = _LIMIT.search(text)
    if found is None:
        return None
    return float(found["ms"]) / 1000 if found["ms"] else float(found["s"])
