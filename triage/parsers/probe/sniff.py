"""Tells from a few lines whether a log is one of health probes, and not an engine's, a kernel's, or a traceback."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triage.parsers.probe.access import is_health_request
from triage.parsers.probe.dates import DateReader
from triage.parsers.probe.keys import RESULT_KEYS, TIME_KEYS
from triage.parsers.probe.lines import csv_cells, csv_header

LINES = 200
_ENOUGH = 0.6

# Lines that only an engine, its libraries or the kernel write, or docker, kubectl and journalctl where there is no log. One of them is enough.
_FOREIGN = re.compile(
    r"^(?:\x1b\[[\d;]*m)*(?:\(\w[\w.-]* (?:rank=\d+ )?pid=\d+|\[rank\d+\]|\[default\d+\]:)"
    r"|\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./-]+:\d+\]"
    r"|^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: (?:DP|PP|TP|EP|ATTN_CP|MOE_DP)\d+)+\]"
    r"|server_args=|\b(?:Decode|Prefill) batch\b|\bNCCL (?:INFO|WARN|ERROR|TRACE)\b|\[TRT-LLM\]|\[TensorRT-LLM\]"
    r"|ProcessGroupNCCL|Avg (?:prompt|generation) throughput|\bNVRM: |\bkernel: |^\[ *\d+\.\d{6}\] |\bvLLM (?:API server )?version\b|\"levelname\":"
    r"|^(?:Error response from daemon: |Error from server \(|-- No entries --)"
)
_NEUTRAL = re.compile(
    r"\s|Traceback |During handling |The above exception |curl: \(|wget: |# |LAST SEEN|Resolving |Length: |Connecting to |HTTP request sent|"
    r"probe_\w+ |\S+ \S+ \[(?:debug|info|notice)\] \d+#\d+: |(?:\S+ +){0,2}(?:Normal|Warning) +\w+ |[\w.]*(?:Error|Exception|Timeout)\b"
)
_SHAPE = re.compile(
    r"(?i)^\W*(?:[\w.:/@-]+[ ,;|]+)?(?:\d{1,2}[\s,;|]+)?[0-5]\d\d(?:[\s,;|]+[\d.]+(?:ms|s)?){0,3}(?:[\s,;|]+https?://\S+)?[\s,;|]*$"
    r"|^\W*(?:[\w.:/@-]+ ){0,2}(?:ok|up|down|fail(?:ed|ure)?|healthy|unhealthy|timeout|refused|slow|alive|dead|error|pass|success)\b.{0,80}$"
    r"|\bcurl: \(\d+\)|(?:Liveness|Readiness|Startup) probe (?:failed|errored|succeeded)|\"Probe (?:failed|errored|succeeded)\" probeType="
    r"|msg=\"(?:Probe (?:failed|succeeded)|Beginning probe|Error for HTTP request)"
    r"|(?:connect\(\) failed|upstream timed out|upstream prematurely closed|no live upstreams).{0,120}upstream"
    r"|(?:/health\w*|/ping|/v1/models|/ready|/live)\b.{0,400}(?:refused|timed out|timeout|aborted|disconnected|exceeded|server error|unavailable)"
    r"|(?:refused|timed out|timeout|server error|unavailable).{0,200}(?:/health\w*|/ping|/v1/models|/ready|/live)\b"
    r"|^-* *https?://\S*$|^probe_success [01]|^\W*(?:[0-5]\d\d )?upstream connect error or disconnect|^\W*wget\b.{0,20}\bexit\w{0,8}[ =:(]{1,3}\d\b"
)
# What a probing client says, and nothing else, behind a date of its own. An engine's traceback ends so, too, but without a date.
_CLIENT = re.compile(
    r"^\W*(?:(?i:error|warn(?:ing)?|critical)\b\W*)?"
    r"(?:(?:requests|httpx|httpcore|aiohttp|urllib3|asyncio|http\.client)\.[\w.]{0,80}(?:Error|Timeout|Disconnected)\b"
    r"|(?:ReadTimeout|ConnectTimeout|ConnectError|ChunkedEncodingError|ServerDisconnectedError|ClientConnectorError|Remote(?:Disconnected|ProtocolError))\b"
    r"|\('Connection aborted\.', )"
)
_PAIRS = re.compile(r"(?<!\w)([A-Za-z_]\w{0,32})=")
_KEYS = re.compile(r'"([A-Za-z_@]\w{0,32})" ?:')
_NOT_PROBES = frozenset(("log", "stream", "levelname", "message_id"))
_CODES = frozenset(("status", "http_code", "status_code", "http_status", "code", "http", "exit", "exit_code", "exitcode", "rc", "ok", "up"))


def looks_like_probe_log(lines: Sequence[str]) -> bool:
    """Whether at most 200 lines, without their envelope, come from probes. Access lines count when all requests are health checks."""
    dates, header = DateReader(), None
    likely = counted = 0
    for text in (line[:4096].rstrip() for line in lines[:LINES]):
        if not text:
            continue
        header = csv_header(text) if not counted else header
        if _FOREIGN.search(text) or is_health_request(text) is False:
            return False
        seen = _is_row(text, header) if header else _is_probe(text, dates)
        likely += seen
        counted += seen or not _NEUTRAL.match(text)
    return likely > 0 and likely >= _ENOUGH * counted


def _is_probe(text: str, dates: DateReader) -> bool:
    if is_health_request(text):
        return True
    if text.startswith("{"):
        return _is_document(text)
    stamp = dates.find(text, 0.0)
    rest = text if stamp is None else f"{text[: stamp.start]} {text[stamp.end :]}".strip(" \t,;|:-]")
    if rest.startswith("{"):
        return _is_document(rest, dated=True)
    if _SHAPE.search(rest) or (stamp is not None and _CLIENT.match(rest)):
        return True
    keys = {key.lower() for key in _PAIRS.findall(rest)}
    return bool(keys & _CODES)


def _is_row(text: str, header: tuple[str, list[str]]) -> bool:
    delimiter, names = header
    return len(csv_cells(text, delimiter)) == len(names)


def _is_document(text: str, dated: bool = False) -> bool:
    keys = {key.lower() for key in _KEYS.findall(text)}
    dated = dated or not keys.isdisjoint(TIME_KEYS) or "lasttimestamp" in keys
    return dated and keys.isdisjoint(_NOT_PROBES) and not keys.isdisjoint(RESULT_KEYS)

