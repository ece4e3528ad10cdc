"""A source comes in pieces; lines, their neighbours, places and instants are the same wherever the cuts fall."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.model import Instant, Place, Problem
from triage.sources.clock import Clock, carried
from triage.sources.cutting import GROWTH, OVERLAP, SMALL, blocks
from triage.sources.find import Source
from triage.sources.lines import LONGEST_TEXT
from triage.sources.opening import Stream
from triage.sources.pieces import Line, Piece, first_piece, pieces, texts_of

REFERENCE = datetime(2026, 11, 2, tzinfo=UTC).timestamp()
NINE = datetime(2026, 11, 1, 9, 0, 0, tzinfo=UTC).timestamp()


def clock() -> Clock:
    return Clock(reference=REFERENCE)


def source(folder: Path, *contents: bytes) -> Source:
    files = [folder / f"x.log.{number}" for number in range(len(contents), 0, -1)]
    for file, content in zip(files, contents, strict=True):
        file.write_bytes(content)
    return Source("x.log", tuple(map(str, files)))


def lines_of(piece: Piece) -> Iterator[Line]:
    position = piece.overlap
    while position < len(piece.data):
        line = piece.line_at(position)
        yield line
        position = line.end + 1


Seen = tuple[str, str, str, int, int, Instant | None]


def seen(log: Source, size: int) -> list[Seen]:
    """What can be told of every line of a source that is read in pieces of this size."""
    time = clock()
    return [
        (line.text, line.stream, Path(place.file).name, place.offset, place.line, carried(piece, line, time))
        for piece in pieces(log, time, size)
        for line in lines_of(piece)
        for place in [piece.place(line)]
    ]


def one(folder: Path, content: bytes, find: bytes = b"") -> tuple[Piece, Line]:
    """The line that holds `find` in the first piece of a file."""
    piece = next(pieces(source(folder, content), clock()))
    return piece, piece.line_at(piece.data.index(find))


def test_pieces_are_the_file(tmp_path: Path) -> None:
    content = b"".join(b"line %d\n" % number for number in range(10000)) + b"no newline"
    read = list(pieces(source(tmp_path, content), clock(), 1000))
    assert b"".join(piece.data for piece in read) == content
    assert all(piece.data.endswith(b"\n") for piece in read[:-1])
    assert [content[piece.base : piece.base + 5] for piece in read] == [piece.data[:5] for piece in read]
    assert [piece.first_line for piece in read] == [content.count(b"\n", 0, piece.base) + 1 for piece in read]
    assert sum(piece.size for piece in read) == len(content)
    assert sum(piece.lines for piece in read) == 10001
    assert {piece.overlap for piece in read} == {0}


def test_an_empty_source_has_no_pieces(tmp_path: Path) -> None:
    assert list(pieces(source(tmp_path, b"", b""), clock())) == []


def test_the_files_of_a_source_follow_each_other(tmp_path: Path) -> None:
    read = pieces(source(tmp_path, gzip.compress(b"old\n"), b"", b"new\n"), clock())
    told = [(piece.data, piece.base, piece.first_line, Path(piece.file).name) for piece in read]
    assert told == [(b"old\n", 0, 1, "x.log.3"), (b"new\n", 0, 1, "x.log.1")]


def test_problems_are_passed_on_and_the_rest_is_read(tmp_path: Path) -> None:
    log = source(tmp_path, gzip.compress(b"cut\n" * 1000)[:-10], b"whole\n")
    problems: list[Problem] = []
    read = b"".join(piece.data for piece in pieces(Source("x", ("gone", *log.files)), clock(), problems=problems))
    assert read.startswith(b"cut\n")
    assert read.endswith(b"whole\n")
    assert [(problem.file, problem.lost) for problem in problems] == [("gone", True), (log.files[0], True)]


def test_empty_standard_input_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    problems: list[Problem] = []
    assert list(pieces(Source("-", ("-",)), clock(), problems=problems)) == []
    assert [(problem.file, problem.lost) for problem in problems] == [("-", True)]


def test_a_line_without_its_envelope(tmp_path: Path) -> None:
    content = b"first\n2026-11-01T09:00:00.5Z [rank3]: Error\r\nlast\n"
    piece, line = one(tmp_path, content, b"Error")
    assert (line.text, line.outer, line.rank) == ("Error", Instant.sharp(NINE + 0.5), 3)
    assert content[line.start : line.end] == b"2026-11-01T09:00:00.5Z [rank3]: Error\r"
    assert piece.place(line) == Place("x.log", piece.file, 6, 2)
    assert piece.line_at(line.end).text == "Error"


def test_a_stamp_without_a_year_is_completed(tmp_path: Path) -> None:
    _, line = one(tmp_path, b"Nov 01 09:00:00 gpu7 vllm[123]: x\n")
    assert (line.text, line.outer, line.host, line.unit, line.stream, line.pid) == ("x", Instant(NINE, NINE + 1), "gpu7", "vllm", "vllm", 123)


def test_what_a_progress_bar_overwrote(tmp_path: Path) -> None:
    content = b"2026-11-01T09:00:00Z  10%|#   |\r 50%|##  |\r100%|####|RuntimeError: out\r\nnext\n"
    piece, line = one(tmp_path, content, b"RuntimeError")
    assert line.text == "100%|####|RuntimeError: out"
    assert line.outer == Instant(NINE, NINE + 1)
    assert [part.text for part in lines_of(piece)] == [" 10%|#   |", " 50%|##  |", "100%|####|RuntimeError: out", "next"]
    assert {piece.place(part).line for part in list(lines_of(piece))[:3]} == {1}
    after = piece.after(line)
    assert after is not None
    above = piece.before(after)
    assert above is not None
    assert above.text == "100%|####|RuntimeError: out"


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r\r\n", b""])
def test_line_endings_are_no_text(ending: bytes, tmp_path: Path) -> None:
    assert one(tmp_path, b"text" + ending)[1].text == "text"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a\tb", "a\tb"),
        (b"bell\x07 back\x08", "bell? back?"),
        ("c1 \x9b31m".encode(), "c1 ?31m"),
        ("turned \u202etxt".encode(), "turned ?txt"),
        (b"bad \xff\xfe utf", "bad \ufffd\ufffd utf"),
        ("grüße 你好 █▏".encode(), "grüße 你好 █▏"),
        (b"[1;36m(APIServer pid=1)[0;0m INFO", "(APIServer pid=1) INFO"),
        (b"[10m]", "[10m]"),
        (b"\x1b[1;36mred\x1b[0m \x1b]0;title\x07done\x1b(B", "red done"),
        (b"\x1b[38;5;196mx\x1b[K", "x"),
        (b"lone \x1b", "lone "),
        (b"a\0\0b", "ab"),
    ],
)
def test_text_is_safe_to_show(raw: bytes, text: str, tmp_path: Path) -> None:
    assert one(tmp_path, b"before\n" + raw + b"\nafter\n", b"before\n")[1].text == "before"
    lines = [line.text for line in lines_of(one(tmp_path, b"before\n" + raw + b"\nafter\n")[0])]
    assert lines == ["before", text, "after"]


RAW = [("one", b"one", 1), ("two", b"t\0wo", 2), ("three red", b"three", 3), ("four", b"four", 4)]


def test_places_are_those_of_the_raw_file(tmp_path: Path) -> None:
    content = b"\x1b[36mone\x1b[0m\nt\0wo\nthree \x1b[31mred\x1b[0m\nfour\n"
    piece = next(pieces(source(tmp_path, content), clock()))
    assert b"\x1b" not in piece.data
    found = [(line.text, piece.place(line).offset, piece.place(line).line) for line in lines_of(piece)]
    assert found == [(text, content.index(raw), line) for text, raw, line in RAW]


def test_a_byte_order_mark_does_not_hide_the_envelope(tmp_path: Path) -> None:
    _, line = one(tmp_path, "\ufeff2026-11-01T09:00:00Z x\n".encode())
    assert line.text == "x"


def test_utf16_is_text_like_any_other(tmp_path: Path) -> None:
    piece = next(pieces(source(tmp_path, "INFO 11-01 09:00:00 [core.py:1] grüße\nzwei\n".encode("utf-16")), clock()))
    assert [line.text for line in lines_of(piece)] == ["INFO 11-01 09:00:00 [core.py:1] grüße", "zwei"]


def test_the_hole_of_a_truncated_log_is_nothing(tmp_path: Path) -> None:
    content = bytes(100000) + b"[rank1]: one\ntwo\n"
    for size in (50, 1000, 1 << 20):
        found = [entry[:5] for entry in seen(source(tmp_path, content), size)]
        assert found == [("one", "", "x.log.1", 100000, 1), ("two", "", "x.log.1", 100013, 2)]


def test_a_long_line_is_cut_around_the_place(tmp_path: Path) -> None:
    content = b"2026-11-01T09:00:00Z (EngineCore pid=7) " + b"x" * 50000 + b" NEEDLE " + b"y" * 50000 + b"\n"
    _, line = one(tmp_path, content, b"NEEDLE")
    assert line.text.startswith("(EngineCore pid=7) xxx")
    assert " NEEDLE " in line.text
    assert len(line.text) <= LONGEST_TEXT + 3
    assert (line.start, line.end) == (0, len(content) - 1)
    assert one(tmp_path, content, b"EngineCore")[1].text == content[21 : 21 + LONGEST_TEXT].decode()


def test_a_line_longer_than_a_piece_loses_nothing_and_tells_nothing_twice(tmp_path: Path) -> None:
    size = 4 * OVERLAP
    needles = range(0, 30 * size, 977)
    content = bytearray(b"." * 30 * size)
    for number, at in enumerate(needles):
        content[at : at + 12] = b"<needle %03d>" % number
    log = source(tmp_path, b"short\n2026-11-01T09:00:00Z (EngineCore pid=7) " + bytes(content) + b"\nlast\n")
    found: list[bytes] = []
    for piece in pieces(log, clock(), size):
        assert len(piece.data) <= size
        for hit in re.finditer(rb"<needle (\d+)>", piece.data):
            if hit.end() > piece.overlap:
                found.append(hit[1])
                line = piece.line_at(hit.start())
                assert hit[0].decode() in line.text
                assert line.outer == Instant(NINE, NINE + 1)
                assert piece.place(line) == Place("x.log", piece.file, 6, 2)
    assert found == [b"%03d" % number for number in range(len(needles))]


def test_neighbours_of_a_line_longer_than_a_piece(tmp_path: Path) -> None:
    read = pieces(source(tmp_path, b"above\n" + b"x" * 5000 + b"\nbelow\n"), clock(), 1000)
    texts = {}
    for piece in read:
        line = piece.line_at(piece.overlap)
        above, below = piece.before(line), piece.after(line)
        texts[piece.base] = (above and above.text, below and below.text)
    assert texts[0] == (None, None) or texts[0][0] is None
    assert ("above", None) in texts.values()
    assert (None, "below") in texts.values()


@pytest.mark.parametrize("size", [60, 100, 1 << 20])
def test_neighbours_across_pieces(size: int, tmp_path: Path) -> None:
    log = source(tmp_path, b"".join(b"line %03d\n" % number for number in range(100)))
    for piece in pieces(log, clock(), size):
        for line in lines_of(piece):
            number = int(line.text[-3:])
            above, below = piece.before(line), piece.after(line)
            assert (above.text if above else None) == (f"line {number - 1:03}" if number else None)
            assert (below.text if below else None) == (f"line {number + 1:03}" if number < 99 else None)
            if above:
                again = piece.after(above)
                assert again == line
                assert piece.place(above).line == number
            if below:
                assert piece.before(below) == line
                assert piece.place(below).line == number + 2


def test_neighbours_across_files(tmp_path: Path) -> None:
    read = pieces(source(tmp_path, b"one\ntwo", b"three\n"), clock())
    assert next(read).data == b"one\ntwo"
    piece = next(read)
    above = piece.before(piece.line_at(0))
    assert above is not None
    assert above.text == "two"
    assert (Path(piece.place(above).file).name, piece.place(above).line) == ("x.log.2", 2)


def test_neighbours_are_of_the_same_stream(tmp_path: Path) -> None:
    content = b"".join(b"[pod/p%d/engine] line %d\n" % (number % 3, number) for number in range(30))
    piece = next(pieces(source(tmp_path, content), clock()))
    line = piece.line_at(piece.data.index(b"line 20"))
    above, below = piece.before(line), piece.after(line)
    assert above is not None
    assert below is not None
    assert (above.text, line.text, below.text) == ("line 17", "line 20", "line 23")


def test_a_line_of_a_piece_that_is_gone_is_not_misplaced(tmp_path: Path) -> None:
    read = pieces(source(tmp_path, b"".join(b"line %03d\n" % number for number in range(100))), clock(), 100)
    next(read)
    piece = next(read)
    above = piece.before(piece.line_at(0))
    assert above is not None
    next(read)
    with pytest.raises(LookupError):
        piece.place(above)


def test_a_stamp_is_carried_to_the_lines_after_it(tmp_path: Path) -> None:
    content = b"Traceback\nINFO 11-01 09:00:00 [core.py:1] x\n  File\n  File\nINFO 11-01 09:00:05 [core.py:1] y\n  end\n"
    found = [(text, at and (at.earliest - NINE, at.how)) for text, *_, at in seen(source(tmp_path, content), 1000)]
    assert [at for _, at in found] == [None, (0, "inner stamp"), (0, "carried"), (0, "carried"), (5, "inner stamp"), (5, "carried")]


def test_a_stamp_is_carried_within_its_stream(tmp_path: Path) -> None:
    content = b"[pod/a/e] INFO 11-01 09:00:00 [core.py:1] x\n[pod/b/e] INFO 11-01 09:00:07 [core.py:1] y\n[pod/a/e] z\n[pod/c/e] z\n[pod/b/e] z\n"
    assert [at.earliest - NINE if at else None for *_, at in seen(source(tmp_path, content), 1000)] == [0, 7, 0, None, 7]


def test_a_stamp_is_carried_over_many_pieces(tmp_path: Path) -> None:
    content = b"INFO 11-01 09:00:00 [core.py:1] x\n" + b"no stamp at all\n" * 2000
    for size in (100, 1000, 10000):
        assert {at.earliest if at else None for *_, at in seen(source(tmp_path, content), size)} == {NINE}


def test_the_year_of_dated_lines_holds_for_those_before_them_too(tmp_path: Path) -> None:
    content = b"INFO 11-01 09:00:00 [core.py:1] on 2019-01-01 00:00:00\n[2024-11-01 09:00:01,5] x\nINFO 11-01 09:00:02 [core.py:1] x\n"
    years = [datetime.fromtimestamp(at.earliest, UTC).year if at else None for *_, at in seen(source(tmp_path, content), 1000)]
    assert years == [2024, 2024, 2024]


def test_what_a_progress_bar_follows_gives_it_its_stamp(tmp_path: Path) -> None:
    content = b"INFO 11-01 09:00:00 [core.py:1] loading\r 10%\r 20%\nError\n"
    piece, line = one(tmp_path, content, b"Error")
    assert carried(piece, line, clock()) == Instant(NINE, NINE + 1, "carried")


def test_a_clock_that_runs_backwards_is_seen_without_a_look_at_any_line(tmp_path: Path) -> None:
    content = b"".join(b"INFO 11-01 %02d:00:00 [core.py:1] x\n" % hour for hour in (1, 2, 2, 3, 1, 2, 3, 4))
    time = clock()
    for _ in pieces(source(tmp_path, content), time, 80):
        pass
    assert time.assumptions[-1].startswith("clock ran backwards by 3600 s at ")
    assert time.assumptions[-1].endswith("x.log.1:6")


def test_the_first_piece_takes_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"0: one\n1: two\n0: three\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    log = Source("-", ("-",))
    piece = first_piece(log, clock(), size=16)
    assert piece is not None
    assert [line.text for line in lines_of(piece)] == ["one", "two"]
    assert b"".join(piece.data for piece in pieces(log, clock())) == content


def test_the_first_piece_is_of_the_newest_file_that_holds_anything(tmp_path: Path) -> None:
    piece = first_piece(source(tmp_path, b"old\n", gzip.compress(b"new\n"), b""), clock())
    assert piece is not None
    assert piece.data == b"new\n"
    assert first_piece(source(tmp_path, b""), clock()) is None
    assert first_piece(Source("x", ("gone",)), clock()) is None


@pytest.mark.parametrize(
    "content",
    [
        b"Nov 01 09:43:00 gpu7 kernel: NVRM: Xid\nNov 01 09:43:01 gpu7 vllm[7]: text\n",
        b"2026-11-01T09:43:00.1Z stderr F one\n2026-11-01T09:43:00.2Z stderr F two",
        b'{"log":"a\\nb\\n","stream":"stderr","time":"2026-11-01T09:43:00.1Z"}\n' * 9,
        b"vllm-1  | one\n\n\nvllm-1  | \x1b[31mtwo\x00\n",
        b"10%\r20%\r30%\nready\r\n",
        b"x" * (2 * LONGEST_TEXT) + b"\nshort\n",
        b"\n",
    ],
)
def test_texts_alone_are_those_of_the_lines(content: bytes, tmp_path: Path) -> None:
    piece = first_piece(source(tmp_path, content), clock())
    assert piece is not None
    assert list(texts_of(piece)) == [(line.text, line.unit) for line in lines_of(piece)]


def test_records_are_known_behind_a_hole_that_is_longer_than_a_piece(tmp_path: Path) -> None:
    record = b'{"log":"text\\n","stream":"stderr","time":"2026-11-01T09:43:00.1Z"}\n'
    read = pieces(source(tmp_path, b"\0" * 1000 + record * 9), clock(), 256)
    assert [line.text for piece in read for line in lines_of(piece)][-5:] == ["text"] * 5


def test_texts_alone_assume_nothing_about_the_clock(tmp_path: Path) -> None:
    time = clock()
    piece = first_piece(source(tmp_path, b"Nov 01 09:43:00 gpu7 vllm[7]: text\n" * 9), time)
    assert piece is not None
    assert [text for text, _ in texts_of(piece)] == ["text"] * 9
    assert not time.assumptions


def test_a_short_file_is_laid_out_like_the_one_before_it(tmp_path: Path) -> None:
    log = source(tmp_path, b"vllm-1  | one\nredis-1 | two\n" * 10, b"odd line\nodd line\nodd line\nvllm-1  | three\n")
    assert [entry[:2] for entry in seen(log, 1000)][-1] == ("three", "vllm-1")


def docker(text: str, second: int, stream: str = "stderr") -> bytes:
    return json.dumps({"log": text, "stream": stream, "time": f"2026-11-01T09:00:{second:02}Z"}).encode() + b"\n"


def test_docker_records_are_scanned_as_lines(tmp_path: Path) -> None:
    records = [docker(f"\x1b[36mline {n}\x1b[0m\n", n) for n in range(20)]
    content = b"".join(records)
    for size in (200, 1 << 20):
        found = seen(source(tmp_path, content), size)
        assert [(text, offset, at) for text, _, _, offset, _, at in found] == [
            (f"line {n}", sum(map(len, records[:n])), Instant(NINE + n, NINE + n + 1)) for n in range(20)
        ]


def test_journal_records_are_scanned_as_lines(tmp_path: Path) -> None:
    sender = {"_HOSTNAME": "gpu7", "_PID": "7", "_SYSTEMD_UNIT": "vllm.service", "_SYSTEMD_INVOCATION_ID": "c0ffee"}
    content = json.dumps({"__REALTIME_TIMESTAMP": str(int(NINE * 1e6) + 5), "MESSAGE": "one\ntwo", **sender}).encode() + b"\n"
    piece = next(pieces(source(tmp_path, content), clock()))
    one_line, two = lines_of(piece)
    assert (one_line.text, two.text) == ("one", "two")
    assert (two.outer, two.stream, two.host, two.unit, two.pid, two.invocation) == (
        Instant.sharp(NINE + 0.000005), "vllm.service", "gpu7", "vllm.service", 7, "c0ffee",
    )  # fmt: skip
    assert piece.place(one_line) == piece.place(two) == Place("x.log", piece.file, 0, 1)


STAMPS = st.integers(0, 59).map(lambda second: b"INFO 11-01 09:00:%02d [core.py:1] " % second)
JOURNAL = b"Nov 01 09:00:01 gpu7 vllm[1]: "
ENVELOPES = st.sampled_from([b"", b"2026-11-01T09:00:00.5Z ", b"[pod/a/e] ", b"[pod/b/e] ", b"[rank3]: ", b"\x1b[36m", JOURNAL])
BODIES = st.lists(st.sampled_from([b"text", b" ", "grüße".encode(), b"\x1b[0m", b"\r", b"\0", b"\xff", b"[0m"]), max_size=5).map(b"".join)
LOG_LINES = st.tuples(ENVELOPES, st.just(b"") | STAMPS, BODIES).map(b"".join)
LOGS = st.lists(LOG_LINES, max_size=40).map(b"\n".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(LOGS, min_size=1, max_size=3), st.integers(120, 600))
def test_where_a_file_is_cut_makes_no_difference(contents: Sequence[bytes], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = source(Path(folder), *contents)
        assert seen(log, size) == seen(log, 1 << 20)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=8) | st.just("text\n")
RECORDS = st.builds(docker, TEXTS, st.integers(0, 59), st.sampled_from(["stdout", "stderr"])) | st.just(b"no record\n")


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=30).map(b"".join), st.integers(140, 600))
def test_where_a_file_of_records_is_cut_makes_no_difference(content: bytes, size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = source(Path(folder), docker("begin\n", 0) + content)
        assert seen(log, size) == seen(log, 1 << 20)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=2), st.integers(0, 200))
def test_no_bytes_raise(contents: Sequence[bytes], size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = source(Path(folder), *contents)
        for piece in pieces(log, clock(), size, []):
            for line in lines_of(piece):
                assert "\x1b" not in line.text
                piece.before(line)
                piece.after(line)
                piece.place(line)


class Given:
    descriptor = None

    def __init__(self, content: bytes) -> None:
        self.file = io.BytesIO(content)

    def fill(self, view: memoryview) -> int:
        return self.file.readinto(view)


@given(st.lists(st.sampled_from([b"\n", b"x" * 50, b"y"]), max_size=60).map(b"".join), st.integers(2, 90))
def test_blocks_are_the_stream(content: bytes, size: int) -> None:
    given_so_far = b""
    read = list(blocks(Given(content), size))
    for block in read:
        assert content[block.base : block.base + len(block.raw)] == block.raw
        assert block.base + block.overlap == len(given_so_far)
        assert block.newlines == block.raw.count(b"\n")
        assert block.open or block.last or block.raw.endswith(b"\n")
        given_so_far += block.raw[block.overlap :]
    assert given_so_far == content
    assert [block.last for block in read] == [False] * (len(read) - 1) + [True]
    assert [block.inside for block in read] == [False, *(block.open for block in read[:-1])]


@pytest.mark.parametrize("content", [b"x" * (1 << 25), (b"x" * 150 + b"\n") * 200000, bytes(1 << 25)], ids=["one line", "lines", "a hole"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_memory_does_not_grow_with_the_file(content: bytes, compress: type[bytes], tmp_path: Path) -> None:
    log = source(tmp_path, compress(content))
    tracemalloc.start()
    try:
        for piece in pieces(log, clock()):
            if piece.data:
                piece.line_at(len(piece.data) // 2)
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("length", [SMALL - 1, SMALL, SMALL + 1, GROWTH * SMALL - 1, GROWTH * SMALL, GROWTH * SMALL + 1, (1 << 20) - 1])
def test_what_is_smaller_than_a_block_is_one_however_its_buffer_grew(length: int, tmp_path: Path) -> None:
    content = (b"one line of sixteen\n" * (length // 20 + 1))[:length]
    (tmp_path / "x").write_bytes(content)
    with Stream(str(tmp_path / "x"), []) as stream:
        found = [block for block in blocks(stream, 1 << 20) if block.raw]
    assert [block.raw for block in found] == [content]
