"""A file that stands where a rank's dump should and is none: named, and the exit code says that part of the input was lost."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from triage.cli.main import main

WEEKS = Path(__file__).resolve().parents[2] / "fixtures" / "outage-weeks" / "logs"
HANG = WEEKS / "flight-recorder" / "2026-11-14"


class Bomb:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("exit 1",)


REFUSED = {
    "old pickle that runs code": pickle.dumps(Bomb(), protocol=0),
    "pickle that runs code": pickle.dumps({"version": "2.9", "entries": [Bomb()]}, protocol=2),
    "JSON without an end": b"[" * 100_000,
    "deep JSON": b'{"entries":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "cut JSON": b'{"version":"2.10","entr',
    "cut pickle": (HANG / "comm_lib_trace_rank_3").read_bytes()[:-200],
    "text": b"hello world\n",
    "a page": b"<html><body>404</body></html>",
    "a pointer": b"version https://git-lfs.example/spec/v1\noid sha256:abc\nsize 12\n",
    "a number": b"12345",
    "zeros": bytes(4000),
    "noise": bytes((n * 7919 + 13) % 255 + 1 for n in range(5000)),
    "UTF-16": "{}".encode("utf-16"),
    "nothing": b"",
}


@pytest.mark.parametrize("what", REFUSED)
def test_classify_and_dump_agree_that_something_is_lost(tmp_path: Path, what: str) -> None:
    folder = Path(shutil.copytree(HANG, tmp_path / "dumps"))
    (folder / "comm_lib_trace_rank_3").write_bytes(REFUSED[what])
    for command in ("classify", "dump"):
        result = CliRunner().invoke(main, [command, str(folder)], catch_exceptions=False)
        assert result.exit_code == 3
        assert result.stderr.count("comm_lib_trace_rank_3: ") == 1


def test_a_refused_dump_alone_is_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "nccl_trace_rank_0").write_bytes(REFUSED["cut JSON"])
    for command in ("classify", "dump"):
        result = CliRunner().invoke(main, [command, str(tmp_path)], catch_exceptions=False)
        assert (result.exit_code, "nccl_trace_rank_0" in result.stderr) == (2, True)


def test_a_text_with_dump_in_its_name_stays_a_log(tmp_path: Path) -> None:
    line = "2026-11-14T09:57:01.5Z (EngineCore pid=7) ERROR 11-14 09:57:01 [core.py:1586] EngineCore encountered a fatal error.\n"
    (tmp_path / "engine_dump_3").write_text(line * 3)
    assert CliRunner().invoke(main, ["classify", str(tmp_path)], catch_exceptions=False).exit_code == 0
