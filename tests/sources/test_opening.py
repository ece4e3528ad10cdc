"""Files are opened by what stands in them, decompressed; a cut or broken one gives what could be decoded and a problem."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from triage.model import Problem
from triage.sources import decoding
from triage.sources.decoding import codec_of, decoded
from triage.sources.opening import Stream, fingerprint, head, identity, looks_binary, size_of
from triage.sources.paths import is_pipe, is_regular, path_of, real_path, shown

LOG = b"".join(b"2026-11-01T09:43:00.%09dZ (EngineCore pid=1) INFO line %d\n" % (i * 7919 % 10**9, i * 104729 % 10**6) for i in range(20000))

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "bzip2": bz2.compress,
}
formats = pytest.mark.parametrize("compress", COMPRESS.values(), ids=COMPRESS)


def read(path: Path, size: int = 1 << 16) -> tuple[bytes, list[Problem]]:
    problems: list[Problem] = []
    view = memoryview(bytearray(size))
    parts = []
    with Stream(str(path), problems) as stream:
        while got := stream.readinto(view):
            parts.append(bytes(view[:got]))
        assert stream.read == sum(map(len, parts))
    return b"".join(parts), problems


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@formats
def test_compressed_files_are_read_whatever_their_name(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    assert read(written(tmp_path / "engine.log", compress(LOG))) == (LOG, [])


@formats
def test_members_and_the_zeros_between_them(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    data = compress(LOG) + bytes(512) + compress(b"more\n") + bytes(100)
    assert read(written(tmp_path / "x", data)) == (LOG + b"more\n", [])


@formats
def test_a_cut_file_gives_what_there_is(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    compressed = compress(LOG)
    data, problems = read(written(tmp_path / "x", compressed[: len(compressed) * 2 // 3]))
    assert LOG.startswith(data)
    assert len(data) > len(LOG) // 3
    assert [(p.file, p.lost) for p in problems] == [(str(tmp_path / "x"), True)]
    assert problems[0].what.startswith("truncated ")
    assert problems[0].what.endswith(f" after {len(data)} bytes")


@formats
def test_a_broken_file_gives_what_there_is(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    compressed = bytearray(compress(LOG))
    middle = len(compressed) * 2 // 3
    compressed[middle : middle + 2000] = b"\xff\x00" * 1000
    data, problems = read(written(tmp_path / "x", bytes(compressed)))
    assert len(data) > len(LOG) // 3
    assert LOG.startswith(data[: len(LOG) // 3])
    assert [p.lost for p in problems] == [True]
    assert problems[0].what.startswith(("corrupt ", "truncated "))


@formats
def test_something_else_after_the_end_loses_nothing(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    data, problems = read(written(tmp_path / "x", compress(LOG) + b"something else"))
    assert data == LOG
    assert [p.lost for p in problems] == [False]


@formats
@pytest.mark.parametrize("size", [0, 1, 3, 6, 8, 11])
def test_files_of_a_few_bytes(compress: Callable[[bytes], bytes], size: int, tmp_path: Path) -> None:
    data, problems = read(written(tmp_path / "x", compress(b"")[:size]))
    assert data in (b"", compress(b"")[:size])  # too short to be told from text
    assert bool(problems) == (data == b"" and 0 < size < len(compress(b"")))


def test_gzip_without_isal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    assert read(written(tmp_path / "x", gzip.compress(LOG) + gzip.compress(b"more\n"))) == (LOG + b"more\n", [])
    _, problems = read(written(tmp_path / "y", gzip.compress(LOG)[:-100]))
    assert [p.what.split()[:2] for p in problems] == [["truncated", "gzip"]]


def test_a_format_without_its_decoder_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    data = COMPRESS["zstd"](LOG)
    assert read(written(tmp_path / "x", data)) == (b"", [Problem(str(tmp_path / "x"), "cannot be read: no decoder for zstd is installed")])


@formats
def test_a_bomb_costs_no_memory(compress: Callable[[bytes], bytes]) -> None:
    bomb = compress(bytes(1 << 26))
    codec = decoding.codec_of(bomb)
    assert codec is not None
    largest = max(len(out) for out in decoding.decoded(codec, iter([bomb]), lambda what, lost: None))
    assert largest <= 1 << 23


@given(st.binary(max_size=300), st.sampled_from(list(COMPRESS)), st.integers(0, 400), st.integers(1, 40))
def test_no_bytes_behind_a_magic_number_raise(noise: bytes, name: str, cut: int, step: int) -> None:
    data = COMPRESS[name](b"some text that is compressed\n" * 5)[:cut] + noise
    codec = decoding.codec_of(data)
    if codec is None:
        return
    problems: list[str] = []

    def chunks() -> Iterator[bytes]:
        yield from (data[i : i + step] for i in range(0, len(data), step))

    whole = b"".join(decoding.decoded(codec, chunks(), lambda what, lost: problems.append(what)))
    assert len(problems) <= 1
    assert problems or whole.startswith(b"some text") or not whole


def test_utf16_is_read_as_utf8(tmp_path: Path) -> None:
    text = "grüße 你好\n" * 40000
    assert read(written(tmp_path / "le", text.encode("utf-16"))) == (text.encode(), [])
    assert read(written(tmp_path / "be", b"\xfe\xff" + text.encode("utf-16-be"))) == (text.encode(), [])
    assert read(written(tmp_path / "gz", gzip.compress(text.encode("utf-16")))) == (text.encode(), [])
    assert read(written(tmp_path / "short", b"\xff\xfeA"))[0] == "\ufffd".encode()


def test_what_cannot_be_opened_is_a_problem(tmp_path: Path) -> None:
    assert read(tmp_path / "none") == (b"", [Problem(str(tmp_path / "none"), "cannot be opened: No such file or directory")])
    data, problems = read(tmp_path)
    assert data == b""
    assert [p.lost for p in problems] == [True]
    assert read(Path("a\0b"))[1][0].what == "cannot be opened: embedded null byte"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(LOG))))
    assert read(Path("-")) == (LOG, [])
    assert not sys.stdin.buffer.closed


def test_a_look_into_standard_input_takes_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG)))
    assert head("-", 100) == LOG[:100]
    assert head("-", 5000) == LOG[:5000]
    assert head("-", 10) == LOG[:10]
    assert read(Path("-")) == (LOG, [])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_look_into_a_pipe_takes_nothing_away(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(COMPRESS["zstd"](LOG),))
    writer.start()
    assert is_pipe(str(pipe))
    assert LOG.startswith(head(str(pipe), 2000))
    assert read(pipe) == (LOG, [])
    writer.join()


def test_head_identity_and_size_see_decompressed_content(tmp_path: Path) -> None:
    plain, packed = str(written(tmp_path / "a", LOG)), str(written(tmp_path / "b.gz", gzip.compress(LOG)))
    assert head(packed) == head(plain) == LOG[:65536]
    assert identity(packed) == identity(plain) == fingerprint(LOG)
    assert len(identity(plain)) == 16
    assert size_of(packed) == size_of(plain) == len(LOG)
    assert head(str(tmp_path / "none")) == head(str(tmp_path)) == head(os.devnull) == b""


def test_identity_is_of_the_first_4096_bytes(tmp_path: Path) -> None:
    grown = written(tmp_path / "grown", LOG + b"more")
    assert identity(str(grown)) == fingerprint(LOG)
    assert fingerprint(LOG[:4095]) != fingerprint(LOG)


@pytest.mark.parametrize(
    ("first", "binary"),
    [
        (LOG[:4096], False),
        (b"", False),
        (bytes(4096), False),
        (bytes(4096) + LOG[:4096], False),
        ("\x1b[36m(EngineCore pid=1)\x1b[0m 10%|█▏ | 8/67\r".encode() * 50, False),
        ("grüße 你好\n".encode() * 100, False),
        ("grüße\n".encode("latin-1") * 100, False),
        ("缓存已满\n".encode("gbk") * 100, False),
        (b"\x80\x02}q\x00(X\x07\x00\x00\x00entriesq\x01]q\x02" * 20, True),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00>\x00\x01" * 20, True),
        (bytes(range(256)) * 8, True),
        (LOG[:4096] + b"\0" * 20 + LOG[:4096], False),
        (LOG[:1000] + bytes(60000), False),
        (gzip.compress(LOG), True),
    ],
)
def test_binary_content_is_told_from_text(first: bytes, binary: bool) -> None:
    assert looks_binary(first) == binary


@pytest.mark.parametrize("without_isal", [False, True])
def test_what_a_gzip_file_with_a_wrong_checksum_holds_is_given(without_isal: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if without_isal:
        monkeypatch.setitem(sys.modules, "isal", None)
    file = tmp_path / "x.log.gz"
    file.write_bytes(gzip.compress(LOG)[:-8] + b"\1" * 8)
    problems: list[Problem] = []
    view = memoryview(bytearray(len(LOG) + 1))
    with Stream(str(file), problems) as stream:
        size = stream.fill(view)
    assert bytes(view[:size]) == LOG
    assert problems == [Problem(str(file), f"corrupt gzip after {len(LOG)} bytes", lost=True)]


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_gzip_members_come_in_any_pieces(chunk: int) -> None:
    named = io.BytesIO()
    with gzip.GzipFile(filename="engine.log", fileobj=named, mode="wb") as file:
        file.write(LOG)
    raw = named.getvalue() + gzip.compress(b"more\n")
    told: list[str] = []
    codec = codec_of(raw)
    assert codec is not None
    given = decoded(codec, (raw[at : at + chunk] for at in range(0, len(raw), chunk)), lambda what, lost: told.append(what))
    assert b"".join(given) == LOG + b"more\n"
    assert told == []


def test_a_name_that_is_no_text_is_shown_and_still_opened(tmp_path: Path) -> None:
    path = os.path.join(str(tmp_path), os.fsdecode(b"bad\xff.log"))
    try:
        Path(path).write_bytes(LOG)
    except OSError:
        pytest.skip("the file system takes no such name")
    assert shown(path).endswith("bad\\xff.log")
    assert path_of(shown(path)) == path
    assert is_regular(shown(path))
    assert head(shown(path), 100) == LOG[:100]


def test_a_name_that_only_looks_like_that_is_itself(tmp_path: Path) -> None:
    path = tmp_path / "a\\xff.log"
    path.write_bytes(LOG)
    assert path_of(shown(str(path))) == str(path)


def test_a_link_that_must_not_be_read_leads_to_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(_: str) -> str:
        raise PermissionError

    monkeypatch.setattr(os.path, "realpath", refuse)
    assert real_path(str(tmp_path / "cwd")) == str(tmp_path / "cwd")
