"""The pickle machine: it reads what recorders write, agrees with CPython on it, and refuses everything else by name."""

from __future__ import annotations

import pickle
import pickletools
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made_dumps import job, torch_pickle
from triage.parsers.flight_recorder.machine import DumpError, load

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4) | st.tuples(inner, inner) | st.tuples(inner) | st.just(()),
    max_leaves=25,
)


@given(VALUES, st.integers(2, 5))
def test_what_python_writes_is_read_back(value: Any, protocol: int) -> None:
    assert load(pickle.dumps(value, protocol=protocol)).value == value


def test_what_torch_writes_is_read_back() -> None:
    made = job()[0]
    data = torch_pickle(made)
    assert load(data).value == made == pickle.loads(data)


@given(st.binary(max_size=80), st.integers(2, 5))
def test_any_bytes_give_a_value_or_a_refusal(junk: bytes, protocol: int) -> None:
    try:
        load(bytes([0x80, protocol]) + junk)
    except DumpError as error:
        assert str(error)


@given(st.integers(0, 400))
def test_a_cut_at_any_byte_gives_what_was_before_it(at: int) -> None:
    made = job(last=4)[0]
    data = torch_pickle(made)
    cut = min(at + 2, len(data) - 1)
    found = load(data[:cut])
    assert found.cut
    whole = {} if found.value is None else found.value
    assert set(whole) <= set(made)
    if "version" in whole:
        assert whole["version"] == made["version"]


def with_head(body: bytes) -> bytes:
    return b"\x80\x02" + body + b"."


@pytest.mark.parametrize(
    ("opcode", "data"),
    [
        ("GLOBAL", with_head(b"cposix\nsystem\n")),
        ("STACK_GLOBAL", with_head(b"\x8c\x05posix\x8c\x06system\x93")),
        ("INST", with_head(b"(iposix\nsystem\n")),
        ("OBJ", with_head(b"(No")),
        ("NEWOBJ", with_head(b"N)\x81")),
        ("NEWOBJ_EX", with_head(b"N)}\x92")),
        ("REDUCE", with_head(b"N)R")),
        ("BUILD", with_head(b"}}b")),
        ("PERSID", with_head(b"P1\n")),
        ("BINPERSID", with_head(b"K\x01Q")),
        ("EXT1", with_head(b"\x82\x01")),
        ("EXT2", with_head(b"\x83\x01\x00")),
        ("EXT4", with_head(b"\x84\x01\x00\x00\x00")),
        ("NEXT_BUFFER", with_head(b"\x97")),
    ],
)
def test_opcodes_that_make_or_call_anything_are_refused_by_name(opcode: str, data: bytes) -> None:
    with pytest.raises(DumpError, match=rf"opcode {opcode} at byte \d+"):
        load(data)


HARMLESS = """
MARK STOP PROTO FRAME NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT BINUNICODE SHORT_BINUNICODE BINUNICODE8 EMPTY_LIST
APPEND APPENDS EMPTY_DICT SETITEM SETITEMS EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 BINGET LONG_BINGET BINPUT LONG_BINPUT MEMOIZE
"""


def test_no_opcode_of_any_protocol_is_run_unless_it_makes_data() -> None:
    harmless = HARMLESS.split()
    for opcode in (opcode for opcode in pickletools.opcodes if opcode.name not in harmless):
        with pytest.raises(DumpError, match="has no place in a dump"):
            load(b"\x80\x02" + opcode.code.encode("latin-1") + b"." * 20)


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("claims 10,737,418,240 bytes", b"\x80\x04\x8d" + struct.pack("<Q", 10 << 30) + b"abc"),
        ("integer at byte 7 claims 5,000,000 bytes", with_head(b"\x8b" + struct.pack("<I", 5_000_000) + b"\x01" * 100)),
        ("nested deeper", with_head(b"](" * 100_000)),
        ("no text", with_head(b"}K\x01K\x02s")),
        ("no text", with_head(b"}(N\x85\x85K\x01u")),
        ("was never set", with_head(b"h\x07")),
        ("stack underflow", with_head(b"\x86")),
        ("no mark", with_head(b"]e")),
        ("no list to add to", with_head(b"}(K\x01e")),
        ("no dict to add to", with_head(b"](X\x01\x00\x00\x00aK\x01u")),
        ("without a value", with_head(b"}(X\x01\x00\x00\x00au")),
        ("nothing to remember", with_head(b"q\x01")),
        ("leaves 2 values", with_head(b"NN")),
        ("no UTF-8", with_head(b"X\x01\x00\x00\x00\xff")),
        ("pickle protocol 1", b"\x80\x01."),
    ],
)
def test_streams_that_no_recorder_writes_are_refused(what: str, data: bytes) -> None:
    with pytest.raises(DumpError, match=what):
        load(data)


def test_a_huge_memo_index_costs_nothing() -> None:
    assert load(with_head(b"Nr\xff\xff\xff\xff")).value is None


def test_too_many_opcodes_are_refused() -> None:
    with pytest.raises(DumpError, match="more than 2,000,000 opcodes"):
        load(b"\x80\x02](" + b"N" * 2_000_001 + b"e.")
