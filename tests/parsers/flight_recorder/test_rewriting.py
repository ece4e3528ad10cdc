"""A dump that is written anew says the same to whoever analyses it, holds only what was understood, and no text that was not looked at."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from tests.made_dumps import config, document, entry, job, old, torch_pickle, transfer
from triage.parsers.flight_recorder import read_folder
from triage.parsers.flight_recorder.rewriting import DumpError, as_json
from triage.verdict.dumps import analyse

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "outage-weeks" / "logs" / "flight-recorder"


def same(text: str) -> str:
    return text


def rewritten(folder: Path, into: Path) -> Path:
    into.mkdir()
    for (hang,) in [read_folder([str(folder)])]:
        for recording in hang.recordings:
            (into / f"rank_{recording.rank}.json").write_bytes(as_json(recording.file, same))
    return into


@pytest.mark.parametrize("folder", sorted(FIXTURES.iterdir()), ids=lambda folder: folder.name)
def test_the_analysis_of_a_real_hang_stays_the_same(folder: Path, tmp_path: Path) -> None:
    (before,), (after,) = read_folder([str(folder)]), read_folder([str(rewritten(folder, tmp_path / "new"))])
    assert analyse(after) == analyse(before)
    assert [r.entries for r in after.recordings] == [r.entries for r in before.recordings]


@pytest.mark.parametrize("version", ["2.10", "2.3", "2.1", "1.5"])
def test_dumps_of_every_version_stay_the_same(version: str, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for rank, made in job(4, stuck=[0, 1, 3]).items():
        (tmp_path / "old" / f"rank_{rank}").write_bytes(torch_pickle(old(made, version) if version != "2.10" else made))
    (before,), (after,) = read_folder([str(tmp_path / "old")]), read_folder([str(rewritten(tmp_path / "old", tmp_path / "new"))])
    assert analyse(after) == analyse(before)
    assert [r.version for r in after.recordings] == [r.version for r in before.recordings]


def test_every_text_goes_through_what_it_is_shown_as(tmp_path: Path) -> None:
    made = document([entry(1), transfer("send", 0, 1, 2)], config("0", range(2), desc="tp of gpu-7"))
    (tmp_path / "rank_0").write_bytes(pickle.dumps(made | {"secret": "gpu-7"}, protocol=2))
    read = json.loads(as_json(str(tmp_path / "rank_0"), lambda text: text.replace("gpu-7", "HOST1").replace("/srv/app", "APP")))
    assert read["pg_config"]["0"] == {"name": "0", "desc": "tp of HOST1", "ranks": "[0, 1]"}
    assert read["entries"][0]["frames"] == [{"name": "forward", "filename": "APP/model.py", "line": 11}]
    assert "gpu-7" not in json.dumps(read)
    assert "secret" not in read and "thread_name" not in read["entries"][0]


@pytest.mark.parametrize("content", [b"", b"no dump", b"{}", b"\x80\x02", b"[1, 2]"[:3], pickle.dumps(Path("x"))])
def test_what_is_no_dump_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "rank_0").write_bytes(content)
    with pytest.raises(DumpError):
        as_json(str(tmp_path / "rank_0"), same)
