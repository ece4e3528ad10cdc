"""Records become the lines they stand for, and each line knows the record it was made from."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.model import Problem
from triage.sources.cutting import Block
from triage.sources.origins import Origin
from triage.sources.structured import LINES_OF_RECORD, LONGEST_LINE, Rewriter, shapes_of

STAMP = "2026-11-01T09:43:00.25Z"
MICROSECONDS = "1793526180250000"


def docker(text: str, stream: str = "stdout") -> bytes:
    return json.dumps({"log": text, "stream": stream, "time": STAMP}).encode()


def cri(text: str, flag: str = "F", stream: str = "stderr") -> bytes:
    return f"{STAMP} {stream} {flag} {text}".encode()


def journal(message: object, **fields: object) -> bytes:
    return json.dumps({"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": MICROSECONDS, "MESSAGE": message, **fields}).encode()


def vllm(message: str, **fields: object) -> bytes:
    record = {"asctime": "2026-11-01 09:43:00,123", "levelname": "ERROR", "name": "vllm.core", "processName": "EngineCore", "process": 7}
    return json.dumps({**record, "message": message, **fields}).encode()


def rewritten(*lines: bytes, head: bytes = b"", last: bool = True) -> tuple[list[bytes], list[Origin], list[Problem]]:
    """The lines that a file with these lines stands for, where they came from, and the problems."""
    raw = b"\n".join([*lines, b""])
    problems: list[Problem] = []
    result = Rewriter(shapes_of(head or raw), "x.log", problems).rewrite(Block(raw, 0, raw.count(b"\n"), last=last), 1)
    assert result is not None
    data, origins = result
    starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10)][:-1]
    return data.split(b"\n")[:-1], [origins.origin(data, start) for start in starts], problems


def texts(*lines: bytes) -> list[bytes]:
    return rewritten(*lines)[0]


def test_docker_records_become_docker_lines() -> None:
    lines, origins, problems = rewritten(docker("one\n"), docker("two\r\n", "stderr"))
    assert lines == [f"{STAMP} one".encode(), f"{STAMP} two\r".encode()]
    assert origins == [Origin(0, 1), Origin(len(docker("one\n")) + 1, 2)]
    assert problems == []


def test_lines_that_docker_split_are_joined_even_around_the_other_stream() -> None:
    lines, origins, _ = rewritten(docker("a" * 16384, "stderr"), docker("meanwhile\n"), docker("b\n", "stderr"), docker("c\n", "stderr"))
    assert lines == [f"{STAMP} meanwhile".encode(), f"{STAMP} {'a' * 16384}b".encode(), f"{STAMP} c".encode()]
    assert [origin.number for origin in origins] == [2, 1, 4]


def test_pieces_of_cri_lines_are_joined() -> None:
    assert texts(cri("a", "P"), cri("x", "F", "stdout"), cri("b", "P"), cri("c")) == [cri("x", "F", "stdout"), cri("abc")]


def test_a_piece_without_an_end_is_given_at_the_end_of_the_file() -> None:
    assert texts(cri("a", "P")) == [cri("a")]
    assert texts(docker("a")) == [f"{STAMP} a".encode()]


def test_pieces_are_joined_across_blocks() -> None:
    problems: list[Problem] = []
    rewriter = Rewriter(frozenset({"cri"}), "x", problems)
    first = rewriter.rewrite(Block(cri("a", "P") + b"\n", 0, 1), 1)
    second = rewriter.rewrite(Block(cri("b") + b"\n", 100, 1), 2)
    assert first is not None
    assert second is not None
    assert first[0] == b""
    assert second[0] == cri("ab") + b"\n"
    assert second[1].origin(second[0], 0) == Origin(0, 1)
    assert rewriter.rewrite(Block(cri("plain") + b"\n", 200, 1), 3) is None


def test_what_never_ends_is_given_in_the_end() -> None:
    piece = "x" * 16384
    lines = texts(*[docker(piece)] * (2 * LONGEST_LINE // 16384 + 8))
    assert max(map(len, lines)) <= LONGEST_LINE + 20000
    assert sum(line.count(b"x") for line in lines) == 16384 * (2 * LONGEST_LINE // 16384 + 8)


def test_journal_records_keep_what_the_journal_knows() -> None:
    fields = {"_HOSTNAME": "gpu7", "_PID": "12", "_SYSTEMD_UNIT": "vllm.service", "_SYSTEMD_INVOCATION_ID": "c0ffee"}
    assert texts(journal("hello", **fields)) == [f"\x1e{MICROSECONDS}\x1fgpu7\x1fvllm.service\x1f12\x1fc0ffee\x1fvllm.service\x1ehello".encode()]


def test_what_systemd_says_of_a_unit_belongs_to_that_unit() -> None:
    fields = {"_SYSTEMD_UNIT": "init.scope", "UNIT": "vllm.service", "INVOCATION_ID": "c0ffee", "_PID": "1"}
    assert texts(journal("Main process exited", **fields)) == [
        f"\x1e{MICROSECONDS}\x1f\x1fvllm.service\x1f1\x1fc0ffee\x1fvllm.service\x1eMain process exited".encode()
    ]


def test_containers_that_log_to_the_journal_are_streams() -> None:
    fields = {"_SYSTEMD_UNIT": "docker.service", "CONTAINER_NAME": "vllm", "_SYSTEMD_INVOCATION_ID": "c0ffee"}
    assert texts(journal("x", **fields)) == [f"\x1e{MICROSECONDS}\x1f\x1fdocker.service\x1f\x1f\x1fvllm\x1ex".encode()]


def test_kernel_messages_are_the_kernels() -> None:
    assert texts(journal("NVRM: Xid", _TRANSPORT="kernel"))[0].split(b"\x1f")[2] == b"kernel"


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("plain", [b"plain"]),
        ("two\nlines", [b"two", b"lines"]),
        (list(b"\x1b[36mgr\xfc\xdfe"), [b"gr\xfc\xdfe"]),
        (["first", "second"], [b"first", b"second"]),
        ([list(b"first"), "second"], [b"first", b"second"]),
        ([], [b""]),
        ([300, -1], [b"", b""]),
        ([[[]]], [b""]),
        (7, [b""]),
        ({"a": 1}, [b""]),
    ],
)
def test_messages_in_every_form(message: object, text: list[bytes]) -> None:
    assert [line.split(b"\x1e")[2] for line in texts(journal(message))] == text


def test_messages_that_were_left_out_are_told_once() -> None:
    lines, _, problems = rewritten(journal(None), journal(None))
    assert len(lines) == 2
    assert [(problem.file, problem.lost) for problem in problems] == [("x.log", True)]
    assert "--all" in problems[0].what


def test_fields_cannot_break_the_line() -> None:
    (line,) = texts(journal("x", _HOSTNAME="a\nb\x1e\x1f" + "c" * 500, _SYSTEMD_UNIT=["first", "second"], _PID=None))
    assert line.count(b"\x1e") == 2
    assert line.count(b"\x1f") == 5
    assert len(line) < 300


def test_vllm_records_become_log_lines() -> None:
    prefix = b"(EngineCore pid=7) ERROR 2026-11-01 09:43:00,123 [vllm.core] "
    assert texts(vllm("a\nb", exc_info="Traceback:\n  File")) == [prefix + text for text in (b"a", b"b", b"Traceback:", b"  File")]
    assert texts(vllm("x", process=None)) == [prefix[len(b"(EngineCore pid=7) ") :] + b"x"]


@pytest.mark.parametrize("envelope", [b"", b"vllm-1  | ", f"{STAMP} ".encode(), cri("")])
def test_vllm_records_are_found_behind_an_envelope(envelope: bytes) -> None:
    prefix = envelope + b"(EngineCore pid=7) ERROR 2026-11-01 09:43:00,123 [vllm.core] "
    assert texts(envelope + vllm("a\nb")) == [prefix + b"a", prefix + b"b"]


def test_vllm_records_are_found_inside_docker_records() -> None:
    assert texts(docker(vllm("x").decode() + "\n")) == [f"{STAMP} (EngineCore pid=7) ERROR 2026-11-01 09:43:00,123 [vllm.core] x".encode()]


ODD = [b"plain text", b"", b'{"log": 1}', b'{"log":"cut', b"[]", b'{"log":"\\ud800","time":"x"}', b"\xff\xfe", b'{"levelname": 1, "message": 2}']


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("usual", [docker("a\n"), journal("a"), vllm("a"), cri("a", "P")])
def test_a_line_that_is_no_record_stays(odd: bytes, usual: bytes) -> None:
    assert odd in texts(usual, odd, usual)


def test_a_record_cannot_blow_up() -> None:
    lines = texts(vllm("\n" * 100000), docker("x\n"))
    assert len(lines) <= LINES_OF_RECORD + 2


@pytest.mark.parametrize("raw", [b"plain\n", cri("a") + b"\n"])
def test_files_that_need_no_rewriting_are_left_alone(raw: bytes) -> None:
    assert Rewriter(shapes_of(raw), "x", []).rewrite(Block(raw, 0, 1), 1) is None


def test_parts_of_long_lines_are_left_alone() -> None:
    rewriter = Rewriter(frozenset({"docker"}), "x", [])
    assert rewriter.rewrite(Block(docker("a\n")[:20], 0, 0, open=True), 1) is None
    assert rewriter.rewrite(Block(docker("a\n")[10:], 10, 0, inside=True), 1) is None


messages = st.text(st.characters(codec="utf-8", exclude_characters="\n\x00\x1b\ufeff"), max_size=60)


@given(st.lists(st.tuples(messages, st.sampled_from(["stdout", "stderr"])), min_size=1, max_size=8), st.integers(1, 20))
def test_what_is_split_and_joined_is_what_it_was(said: list[tuple[str, str]], width: int) -> None:
    records: list[bytes] = []
    for text, stream in said:
        parts = [text[i : i + width] for i in range(0, len(text), width)] or [""]
        records += [docker(part, stream) for part in parts[:-1]] + [docker(parts[-1] + "\n", stream)]
    assert texts(*records) == [f"{STAMP} {text}".encode() for text, _ in said]


@given(messages)
def test_every_text_survives_its_record(text: str) -> None:
    assert texts(docker(text + "\n")) == [f"{STAMP} {text}".encode()]
    assert texts(journal(text))[0].split(b"\x1e", 2)[2] == text.encode()
    assert texts(journal(list(text.encode())))[0].split(b"\x1e", 2)[2] == text.encode()
    assert texts(vllm(text)) == [b"(EngineCore pid=7) ERROR 2026-11-01 09:43:00,123 [vllm.core] " + text.encode()]


docker_keys = ["log", "time", "stream"]
journal_keys = ["MESSAGE", "__REALTIME_TIMESTAMP", "_PID", "UNIT", "CONTAINER_NAME"]
vllm_keys = ["asctime", "levelname", "name", "process", "processName", "message", "exc_info"]
plain_values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9)
values = st.recursive(plain_values, lambda inner: st.lists(inner) | inner)
keys = st.sampled_from([*docker_keys, *journal_keys, *vllm_keys])
records = st.dictionaries(keys, values).map(lambda record: json.dumps(record).encode())


@settings(max_examples=60)
@given(st.lists(records | st.binary(max_size=40).map(base64.b64encode), max_size=6))
def test_records_of_any_values_can_be_read(lines: list[bytes]) -> None:
    for shape in ("docker", "journal", "cri", "vllm"):
        raw = b"\n".join(lines)
        result = Rewriter(frozenset({shape, "vllm"}), "x", []).rewrite(Block(raw, 0, raw.count(b"\n"), last=True), 1)
        assert result is not None
        data, origins = result
        assert all(0 <= origins.origin(data, at).offset <= len(raw) for at in range(len(data)))
