"""Logs in an object store: an S3-compatible server on the loopback, and fsspec's store in memory."""

from __future__ import annotations

import hashlib
import logging
import os
import random
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from triage.model import Problem
from triage.sources.find import find
from triage.sources.opening import Stream, written_at
from triage.sources.remote import reading, stores
from triage.sources.remote.objects import RemoteError

boto3 = pytest.importorskip("boto3")
pytest.importorskip("s3fs")
moto_server = pytest.importorskip("moto.server")

LOGS = Path(__file__).parents[3] / "fixtures" / "outage-weeks" / "logs"
BIG = random.Random(7).randbytes(1 << 16) * 160  # 10 MB
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("keys")]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def keys(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"ENDPOINT_URL": endpoint, "ACCESS_KEY_ID": "AKIA5ECRETKEYID00000", "SECRET_ACCESS_KEY": "s3cr3t", "DEFAULT_REGION": "us-east-1"}
    for name, value in given.items():
        monkeypatch.setenv(f"AWS_{name}", value)


@pytest.fixture
def bucket(endpoint: str, keys: None, request: pytest.FixtureRequest) -> Iterator[Any]:
    """An empty bucket; what a driver remembers of listings is gone."""
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    made = boto3.resource("s3").create_bucket(Bucket=re.sub(r"\W+", "-", request.node.name.replace("_", "-")).strip("-")[:60])
    yield made


def put(bucket: Any, key: str, data: bytes) -> str:
    bucket.put_object(Key=key, Body=data)
    return f"s3://{bucket.name}/{key}"


def read(url: str) -> tuple[bytes, list[Problem]]:
    problems: list[Problem] = []
    view = memoryview(bytearray(len(BIG) + 100))
    with Stream(url, problems) as stream:
        return bytes(view[: stream.fill(view)]), problems


def test_a_prefix_is_read_like_the_folder_it_was_copied_from(bucket: Any) -> None:
    for file in sorted(path for path in LOGS.rglob("*") if path.is_file()):
        put(bucket, f"prod/{file.relative_to(LOGS).as_posix()}", file.read_bytes())
    put(bucket, "prod/.hidden", b"x")
    put(bucket, "prod-2/vllm.log", b"x")
    local, _ = find([str(LOGS)])
    for given in (f"s3://{bucket.name}/prod/", f"s3://{bucket.name}/prod"):
        found, problems = find([given])
        assert problems == []
        assert [(s.name, [f.removeprefix(f"s3://{bucket.name}/prod/") for f in s.files]) for s in found] == [
            (s.name, [os.path.relpath(f, LOGS) for f in s.files]) for s in local
        ]
    found, _ = find([f"s3://{bucket.name}/prod/vllm.log*"])
    assert [len(s.files) for s in found] == [10]


def test_a_big_object_comes_whole_and_memory_stays_flat(bucket: Any) -> None:
    url = put(bucket, "big.log", BIG * 4)
    find([url])
    seen, kept = hashlib.sha256(), 0
    view = memoryview(bytearray(1 << 20))
    tracemalloc.start()
    with Stream(url, []) as stream:
        while got := stream.readinto(view):
            seen.update(view[:got])
            kept = max(kept, held_by("triage", "s3fs", "fsspec", "aiobotocore", "aiohttp"))
    tracemalloc.stop()
    assert seen.hexdigest() == hashlib.sha256(BIG * 4).hexdigest()
    assert kept < 32 << 20


def held_by(*packages: str) -> int:
    """Bytes that these packages hold now: the server of the test lives in the same process."""
    wanted = [tracemalloc.Filter(True, f"*/{package}/*") for package in packages]
    return sum(each.size for each in tracemalloc.take_snapshot().filter_traces(wanted).statistics("filename"))


def test_an_object_that_is_replaced_while_it_is_read_is_a_problem(bucket: Any) -> None:
    url = put(bucket, "a.log", BIG)
    problems: list[Problem] = []
    with Stream(url, problems) as stream:
        assert stream.readinto(memoryview(bytearray(100))) == 100 - 92  # what told the format
        put(bucket, "a.log", BIG[::-1])
        rest = stream.fill(memoryview(bytearray(len(BIG))))
    assert rest + 8 == 1 << 16
    (problem,) = problems
    assert "another object lies there now" in problem.what


def test_an_object_that_is_removed_while_it_is_read_is_a_problem(bucket: Any) -> None:
    url = put(bucket, "a.log", BIG)
    find([url])
    bucket.Object("a.log").delete()
    _, (problem,) = read(url)
    assert problem.what.endswith("there is no such object")


def test_a_block_that_does_not_come_is_asked_for_by_halves_from_the_same_byte(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from s3fs.core import S3File

    url = put(bucket, "a.log", BIG)
    fetch, asked = S3File._fetch_range, []

    def cut(self: Any, start: int, end: int) -> Any:
        asked.append((start, end - start))
        if end - start > 1 << 20:
            raise ConnectionResetError("cut")
        return fetch(self, start, end)

    monkeypatch.setattr(S3File, "_fetch_range", cut)
    assert read(url) == (BIG, [])
    assert asked[:4] == [(0, 1 << 16), (1 << 16, 1 << 22), (1 << 16, 1 << 21), (1 << 16, 1 << 20)]
    assert asked[4][0] == (1 << 16) + (1 << 20)


def test_a_block_that_comes_short_is_gone_on_from_where_it_ended(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from s3fs.core import S3File

    url = put(bucket, "a.log", BIG)
    fetch = S3File._fetch_range
    monkeypatch.setattr(S3File, "_fetch_range", lambda self, start, end: fetch(self, start, min(end, start + 300_000)))
    assert read(url) == (BIG, [])


def test_the_time_of_an_object_is_when_it_was_put_there(bucket: Any) -> None:
    url = put(bucket, "a.log", b"x")
    assert written_at(url) == bucket.Object("a.log").last_modified.timestamp()


@pytest.mark.parametrize("path", ["none.log", "none/", "none*"])
def test_what_is_not_there(bucket: Any, path: str) -> None:
    put(bucket, "a.log", b"x")
    _, (problem,) = find([f"s3://{bucket.name}/{path}"])
    assert problem == Problem(f"s3://{bucket.name}/{path}", "there is no such object", lost=True)


def test_a_bucket_that_nobody_made(endpoint: str) -> None:
    _, (problem,) = find(["s3://no-such-bucket-here/a.log"])
    assert problem.what == "there is no such object"


def test_without_keys_that_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    _, (problem,) = find(["s3://any/a.log"])
    assert problem.what.startswith("no keys for s3:// were found")
    s3fs.S3FileSystem.clear_instance_cache()


def test_an_endpoint_that_nobody_listens_on(monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    monkeypatch.setattr(reading, "TRIES", 2)
    _, (problem,) = find(["s3://any/a.log"])
    assert problem.what.startswith("the connection broke")
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PermissionError("Access Denied"), "access is refused"),
        (OSError(5, "for AKIA5ECRETKEYID00000 at https://me:pw@host/x?X-Amz-Signature=abc"), "AKIA|me:pw|abc"),
    ],
)
def test_no_key_and_no_address_is_in_what_is_told(error: Exception, told: str) -> None:
    said = stores.worded(error, "s3://b/k")
    assert isinstance(said, RemoteError)
    if "|" in told:
        assert not re.search(told, str(said))
    else:
        assert told in str(said)


def test_what_fsspec_reads_is_read(tmp_path: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").pipe({"/logs/vllm.log": BIG, "/logs/vllm.log.1": b"older\n"})
    (source,), _ = find(["memory://logs"])
    assert source.files == ("memory://logs/vllm.log.1", "memory://logs/vllm.log")
    assert read(source.files[1]) == (BIG, [])
    (tmp_path / "a.log").write_bytes(BIG)
    assert read(f"file://{tmp_path}/a.log") == (BIG, [])


@pytest.mark.parametrize(("url", "told"), [("nosuch://x/y", "nothing installed reads nosuch://"), ("node://gpu-7/var/log", "give --backend ray")])
def test_an_address_that_nothing_reads(url: str, told: str) -> None:
    _, (problem,) = find([url])
    assert told in problem.what


def test_without_the_extra_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "fsspec", None)
    _, (problem,) = find(["s3://b/a.log"])
    assert problem == Problem("s3://b/a.log", "s3:// needs fsspec: pip install 'crash-triage[remote]'", lost=True)
