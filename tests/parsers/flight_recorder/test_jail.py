"""The jail: what it reads is what our own machine reads, and no file does harm to the others or takes more than its share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.made_dumps import config, document, entry, job, lay, python_pickle, torch_pickle
from triage.parsers.flight_recorder import folder
from triage.parsers.flight_recorder.jail import Jail
from triage.parsers.flight_recorder.machine import DumpError
from triage.parsers.flight_recorder.reader import read_dump

pytestmark = pytest.mark.skipif(os.name != "posix", reason="only POSIX systems have the limits")

HEAD = b"\x80\x02"


@pytest.mark.parametrize("write", [torch_pickle, python_pickle(2), python_pickle(4)])
def test_both_ways_to_read_agree(write: Callable[[Any], bytes], tmp_path: Path) -> None:
    lay(tmp_path, job(2, 40), write)
    with Jail() as jail:
        for rank in range(2):
            path = str(tmp_path / f"comm_lib_trace_rank_{rank}")
            assert jail.read(path, rank=rank, name="x") == read_dump(path, rank=rank, name="x")


def nested_key(depth: int) -> bytes:
    return HEAD + b"}(K\x01" + b"\x85" * depth + b"K\x01u."


def doubling_key(depth: int) -> bytes:
    return HEAD + b"}(K\x01" + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(depth)) + b"K\x01u."


HOSTILE = {
    "a class": HEAD + b"cposix\nsystem\n(X\x04\x00\x00\x00trueR.",
    "a persistent id": HEAD + b"Pabc\n.",
    "a memo of 64 GB": HEAD + b"}r\xff\xff\xff\xff.",
    "an array of 10 GB": b"\x80\x05\x96" + (10 << 30).to_bytes(8, "little") + b"x",
    "a key nested past the stack": nested_key(3_000_000),
    "a key that takes for ever to hash": doubling_key(60),
    "more lists than memory": HEAD + b"](" + b"]" * 30_000_000 + b"e.",
    "text that is no text": HEAD + b"}(X\x07\x00\x00\x00versionX\x03\x00\x00\x00\xed\xa0\x80u.",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_refused_and_the_next_is_read(what: str, tmp_path: Path) -> None:
    lay(tmp_path, job(1))
    bad = tmp_path / "rank_1"
    bad.write_bytes(HOSTILE[what])
    with Jail() as jail:
        with pytest.raises(DumpError):
            jail.read(str(bad), rank=1, name="x")
        assert jail.read(str(tmp_path / "comm_lib_trace_rank_0"), rank=0, name="x").entries == 6


def test_a_cut_dump_is_salvaged_there_too(tmp_path: Path) -> None:
    data = torch_pickle(job(1, 300)[0])
    (tmp_path / "rank_0").write_bytes(data[: len(data) // 2])
    with Jail() as jail:
        found = jail.read(str(tmp_path / "rank_0"), rank=0, name="x")
    assert found.cut
    assert 100 < found.entries < 200


def test_a_folder_of_large_dumps_is_read_through_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "SMALL", 1000)
    lay(tmp_path, job(3))
    (tmp_path / "comm_lib_trace_rank_3").write_bytes(doubling_key(60))
    (found,) = folder.read_folder([str(tmp_path)])
    assert (found.ranks, found.lost) == ((0, 1, 2), (3,))


def test_nothing_is_imported_from_where_we_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, {0: document([entry(1)], config("0", range(2)))})
    (tmp_path / "msgspec.py").write_text("raise SystemExit('imported from the folder of evidence')\n")
    monkeypatch.chdir(tmp_path)
    with Jail() as jail:
        assert jail.read("comm_lib_trace_rank_0", rank=0, name="x").entries == 1
