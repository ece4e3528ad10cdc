"""Servers on the loopback that hold what a test gives them: an S3-compatible store, and a web server that can be told to misbehave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LAST_MODIFIED = "Sat, 28 Nov 2026 23:59:00 GMT"


class Web:
    """Files of a web server by path, how it answers, and what it was asked: (path, Range)."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.types: dict[str, str] = {}
        self.redirects: dict[str, str] = {}
        self.statuses: list[int] = []  # answers to the next requests, before any file is given
        self.cut_after: list[int] = []  # bytes after which the next connections break
        self.ranges = True
        self.tags = True
        self.times = True
        self.lengths = True
        self.asked: list[tuple[str, str]] = []
        self.logins: list[str] = []
        self.gate: threading.Event | None = None  # answers that begin behind byte 0 wait for it
        self.waiting = threading.Event()
        self.url = ""

    def tag(self, path: str) -> str:
        return f'"{hash(self.files[path]) & 0xFFFFFFFF:x}"'


def _handler(web: Web) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range", "")
            web.asked.append((self.path, asked))
            web.logins.append(self.headers.get("Authorization", ""))
            path = self.path.partition("?")[0]
            if web.statuses:
                self._say(web.statuses.pop(0))
            elif path in web.redirects:
                self._say(302, {"Location": web.redirects[path]})
            elif path not in web.files:
                self._say(404)
            elif web.tags and self.headers.get("If-Match", web.tag(path)) != web.tag(path):
                self._say(412)
            else:
                self._give(path, asked)

        def _say(self, status: int, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in ({"Content-Length": "0"} | (headers or {})).items():
                self.send_header(name, value)
            self.end_headers()

        def _give(self, path: str, asked: str) -> None:
            whole = web.files[path]
            begin, _, end = asked.removeprefix("bytes=").partition("-") if web.ranges else ("", "", "")
            start, stop = int(begin or 0), min(int(end) + 1 if end else len(whole), len(whole))
            if begin and start >= len(whole):
                self._say(416, {"Content-Range": f"bytes */{len(whole)}"})
                return
            if web.gate is not None and start:
                web.waiting.set()
                web.gate.wait(60)
            self.send_response(206 if begin else 200)
            headers = {"Content-Type": web.types.get(path, "text/plain")}
            headers |= {"Content-Range": f"bytes {start}-{stop - 1}/{len(whole)}"} if begin else {}
            headers |= {"Content-Length": str(stop - start)} if web.lengths else {}
            headers |= {"ETag": web.tag(path)} if web.tags else {}
            headers |= {"Last-Modified": LAST_MODIFIED} if web.times else {}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            body = memoryview(whole)[start:stop]
            cut = web.cut_after.pop(0) if web.cut_after and (start or not begin) else len(body)
            with suppress(OSError):  # who has seen enough leaves
                self.wfile.write(body[:cut])
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def web_server() -> Iterator[Web]:
    """A web server with nothing on it yet."""
    web = Web()
    running = ThreadingHTTPServer(("127.0.0.1", 0), _handler(web))
    running.daemon_threads = True
    running.block_on_close = False
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
    web.url = f"http://127.0.0.1:{running.server_port}"
    yield web
    running.shutdown()
    running.server_close()
