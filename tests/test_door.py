"""`import triage` as a notebook uses it: one path or several, in any form, and frames."""

from __future__ import annotations

from pathlib import Path

import pytest

import triage
from triage.parsers.sorting import NothingToReadError

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "fixtures" / "oom-then-cublas" / "logs"


@pytest.mark.parametrize("paths", [str(LOGS), LOGS, [str(LOGS)], (LOGS,), [LOGS, str(LOGS / "vllm.log")]])
def test_one_path_or_several_texts_or_paths(paths: object) -> None:
    assert [v.fault_class for v in triage.classify(paths).verdicts] == ["device-oom"]  # type: ignore[arg-type]


def test_one_text_is_one_path_and_not_its_characters() -> None:
    with pytest.raises(NothingToReadError, match="/nowhere-at-all: no such file"):
        triage.classify("/nowhere-at-all")


@pytest.mark.parametrize("paths", [None, 3, [None], [3]])
def test_what_is_no_path_is_a_type_error(paths: object) -> None:
    with pytest.raises(TypeError):
        triage.classify(paths)  # type: ignore[arg-type]


def test_rules_may_be_one_folder_too() -> None:
    assert triage.classify(LOGS, rules=str(ROOT / "rules")).verdicts
    assert triage.classify(LOGS, rules=[ROOT / "rules"]).verdicts


def test_findings_make_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    findings = triage.classify(LOGS)
    assert isinstance(findings, triage.Findings)
    frame = findings.to_frame()
    assert list(frame["class"]) == ["device-oom"]
    pandas.testing.assert_frame_equal(frame, triage.to_frame(findings))
