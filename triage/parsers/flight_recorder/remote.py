"""Dumps asked for over HTTP, one address a rank: all at once, each bounded in time and size, put into a folder and read as files are.

torch's worker servers (`torch.distributed.debug`, `WorkerServer.cpp`) answer a POST to `/handler/fr_trace_json`,
`/handler/dump_nccl_trace_json?onlyactive=true` or `/handler/dump_nccl_trace_pickle`; anything else is asked with GET. No server says
whose dump it is, unless the document has a key `rank`: the rank is the number that the address ends in.
"""

from __future__ import annotations

import http.client
import os
import queue
import re
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import IO, Annotated
from urllib.parse import parse_qs, urlsplit, urlunsplit

import msgspec

from triage.model import Problem, Seconds
from triage.parsers.flight_recorder.folder import Place, read_places
from triage.parsers.flight_recorder.machine import DumpError
from triage.parsers.flight_recorder.names import MOST_RANKS, rank_in, take_apart
from triage.parsers.flight_recorder.reader import LARGEST, regular_file, unpacked
from triage.parsers.flight_recorder.records import RankDumps

PATIENCE: Seconds = 30.0  # for one whole answer: a first dump with stacks takes a worker up to 15 s
AT_ONCE = 32
CHUNK = 1 << 16
SAID = 160  # bytes of an error's own words
HANDLER = "/handler/"
PAGE = "a page and no dump: torch's debug page shows all ranks, each rank's own server has the dump (http://HOST:PORT/handler/fr_trace_json)"


class _Rank(msgspec.Struct):
    """The one thing of a document that may say whose it is."""

    rank: Annotated[int, msgspec.Meta(ge=0, lt=MOST_RANKS)]


def read_urls(urls: Sequence[str], *, rank_from: str | None = None, world: int | None = None, patience: Seconds = PATIENCE) -> RankDumps:
    """The dumps at `urls` (http, https), which are of one hang; what does not come within `patience` seconds or is none is told in `unreadable`.

    Raises ValueError for an address that cannot be taken apart.
    """
    with tempfile.TemporaryDirectory(prefix="triage-dump-", ignore_cleanup_errors=True) as folder:
        places, lost, problems = _fetched(urls, folder, rank_from, patience)
        read = read_places(places, world) if places else RankDumps(directory="", world=world)
    return msgspec.structs.replace(
        read,
        directory=_whence(urls),
        prefix="",
        unreadable=(*problems, *read.unreadable),
        lost=tuple(sorted({*lost, *read.lost})),
    )


def _fetched(urls: Sequence[str], folder: str, rank_from: str | None, patience: Seconds) -> tuple[list[Place], set[int], list[Problem]]:
    """Where the dumps that came lie; the ranks of those that did not, as far as their address tells; and what was wrong."""
    errors = _answers(urls, folder, patience)
    places: dict[int, Place] = {}
    lost: set[int] = set()
    problems: list[Problem] = []
    for index, url in enumerate(urls):
        rank, path, error = rank_of(url, rank_from), _path(folder, index), errors.get(index, "no answer")
        if not error and rank is None:
            rank, error = _told_rank(path)
        if not error and rank in places:
            error = f"rank {rank} was already read from {places[rank].name}"
        if error or rank is None:
            problems.append(Problem(shown(url), error))
            lost |= set() if rank is None else {rank}
        else:
            places[rank] = Place(folder, "", rank, path, shown(url))
    return sorted(places.values()), lost - places.keys(), problems


def _whence(urls: Sequence[str]) -> str:
    servers = dict.fromkeys(urlunsplit(urlsplit(shown(url))._replace(path="", query="", fragment="")) for url in urls)
    return next(iter(servers)) + (f" and {len(servers) - 1} more" if len(servers) > 1 else "")


def rank_of(url: str, rank_from: str | None = None) -> int | None:
    """The rank in an address: by `rank_from` anywhere in it, a parameter `rank`, the number that its path ends in, or its host's name.

    >>> [rank_of(u) for u in ("http://a/dumps/rank_3.json", "http://a/handler/fr_trace_json?rank=5", "http://worker-7:8000/", "http://10.0.0.2/")]
    [3, 5, 7, None]
    """
    if rank_from:
        found = re.search(rank_from, url)
        return rank_in(found[1]) if found and found.re.groups else None
    parts = urlsplit(url)
    if (rank := rank_in(parse_qs(parts.query).get("rank", [""])[0])) is not None:
        return rank
    name = parts.path.rstrip("/").rpartition("/")[2]
    if (rank := take_apart(name).rank) is not None:
        return rank
    host = (parts.hostname or "").partition(".")[0]
    return take_apart(host).rank if re.match("[a-z]", host) else None


def shown(url: str) -> str:
    """An address without the name and password in it."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _path(folder: str, index: int) -> str:
    return os.path.join(folder, str(index))


def _told_rank(path: str) -> tuple[int | None, str]:
    """The rank that a document itself tells, or why it is not known."""
    try:
        return msgspec.json.decode(unpacked(regular_file(path)), type=_Rank).rank, ""
    except DumpError as error:
        return None, str(error)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None, "no rank in the address and none in the document: add ?rank=N, or let --rank-from REGEX find it in the address"


def _answers(urls: Sequence[str], folder: str, patience: Seconds) -> dict[int, str]:
    """For each address that was asked in time what went wrong, empty where nothing did. A server that never ends keeps nobody waiting."""
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
    for index in range(len(urls)):
        todo.put(index)

    def work() -> None:
        while True:
            try:
                index = todo.get_nowait()
            except queue.Empty:
                return
            done.put((index, _asked(urls[index], _path(folder, index), patience)))

    for _ in range(min(AT_ONCE, len(urls))):
        threading.Thread(target=work, daemon=True).start()
    until = time.monotonic() + (patience + 1) * -(-len(urls) // AT_ONCE)
    found: dict[int, str] = {}
    while len(found) < len(urls) and (left := until - time.monotonic()) > 0:
        try:
            index, error = done.get(timeout=left)
        except queue.Empty:
            break
        found[index] = error
    return found


def _asked(url: str, path: str, patience: Seconds) -> str:
    """Write the answer of one address to a file; what went wrong, or nothing."""
    until = time.monotonic() + patience
    late = f"no whole answer within {patience:.0f} s"
    try:
        data = b"" if HANDLER in urlsplit(url).path else None
        request = urllib.request.Request(url, data, {"User-Agent": "triage-dump", "Accept": "application/json, */*"})
        with _OPENER.open(request, timeout=patience) as response, open(path, "wb") as file:
            return _copied(response, file, until) or ("" if time.monotonic() < until else late)
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(SAID).decode(errors="replace").strip().partition("\n")[0]
            return f"the server answers {error.code} {error.reason or ''}".strip() + (f": {said}" if said and said[0] not in "<{" else "")
    except TimeoutError:
        return late
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        return late if isinstance(reason, TimeoutError) else f"cannot be asked: {getattr(reason, 'strerror', '') or reason or type(error).__name__}"


def _copied(response: http.client.HTTPResponse, file: IO[bytes], until: Seconds) -> str:
    size, declared = 0, response.headers.get("Content-Length", "")
    while time.monotonic() < until and (got := response.read1(CHUNK)):
        if not size and got.lstrip()[:1] == b"<":
            return PAGE
        size += len(got)
        if size > LARGEST:
            return f"larger than {LARGEST >> 20} MiB"
        file.write(got)
    cut = declared.isdecimal() and size < int(declared) and time.monotonic() < until
    return f"the answer ends after {size} of {declared} bytes" if cut else ""


class _SameScheme(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to the scheme that was asked for, or from http to https."""

    max_redirections = 3

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme not in (req.type, "https"):
            raise urllib.error.URLError(f"it redirects to {urlsplit(newurl).scheme or 'nowhere'}, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.OpenerDirector()
for _handler in (
    urllib.request.HTTPHandler(),
    urllib.request.HTTPSHandler(),
    urllib.request.HTTPDefaultErrorHandler(),
    urllib.request.HTTPErrorProcessor(),
    _SameScheme(),
):
    _OPENER.add_handler(_handler)
