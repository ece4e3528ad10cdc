"""Logs over HTTP, by the standard library: ranges with If-Match, pages of links as folders, and no password that leaves for another host."""

from __future__ import annotations

import base64
import fnmatch
import http.client
import socket
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from typing import IO

from triage.model import Seconds
from triage.sources.remote.links import LARGEST_PAGE, links_in
from triage.sources.remote.objects import ChangedError, CutError, MissingError, RemoteError
from triage.sources.remote.reading import first_block, whole
from triage.sources.urls import without_secrets

PATIENCE: Seconds = 20.0  # for a connection, and for each next byte
CHUNK = 1 << 20
PIECE = 1 << 18  # bytes that are asked of a connection at once
MOST_PAGES = 10_000
DEEPEST = 8  # folders below the one that was named
BUSY = (408, 425, 429, 500, 502, 503, 504)
_BROKEN = (OSError, http.client.HTTPException)


class Page:
    """One answer of a web server. What it is (size, ETag, time) is what the first connection said, and each further one must say the same."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.size: int | None = None
        self.written: Seconds | None = None
        self.is_html = False
        self.is_moved = False  # to the same address with a `/` at its end, as servers answer for a folder
        self._said: tuple[str, str] | None = None  # ETag and Last-Modified

    def chunks(self, start: int, stop: int | None = None) -> Iterator[bytes]:
        """See `objects.Object`. A server that cannot begin at a byte is read from the beginning, and what is known is passed over."""
        if start and start == self.size:
            return
        response = _response(self.url, self._wanted(start, stop))
        if response is None:  # nothing lies at or behind `start`
            self.size = start if self.size is None else self.size
            return
        with response:
            at = self._check(response, start)
            for chunk in _chunks(response):
                fresh = chunk[max(0, start - at) : len(chunk) if stop is None else max(0, stop - at)]
                at += len(chunk)
                if fresh:
                    yield fresh
                if stop is not None and at >= stop:
                    return
            if self.size is None:
                self.size = at

    def _wanted(self, start: int, stop: int | None) -> dict[str, str]:
        asked = {"Range": f"bytes={start}-{'' if stop is None else stop - 1}"} if start or stop is not None else {}
        tag, time = self._said or ("", "")
        if tag and not tag.startswith("W/"):
            return asked | {"If-Match": tag}
        return asked | ({"If-Unmodified-Since": time} if time else {})

    def _check(self, response: http.client.HTTPResponse, start: int) -> int:
        """The offset at which an answer begins. Raises ChangedError where it is of another object than the one before."""
        said = (response.headers.get("ETag", ""), response.headers.get("Last-Modified", ""))
        begin, size = _extent(response)
        if self._said is None:
            self._said, self.size, self.written = said, size, _written(said[1])
            self.is_html = response.headers.get_content_type() == "text/html"
            self.is_moved = urllib.parse.urlsplit(response.url).path == f"{urllib.parse.urlsplit(self.url).path}/"
        elif said != self._said or size != self.size:
            raise ChangedError
        elif begin < start and not any(said):
            raise RemoteError(f"cannot be read any further than {start:,} bytes: the server neither goes on at a byte nor says what it sends")
        if begin > start:
            raise RemoteError("the server sends other bytes than it was asked for")
        return begin


def find_pages(url: str) -> Sequence[Page]:
    """The pages that an address leads to: itself, or where it is a folder's page of links (it ends in `/`) all below it; `*` in the last part.

    Raises RemoteError.
    """
    folder, _, last = urllib.parse.urlsplit(url).path.rpartition("/")
    if "*" in last and not urllib.parse.urlsplit(url).query:
        parent = urllib.parse.urlunsplit(urllib.parse.urlsplit(url)._replace(path=f"{folder}/"))
        named = [each for each in links_in(_text(Page(parent)), parent) if fnmatch.fnmatchcase(each.rpartition("/")[2], last)]
        pages = [Page(each) for each in named if not each.endswith("/")]
        if not pages:
            raise MissingError("no link on the folder's page has such a name")
        return pages
    page = Page(url)
    first_block(page)
    if page.is_html and page.is_moved:
        return find_pages(urllib.parse.urlunsplit(urllib.parse.urlsplit(url)._replace(path=f"{folder}/{last}/")))
    return _below(page) if page.is_html and not last else [page]


def _below(page: Page) -> list[Page]:
    """The pages of a folder and of those below it, in order."""
    found: list[Page] = []
    folders, seen = [(page, 0)], {page.url}
    while folders:
        folder, depth = folders.pop()
        links = [link for link in links_in(_text(folder), folder.url) if link not in seen]
        seen.update(links)
        found += [Page(link) for link in links if not link.endswith("/")]
        if depth < DEEPEST:
            folders += [(Page(link), depth + 1) for link in reversed(links) if link.endswith("/")]
        if len(found) > MOST_PAGES:
            raise RemoteError(f"more than {MOST_PAGES:,} links: name a folder further down")
    return found


def _text(page: Page) -> str:
    return b"".join(whole(page, 0, LARGEST_PAGE)).decode(errors="replace")


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The bytes of an answer in chunks; all that came before the connection broke is given before that is said."""
    chunk = bytearray()
    broken: CutError | None = None
    try:
        while got := response.read1(PIECE):
            chunk += got
            if len(chunk) >= CHUNK:
                yield bytes(chunk)
                chunk.clear()
    except _BROKEN as error:
        broken = _cut(error)
    if chunk:
        yield bytes(chunk)
    if broken:
        raise broken


def _response(url: str, headers: dict[str, str]) -> http.client.HTTPResponse | None:
    """The answer to a request; None where the range that was asked for is empty. Raises RemoteError, CutError."""
    bare, login = _login(url)
    try:
        request = urllib.request.Request(bare, headers={"User-Agent": "triage", "Accept-Encoding": "identity", **headers})
        if login:
            request.add_unredirected_header("Authorization", login)
        answer: http.client.HTTPResponse = _OPENER.open(request, timeout=PATIENCE)
        return answer
    except urllib.error.HTTPError as error:
        with error:
            _refused(error, ranged="Range" in headers)
            return None
    except (urllib.error.URLError, *_BROKEN) as error:
        raise _cut(error) from error
    except ValueError as error:
        raise RemoteError("is no address that can be asked") from error


def _refused(error: urllib.error.HTTPError, *, ranged: bool) -> None:
    """What a status that is no success means; nothing where only the range is empty."""
    said = f"the server answers {error.code} {error.reason or ''}".strip()
    if error.code == 416 and ranged:
        return
    if error.code == 412:
        raise ChangedError
    if error.code in BUSY:
        raise CutError(said)
    if error.code in (404, 410):
        raise MissingError(said)
    raise RemoteError(f"{said}: access is refused" if error.code in (401, 403) else said)


def _cut(error: Exception) -> CutError:
    """An error of the connection in words. Raises RemoteError for one that another try does not change."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, RemoteError):
        raise reason
    if isinstance(reason, ssl.SSLCertVerificationError):
        raise RemoteError(f"the server's certificate is not trusted: {reason.verify_message}") from error
    if isinstance(reason, socket.gaierror) and reason.errno != socket.EAI_AGAIN:
        raise RemoteError("no host has that name") from error
    if isinstance(reason, TimeoutError):
        return CutError(f"no answer within {PATIENCE:.0f} s")
    if isinstance(reason, http.client.IncompleteRead):
        return CutError("the connection ended early")
    said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return CutError(without_secrets(said[:160]))


def _extent(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """Where an answer begins in its object, and the size of that object."""
    length = response.headers.get("Content-Length", "")
    if response.status != 206:
        return 0, int(length) if length.isdecimal() else None
    unit, _, rest = response.headers.get("Content-Range", "").partition(" ")
    extent, _, total = rest.partition("/")
    begin = extent.partition("-")[0]
    if unit != "bytes" or not begin.isdecimal():
        raise RemoteError("the server does not say which bytes it sends")
    return int(begin), int(total) if total.isdecimal() else None


def _written(stamp: str) -> Seconds | None:
    try:
        return parsedate_to_datetime(stamp).timestamp() if stamp else None
    except ValueError:
        return None


def _login(url: str) -> tuple[str, str]:
    """An address without name and password, and the header that stands for them."""
    parts = urllib.parse.urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return urllib.parse.urlunsplit(parts._replace(fragment="")), ""
    given = urllib.parse.unquote(user).encode()
    return urllib.parse.urlunsplit(parts._replace(netloc=host, fragment="")), f"Basic {base64.b64encode(given).decode()}"


class _WithinHTTP(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to HTTP, and never from https back to http."""

    max_redirections = 5

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).scheme not in (req.type, "https"):
            fp.close()
            raise RemoteError("it redirects to what is no HTTP, or to HTTP without TLS, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_WithinHTTP())
