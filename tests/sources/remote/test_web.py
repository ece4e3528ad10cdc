"""Logs over HTTP, from a server on the loopback that breaks connections, changes files, refuses, and moves."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from datetime import UTC, datetime

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.remote.servers import LAST_MODIFIED, Web, web_server
from triage.model import Problem
from triage.sources import remote
from triage.sources.find import find
from triage.sources.opening import Stream, head, written_at
from triage.sources.remote import web as web_module
from triage.sources.remote.links import links_in
from triage.sources.remote.objects import FIRST_BLOCK

LINE = b"INFO 11-20 05:51:%02d [loggers.py:127] Engine 000: Avg prompt throughput: 0.0 tokens/s\n"
LOG = b"".join(LINE % (number % 60) + b"x" * (number % 90) + b"\n" for number in range(9000))


def read(url: str) -> tuple[bytes, list[Problem]]:
    problems: list[Problem] = []
    view = memoryview(bytearray(1 << 22))
    with Stream(url, problems) as stream:
        return bytes(view[: stream.fill(view)]), problems


def test_a_file_is_read_whole(web: Web) -> None:
    web.files["/a.log"] = LOG
    assert read(f"{web.url}/a.log") == (LOG, [])


def test_a_small_file_costs_one_request_whatever_is_asked_of_it(web: Web) -> None:
    web.files["/a.log"] = LOG[:5000]
    (source,), problems = find([f"{web.url}/a.log"])
    assert problems == []
    assert head(source.files[0], 100) == LOG[:100]
    assert read(source.files[0]) == (LOG[:5000], [])
    assert web.asked == [("/a.log", f"bytes=0-{FIRST_BLOCK - 1}")]


def test_an_empty_file_is_empty(web: Web) -> None:
    web.files["/a.log"] = b""
    assert read(f"{web.url}/a.log") == (b"", [])


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_compressed_files_are_decompressed(web: Web, pack: object) -> None:
    web.files["/a"] = pack(LOG)  # type: ignore[operator]
    assert read(f"{web.url}/a") == (LOG, [])


@pytest.mark.parametrize(("ranges", "lengths"), [(True, True), (True, False), (False, True)])
def test_a_broken_connection_is_taken_up_at_the_byte_where_it_broke(web: Web, ranges: bool, lengths: bool) -> None:
    web.files["/a.log"], web.ranges, web.lengths = LOG, ranges, lengths
    web.cut_after = [100_000, 7, 0, 150_000]
    assert read(f"{web.url}/a.log") == (LOG, [])
    if ranges:
        begins = [int(asked[6:].partition("-")[0]) for _, asked in web.asked]
        assert begins == [0, FIRST_BLOCK, FIRST_BLOCK + 100_000, FIRST_BLOCK + 100_007, FIRST_BLOCK + 100_007, FIRST_BLOCK + 250_007]


@given(st.lists(st.integers(0, 200_000), max_size=12), st.booleans())
def test_wherever_connections_break_the_bytes_are_the_same(cuts: list[int], ranges: bool) -> None:
    with web_server() as web:
        web.files["/a.log"], web.ranges, web.cut_after = LOG, ranges, [cut or 1 for cut in cuts]
        if not ranges:
            web.cut_after = sorted(web.cut_after)  # each try gets further, else the server never gives the rest
        data, problems = read(f"{web.url}/a.log")
    assert data == LOG or (not ranges and problems)


def test_who_gives_nothing_five_times_is_given_up_and_what_came_is_kept(web: Web) -> None:
    web.files["/a.log"], web.cut_after = LOG, [1000] + [0] * 9
    data, (problem,) = read(f"{web.url}/a.log")
    assert data == LOG[: FIRST_BLOCK + 1000]
    assert problem.what == (
        f"cannot be read any further than {FIRST_BLOCK + 1000} bytes: the connection ended early at byte {FIRST_BLOCK + 1000:,}, 5 times in a row"
    )
    assert problem.lost


@pytest.mark.parametrize(("ranges", "tags"), [(True, True), (False, True), (True, False)])
def test_another_file_at_that_place_is_not_taken_for_the_rest(web: Web, ranges: bool, tags: bool) -> None:
    web.files["/a.log"], web.ranges, web.tags = LOG, ranges, tags
    url = f"{web.url}/a.log"
    find([url])
    web.files["/a.log"] = LOG[::-1] + b"more"
    data, (problem,) = read(url)
    assert data == LOG[:FIRST_BLOCK]
    assert "another object lies there now" in problem.what


def test_a_server_that_tells_nothing_of_a_file_is_no_base_to_go_on(web: Web) -> None:
    web.files["/a.log"], web.ranges, web.tags, web.times = LOG, False, False, False
    data, (problem,) = read(f"{web.url}/a.log")
    assert data == LOG[:FIRST_BLOCK]
    assert "neither goes on at a byte nor says what it sends" in problem.what


def test_a_busy_server_is_asked_again(web: Web) -> None:
    web.files["/a.log"], web.statuses = LOG, [503, 500, 429]
    assert read(f"{web.url}/a.log") == (LOG, [])


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (404, "the server answers 404 Not Found"),
        (403, "the server answers 403 Forbidden: access is refused"),
        (503, "the server answers 503 Service Unavailable, 5 times in a row"),
    ],
)
def test_what_a_server_refuses_is_told_in_its_words(web: Web, status: int, told: str) -> None:
    web.statuses = [status] * 5
    found, (problem,) = find([f"{web.url}/a.log"])
    assert (found, problem) == ([], Problem(f"{web.url}/a.log", told, lost=True))


def test_silence_is_told(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_module, "PATIENCE", 0.05)
    import threading

    web.files["/a.log"], web.gate = LOG, threading.Event()
    try:
        data, (problem,) = read(f"{web.url}/a.log")
    finally:
        web.gate.set()
    assert data == LOG[:FIRST_BLOCK]
    assert "no answer within 0 s at byte 65,536, 5 times in a row" in problem.what


def test_a_password_is_sent_and_never_told(web: Web) -> None:
    web.files["/a.log"], web.statuses = LOG[:100], [401]
    url = web.url.replace("://", "://me:hunter22@") + "/a.log?token=t0ps3cret"
    _, (problem,) = find([url])
    assert problem.file == f"{web.url}/a.log?token=***"
    (source,), _ = find([url])
    assert source.name == source.files[0] == f"{web.url}/a.log?token=***"
    assert read(source.files[0]) == (LOG[:100], [])
    assert set(web.logins) == {"Basic bWU6aHVudGVyMjI="}


def test_a_password_does_not_follow_to_another_place(web: Web) -> None:
    with web_server() as other:
        other.files["/b.log"] = LOG[:100]
        web.redirects["/a.log"] = f"{other.url}/b.log"
        assert read(web.url.replace("://", "://me:hunter22@") + "/a.log") == (LOG[:100], [])
        assert other.logins == [""]


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://127.0.0.1/a"])
def test_a_redirect_out_of_http_is_not_followed(web: Web, target: str) -> None:
    web.redirects["/a.log"] = target
    _, (problem,) = find([f"{web.url}/a.log"])
    assert problem.lost
    assert "not followed" in problem.what or "not allowed" in problem.what


def test_a_page_of_links_is_a_folder(web: Web) -> None:
    index = '<a href="../">..</a><a href="vllm.log">v</a><a href="vllm.log.1">v</a><a href=".hidden">h</a><a href="old/">o</a><a href="?C=M">s</a>'
    web.files |= {"/logs/": index.encode(), "/logs/old/": b'<a href="probe.log">p</a><a href="/logs/">up</a>'}
    web.types |= {"/logs/": "text/html", "/logs/old/": "text/html"}
    web.redirects["/logs"] = "/logs/"
    web.files |= {"/logs/vllm.log": LOG, "/logs/vllm.log.1": LOG, "/logs/old/probe.log": b"x"}
    for path in ("/logs/", "/logs"):
        sources, problems = find([web.url + path])
        assert problems == []
        assert [(s.name, s.files) for s in sources] == [
            ("vllm.log", (f"{web.url}/logs/vllm.log.1", f"{web.url}/logs/vllm.log")),
            ("old/probe.log", (f"{web.url}/logs/old/probe.log",)),
        ]
    sources, _ = find([f"{web.url}/logs/*.1"])
    assert [s.files for s in sources] == [(f"{web.url}/logs/vllm.log.1",)]
    _, (problem,) = find([f"{web.url}/logs/*.zip"])
    assert problem.what == "no link on the folder's page has such a name"


def test_links_that_lead_out_are_none() -> None:
    page = '<a href="http://evil/x.log">a</a><a href="//evil/y">b</a><a href="../z">c</a><a href="http://[">d</a><a href="a/b">e'
    page += '</a><A HREF="ok.log">f'
    assert links_in(page, "http://a/logs/") == ["http://a/logs/ok.log"]


def test_the_time_of_a_file_is_what_the_server_says(web: Web) -> None:
    web.files["/a.log"] = LOG
    find([f"{web.url}/a.log"])
    told = datetime.strptime(LAST_MODIFIED, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC).timestamp()
    assert written_at(f"{web.url}/a.log") == told
    web.times = False
    find([f"{web.url}/a.log"])
    with pytest.raises(remote.RemoteError):
        written_at(f"{web.url}/a.log")


def test_memory_does_not_grow_with_the_file(web: Web) -> None:
    web.files["/a.log"] = random.Random(1).randbytes(1 << 16) * 512  # 32 MB
    find([f"{web.url}/a.log"])
    view = memoryview(bytearray(1 << 20))
    tracemalloc.start()
    with Stream(f"{web.url}/a.log", []) as stream:
        while stream.readinto(view):
            pass
        assert stream.read == 1 << 25
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 << 20
