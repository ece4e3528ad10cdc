"""Dumps over HTTP, from a server on the loopback: whose they are, and what is said where none comes."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.made_dumps import as_json, job, torch_pickle
from triage.parsers.flight_recorder.reader import LARGEST
from triage.parsers.flight_recorder.remote import rank_of, read_urls, shown

MADE = job(4, stuck={0, 1, 3})
Answer = tuple[int, bytes, dict[str, str]]
ANSWERS: dict[str, Answer] = {
    **{f"/dumps/rank_{rank}.json": (200, as_json(made), {}) for rank, made in MADE.items()},
    "/dumps/rank_2.gz": (200, gzip.compress(torch_pickle(MADE[2])), {}),
    "/told": (200, json.dumps({"rank": 7} | json.loads(as_json(MADE[0]))).encode(), {}),
    "/huge_rank": (200, json.dumps({"rank": 10**9} | json.loads(as_json(MADE[0]))).encode(), {}),
    "/page_1": (200, b"<!doctype html><title>FlightRecorder</title>", {}),
    "/health_1": (200, b'{"status":"ok"}', {}),
    "/text_1": (200, b"hello", {}),
    "/empty_1": (200, b"", {}),
    "/cut_1": (200, as_json(MADE[1])[:100], {"Content-Length": "5000"}),
    "/moved_1": (302, b"", {"Location": "/dumps/rank_1.json"}),
    "/file_1": (302, b"", {"Location": "file:///etc/hostname"}),
    "/ftp_1": (302, b"", {"Location": "ftp://127.0.0.1/rank_1"}),
    "/circle_1": (302, b"", {"Location": "/circle_1"}),
    "/broken_1": (500, b"no recorder here\n", {}),
}


class Recorder(BaseHTTPRequestHandler):
    """Answers as written above; workers' handlers only to a POST, as torch's do."""

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if self.path == "/slow_1":
            time.sleep(1)
        if self.path == "/drip_1":
            self.wfile.write(b"HTTP/1.0 200 OK\r\n")
            for _ in range(20):
                self.wfile.write(b"X-Still: here\r\n")
                time.sleep(0.1)
        if self.path == "/large_1":
            self.answer(200, b" " * (LARGEST + 1), {})
            return
        self.answer(*ANSWERS.get(self.path, (404, b"<h1>none</h1>", {})))

    def do_POST(self) -> None:
        assert self.headers["Content-Length"] == "0"
        ok = self.path.startswith("/handler/fr_trace_json")
        self.answer(*((200, as_json(MADE[2]), {}) if ok else (404, b"Handler not found\n", {})))

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    running.daemon_threads = True
    running.block_on_close = False
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def why(url: str, patience: float = 5.0) -> str:
    """What is told of an address that gives no dump."""
    read = read_urls([url], patience=patience)
    assert not read.recordings
    (problem,) = read.unreadable
    assert problem.file == url
    assert problem.lost
    return problem.what


def test_each_address_is_a_rank_of_one_hang(server: str) -> None:
    read = read_urls([f"{server}/dumps/rank_{rank}.json" for rank in (3, 0, 1)] + [f"{server}/dumps/rank_2.gz"])
    assert read.ranks == (0, 1, 2, 3)
    assert read.recordings[2].file == f"{server}/dumps/rank_2.gz"
    assert (read.directory, read.unreadable) == (server, ())


def test_a_worker_is_asked_as_torch_asks_it(server: str) -> None:
    assert read_urls([f"{server}/handler/fr_trace_json?rank=2"]).ranks == (2,)
    assert why(f"{server}/handler/other?rank=2") == "the server answers 404 Not Found: Handler not found"


def test_a_document_may_say_whose_it_is(server: str) -> None:
    assert read_urls([f"{server}/told"]).ranks == (7,)
    assert "no rank in the address" in why(f"{server}/huge_rank")
    assert "no rank in the address" in why(f"{server}/handler/fr_trace_json")


def test_a_redirect_is_followed_within_http(server: str) -> None:
    assert read_urls([f"{server}/moved_1"]).ranks == (1,)
    assert "not followed" in why(f"{server}/ftp_1")
    assert "file:///etc/hostname" in why(f"{server}/file_1")
    assert "302" in why(f"{server}/circle_1")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("page_1", "a page and no dump"),
        ("health_1", "no flight-recorder dump"),
        ("text_1", "neither a pickle"),
        ("empty_1", "0 bytes"),
        ("cut_1", "ends after 100 of 5000 bytes"),
        ("broken_1", "the server answers 500 Internal Server Error: no recorder here"),
        ("none_1", "the server answers 404 Not Found"),
        ("large_1", "larger than 32 MiB"),
    ],
)
def test_what_is_no_dump_is_named_with_its_rank(server: str, path: str, told: str) -> None:
    assert why(f"{server}/{path}").startswith(told) or told in why(f"{server}/{path}")
    assert read_urls([f"{server}/{path}"]).lost == (1,)


@pytest.mark.parametrize("path", ["slow_1", "drip_1"])
def test_who_does_not_answer_in_time_holds_up_nobody(server: str, path: str) -> None:
    began = time.monotonic()
    read = read_urls([f"{server}/{path}", f"{server}/dumps/rank_0.json"], patience=0.3)
    assert time.monotonic() - began < 1.8
    assert (read.ranks, read.lost) == ((0,), (1,))
    assert "answer" in read.unreadable[0].what


def test_a_port_that_nobody_listens_on() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert why(f"http://127.0.0.1:{unused.getsockname()[1]}/rank_1") == "cannot be asked: Connection refused"


@pytest.mark.parametrize("url", ["http://", "http:///rank_1", "http://a b/rank_1", "http://127.0.0.1:99999/rank_1", "http://127.0.0.1:x/rank_1"])
def test_an_address_that_is_none(url: str) -> None:
    assert why(url).startswith("cannot be asked: ")


def test_a_rank_that_comes_twice_is_read_once(server: str) -> None:
    read = read_urls([f"{server}/dumps/rank_2.json", f"{server}/dumps/rank_2.gz"])
    assert (read.ranks, read.lost) == ((2,), ())
    assert read.unreadable[0].what == f"rank 2 was already read from {server}/dumps/rank_2.json"


def test_a_password_is_not_shown() -> None:
    assert shown("http://me:secret@gpu-1:8000/rank_1?x=1") == "http://gpu-1:8000/rank_1?x=1"


def test_a_regex_finds_the_rank_anywhere_in_the_address() -> None:
    assert rank_of("http://10.0.0.1:8005/handler/fr_trace_json", r":800(\d)") == 5
    assert rank_of("http://10.0.0.1:8005/rank_3", r"worker(\d+)") is None
