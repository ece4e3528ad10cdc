"""Real dumps, made anew by torch with gloo: what we say of them is what was done. Needs torch; takes some seconds a case."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from triage.parsers.flight_recorder import read_files
from triage.verdict.dumps import analyse

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_gloo_dumps.py"

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")


@pytest.mark.parametrize(
    ("case", "guilty"),
    [("ok", {}), ("skip", {1: "proven"}), ("lag", {1: "likely"}), ("dtype", {1: "proven"}), ("subgroup", {3: "proven"}), ("order", {1: "likely"})],
)
def test_real_dumps_name_who_did_it(case: str, guilty: dict[int, str], tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", str(SCRIPT), case, str(tmp_path), "--timeout", "8", "--no-stacks"]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    for folder in (tmp_path, tmp_path / "json"):
        files = [file for file in folder.iterdir() if file.is_file()]
        (hang,) = read_files([str(file) for file in files])
        assert {s.rank: s.strength for s in analyse(hang).suspects} == guilty
