"""Asks an engine whether it answers: one request to /health and, where wanted, one token; what came of it is one JSON line.

vLLM answers /health with 200 while its GPUs hang; only a completion shows that. SGLang's /health makes a token by itself.
A line, which the probe parser reads back::

    {"start":"2026-11-12T03:10:00.001Z","end":"2026-11-12T03:10:00.213Z","target":"http://gpu-a:8000","check":"generate","status":200,
     "ok":true,"duration":0.212}
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import msgspec
import orjson

from triage.model import Seconds

MOST_READ = 1 << 16
PROMPT = "ping"
GRACE: Seconds = 0.1  # for what a socket's own limit says, which is more
BUSY = (429, 529)  # alive: whether it is well is not for the line to say
ERRORS: tuple[tuple[type[BaseException], str, str], ...] = (
    (TimeoutError, "timeout", "timed out"),
    (http.client.RemoteDisconnected, "empty", "Empty reply from server"),  # a ConnectionResetError too, so it comes before that
    (ConnectionRefusedError, "refused", "Connection refused"),
    (ConnectionResetError, "reset", "Connection reset by peer"),
    (BrokenPipeError, "reset", "Broken pipe"),
    (http.client.HTTPException, "reset", "server closed connection without a whole answer"),
    (ssl.SSLError, "tls", "TLS failed"),
    (socket.gaierror, "dns", "name not known"),
    (OSError, "unreachable", "unreachable"),
)


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One probe: when it began and ended (seconds since the epoch), the HTTP status if any came, and what went wrong in words."""

    start: Seconds
    end: Seconds
    target: str
    check: str
    status: int = 0
    kind: str = ""
    error: str = ""

    @property
    def ok(self) -> bool:
        return not self.kind and 200 <= self.status < 300

    def line(self) -> str:
        """The attempt as one JSON line."""
        told: dict[str, Any] = {"start": _iso(self.start), "end": _iso(self.end), "target": self.target, "check": self.check}
        if self.status:
            told["status"] = self.status
        if self.status not in BUSY:
            told["ok"] = self.ok
        told["duration"] = round(self.end - self.start, 3)
        if self.kind:
            told |= {"error_kind": self.kind, "error": self.error}
        return orjson.dumps(told).decode()


def probe(
    url: str, *, generate: bool = False, model: str = "", key: str = "", timeout: Seconds = 10.0, clock: Callable[[], Seconds] = time.time
) -> Attempt:
    """Ask the engine at `url` (its root, or the address of its health check). `timeout` is for the whole attempt, in seconds.

    `key`: what the engine was started with as `--api-key`; it is sent and never written.

    Never raises for what the engine does. Raises ValueError where `url` is no http(s) address.
    """
    root, health = _addresses(url)
    start = clock()
    status, kind, error = _within(timeout, lambda until: _answered(partial(_asked, until=until, key=key), health, root, model, generate=generate))
    return Attempt(
        start=start, end=max(start, clock()), target=root, check="generate" if generate else "health", status=status, kind=kind, error=error,
    )  # fmt: skip


def _addresses(url: str) -> tuple[str, str]:
    """The root of the engine, which may lie below a path of a proxy, and its health check. Raises ValueError where `url` is no address."""
    parts = urlsplit(url)
    strange = any(character.isspace() or not character.isprintable() for character in url)
    if parts.scheme not in ("http", "https") or not parts.hostname or strange or parts.port == 0:
        raise ValueError(f"{url!r} is no address: write http://HOST:PORT")
    path = parts.path if parts.path not in ("", "/") else "/health"
    server = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"  # a password in the address belongs in no log
    return server + path.rpartition("/")[0], server + path + (f"?{parts.query}" if parts.query else "")


Answer = tuple[int, str, str]


def _within(timeout: Seconds, ask: Callable[[Seconds], Answer]) -> Answer:
    """What `ask` gives, or that the time is up: a socket's own limit is for each read and each address of a name, not for all of them."""
    told: list[Answer] = []
    until = time.monotonic() + timeout
    asking = threading.Thread(target=lambda: told.append(ask(until)), daemon=True)
    asking.start()
    asking.join(timeout + GRACE)
    return told[0] if told else (0, "timeout", "timed out")


def _answered(asked: Callable[..., Answer], health: str, root: str, model: str, *, generate: bool) -> Answer:
    answer = asked(health)
    return _generated(asked, root, model) if generate and answer[0] == 200 and not answer[1] else answer


def _generated(asked: Callable[..., Answer], root: str, model: str) -> Answer:
    if not model:
        body: list[bytes] = []
        answer = asked(f"{root}/v1/models", body=body)
        if answer[0] != 200 or answer[1]:
            return answer
        model = _first_model(b"".join(body))
    wanted = {"model": model, "prompt": PROMPT, "max_tokens": 1, "temperature": 0}
    return asked(f"{root}/v1/completions", orjson.dumps(wanted))


def _first_model(body: bytes) -> str:
    with contextlib.suppress(ValueError, LookupError, TypeError):
        return str(orjson.loads(body)["data"][0]["id"])
    return ""


def _asked(url: str, data: bytes | None = None, *, until: Seconds, key: str, body: list[bytes] | None = None) -> Answer:
    """Status, kind of error and its words for one request; redirects are not followed and no proxy is asked."""
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", "User-Agent": "triage-probe"})
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with _OPENER.open(request, timeout=max(0.001, until - time.monotonic())) as response:
            length = 0
            while (left := until - time.monotonic()) > 0 and (got := response.read1(MOST_READ)):
                if body is not None and sum(map(len, body)) < MOST_READ:
                    body.append(got)
                length += len(got)
            return response.status, *_ended(left, length, response.headers.get("Content-Length"))
    except urllib.error.HTTPError as error:
        with error:
            return error.code, "http", f"HTTP {error.code}"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return (0, *_in_words(error))


def _ended(left: Seconds, length: int, announced: str | None) -> tuple[str, str]:
    """What was wrong with an answer of `length` bytes: nothing, or that it took too long or was cut off."""
    if left <= 0:
        return "timeout", "timed out while reading the answer"
    if announced is not None and announced.isdecimal() and length < int(announced):
        return "reset", "server closed connection without a whole answer"
    return "", ""


def _in_words(error: Exception) -> tuple[str, str]:
    cause = error.reason if isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception) else error
    return next(((kind, words) for of, kind, words in ERRORS if isinstance(cause, of)), ("error", type(cause).__name__))


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: where the engine is not, nothing is to be asked."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay())


def _iso(at: Seconds) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
