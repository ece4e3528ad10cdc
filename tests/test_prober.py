"""One probe against servers that answer, refuse, hang, break off or fail; its line is read back by the probe parser."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from triage.cli.main import main
from triage.parsers import probe as parser
from triage.prober import probe

Reply = Callable[[BaseHTTPRequestHandler], None]


def answer(status: int, body: bytes = b"") -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


@contextmanager
def engine(**replies: Reply) -> Iterator[str]:
    """A server on 127.0.0.1: `health`, `models`, `completions` name what each path does."""
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            replies.get(self.path.rpartition("/")[2], answer(404))(self)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.hang = stop  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        stop.set()
        server.shutdown()
        thread.join()
        server.server_close()


def hang(handler: BaseHTTPRequestHandler) -> None:
    handler.server.hang.wait(20)  # type: ignore[attr-defined]


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Headers that come a byte at a time, so that no single read takes long."""
    for byte in b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20:
        handler.wfile.write(bytes([byte]))
        if handler.server.hang.wait(0.05):  # type: ignore[attr-defined]
            return


def half(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b"half")


def break_off(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def symbol(line: str) -> str:
    log = parser.parse([parser.Row(line)])
    assert not log.unknown
    (read,) = log.probes
    return read.symbol


MODELS = answer(200, json.dumps({"data": [{"id": "larch"}]}).encode())


def locked(handler: BaseHTTPRequestHandler) -> None:
    """Answers only who brings the key."""
    answer(200 if handler.headers["Authorization"] == "Bearer k3y" else 401)(handler)


def test_a_key_is_sent_and_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_PROBE_API_KEY", "k3y")
    with engine(health=answer(200), completions=locked) as url:
        line = CliRunner().invoke(main, ["probe", url, "--generate", "--model", "m"]).stdout
        without = CliRunner().invoke(main, ["probe", url, "--generate", "--model", "m", "--api-key", ""]).stdout
    assert json.loads(line)["ok"] and "k3y" not in line
    assert json.loads(without)["status"] == 401


@pytest.mark.parametrize(
    ("replies", "generate", "status", "kind", "expected"),
    [
        ({"health": answer(200)}, False, 200, "", "."),
        ({"health": answer(503)}, False, 503, "http", "r"),
        ({"health": answer(500)}, False, 500, "http", "e"),
        ({"health": answer(504)}, False, 504, "http", "t"),
        ({"health": hang}, False, 0, "timeout", "t"),
        ({"health": break_off}, False, 0, "empty", "r"),
        ({"health": answer(200), "models": MODELS, "completions": answer(200, b"{}")}, True, 200, "", "."),
        ({"health": answer(200), "models": MODELS, "completions": hang}, True, 0, "timeout", "t"),
        ({"health": answer(200), "models": MODELS, "completions": answer(500)}, True, 500, "http", "e"),
        ({"health": answer(302)}, False, 302, "http", "."),
        ({"health": drip}, False, 0, "timeout", "t"),
        ({"health": half}, False, 200, "reset", "r"),
        ({"health": answer(200), "models": MODELS, "completions": answer(429)}, True, 429, "http", "s"),
    ],
    ids=["well", "dead engine", "failed", "gateway gave up", "silent", "broken off", "a token", "hang with good health", "failed token", "moved",
         "drips", "half an answer", "busy"],
)
def test_what_the_engine_does_is_what_the_line_says(replies: dict[str, Reply], generate: bool, status: int, kind: str, expected: str) -> None:
    with engine(**replies) as url:
        attempt = probe(url, generate=generate, timeout=0.5)
    assert (attempt.status, attempt.kind) == (status, kind)
    assert attempt.end >= attempt.start
    if expected != "." or attempt.ok:
        assert symbol(attempt.line()) == expected


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        attempt = probe(f"http://127.0.0.1:{free.getsockname()[1]}", timeout=2)
    assert attempt.kind == "refused"
    assert symbol(attempt.line()) == "r"


def test_a_name_that_nobody_knows_is_no_outage_of_the_engine() -> None:
    attempt = probe("http://no-such-host.invalid:8000", timeout=2)
    assert attempt.kind in ("dns", "timeout", "unreachable")
    assert symbol(attempt.line()) in "?tf"


def test_the_line_is_dated_at_both_ends_and_keeps_no_password() -> None:
    with engine(health=answer(200)) as url:
        line = probe(url.replace("http://", "http://user:secret@"), timeout=2, clock=iter([1_794_540_000.0, 1_794_540_000.25]).__next__).line()
    assert "secret" not in line
    (read,) = parser.parse([parser.Row(line)]).probes
    assert (read.at.earliest, read.at.latest) == (1_794_540_000.0, 1_794_540_000.25)
    assert read.target == url


def test_lines_appended_by_cron_are_known_as_a_probe_log(tmp_path: Path) -> None:
    lines = []
    for minute, kind in enumerate(["", "", "refused", "refused", ""]):
        with engine(health=answer(200)) as url:
            attempt = probe(url if not kind else "http://127.0.0.1:1", timeout=1, clock=lambda at=1_794_540_000.0 + 60 * minute: at)
        lines.append(attempt.line().replace(attempt.target, "http://gpu-a:8000"))
    log = tmp_path / "probe.jsonl"
    log.write_text("\n".join(lines) + "\n")
    result = CliRunner().invoke(main, ["outages", str(log), "--format", "json"])
    assert [(o["symbols"], o["target"]) for o in json.loads(result.stdout)] == [("rr", "http://gpu-a:8000")]


def test_engines_below_one_proxy_are_two_targets() -> None:
    with engine(health=answer(200), models=MODELS, completions=answer(200, b"{}")) as url:
        attempts = [probe(f"{url}/{name}/health", generate=True, timeout=2) for name in "ab"]
    assert [(a.ok, a.target) for a in attempts] == [(True, f"{url}/a"), (True, f"{url}/b")]


@pytest.mark.parametrize(
    "url", ["gpu-a:8000", "file:///etc/passwd", "http://", "http://gpu-a:port", "http://gpu-a:99999", "http://gpu-a:0", "http://gpu a", "http://[::1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    assert CliRunner().invoke(main, ["probe", url]).exit_code == 2
