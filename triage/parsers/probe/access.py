"""Access lines of servers and proxies that asked for a health endpoint: nginx, uvicorn, Envoy, HAProxy and AWS load balancers.

A proxy's own word goes into the evidence behind the status, as `envoy UT` or `haproxy sH--`: rules/probes.toml says what it means.
Formats: Envoy's default access log and Istio's, HAProxy's `option httplog`, the access log files of an Application Load Balancer.
"""

from __future__ import annotations

import re

from triage.model import Seconds
from triage.parsers.probe.keys import evidence
from triage.parsers.probe.records import Answer

_METHOD = "(?:GET|HEAD|POST|OPTIONS)"
_ACCESS = re.compile(rf'"{_METHOD} (?P<path>[^\s"]+)(?: HTTP/[\d.]+)?" (?P<status>\d{{3}})\b')
_ENVOY = re.compile(
    rf'"{_METHOD} (?P<path>[^\s"]+) HTTP/[\d.]+" (?P<status>\d{{1,3}}) (?P<flags>-|[A-Z]{{2,6}}(?:,[A-Z]{{2,6}})*) '
    r'(?P<details>(?:[^\s"]\S* |"[^"]*" ){0,4}?)\d+ \d+ (?P<ms>\d{1,9}) '
)
_HAPROXY = re.compile(
    r"(?P<target>[\w.:-]{1,100}/[\w.:<>-]{1,100}) (?:-?\d{1,9}/){4}\+?(?P<ms>\d{1,9}) (?P<status>-1|\d{3}) \+?\d+ \S+ \S+ "
    rf'(?P<flags>[A-Za-z-]{{4}}) \S+ \S+ (?:\{{[^}}]{{0,500}}\}} )*"{_METHOD} (?P<path>[^\s"]+)'
)
_LOAD_BALANCER = re.compile(
    r"(?P<target>-|\[?[\w.:]{1,60}\]?:\d{1,5}) (?P<times>(?:-1|\d{1,6}(?:\.\d{1,6})?)(?: (?:-1|\d{1,6}(?:\.\d{1,6})?)){2}) "
    rf'(?P<status>\d{{3}}) (?:\d{{3}}|-) \d+ \d+ "{_METHOD} (?P<path>[^\s"]+)'
)
_HEALTH = re.compile(
    r"(?i)/(?:health\w*|ping|live(?:z|ness)?|ready(?:z)?|readiness|startup|v1/models|models|version|load|metrics|get_\w*info|server_info)/?(?:[?#]|$)"
)


def access(text: str) -> Answer | None:
    """What an access line of a health check says, None for a line of any other kind or about traffic (see `is_health_request`)."""
    for pattern, reads in ((_ENVOY, _envoy), (_HAPROXY, _haproxy), (_LOAD_BALANCER, _load_balancer), (_ACCESS, _plain)):
        found = pattern.search(text)
        if found:
            return reads(found) if _HEALTH.search(found["path"]) else None
    return None


def is_health_request(text: str) -> bool | None:
    """Whether an access line is about a health endpoint; None for a line of any other kind."""
    found = next((found for pattern in (_ENVOY, _HAPROXY, _LOAD_BALANCER, _ACCESS) if (found := pattern.search(text))), None)
    return None if found is None else bool(_HEALTH.search(found["path"]))


def _plain(found: re.Match[str]) -> Answer:
    return Answer(evidence=evidence(int(found["status"]), None), at_end=True)


def _envoy(found: re.Match[str]) -> Answer:
    """Envoy dates the start of a request and gives its length in milliseconds; a status of 0 is a client that went away."""
    flags, details = found["flags"].strip("-"), found["details"].replace('"', "").strip("- ")
    said = f"envoy {flags} {details}".strip() if flags else ""
    return Answer(evidence=evidence(int(found["status"]), None, said), duration=_millis(found["ms"]))


def _haproxy(found: re.Match[str]) -> Answer:
    """HAProxy dates the moment at which it accepted a request; the last of its timers is the request's length in milliseconds."""
    flags = found["flags"]
    said = "" if flags.startswith("--") else f"haproxy {flags}"
    return Answer(evidence=evidence(max(0, int(found["status"])), None, said), duration=_millis(found["ms"]), target=found["target"])


def _load_balancer(found: re.Match[str]) -> Answer:
    """An Application Load Balancer dates the end of a request; of its three times, in seconds, -1 means that it did not come so far."""
    took = sum(seconds for each in found["times"].split() if (seconds := float(each)) > 0)
    return Answer(evidence=evidence(int(found["status"]), None), duration=took or None, target=found["target"].strip("-"), at_end=True)


def _millis(text: str) -> Seconds:
    return int(text) / 1000
