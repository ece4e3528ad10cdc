"""The draft of an issue says what happened in plain words, leaves to people what only they know, and is no trap for who pastes it."""

from __future__ import annotations

from pathlib import Path

import pytest

import triage
from tests.lives import Life, log
from triage.knowledge.load import load
from triage.model import Findings
from triage.report.bundle.issue import drafts
from triage.report.bundle.told import Teller
from triage.report.redact import Redactor

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
KNOWN = load()
HEADINGS = ["What happened", "Versions", "Configuration", "Time to death", "Evidence", "What was ruled out, and by what", "How to reproduce",
            "What was tried"]  # fmt: skip


def drafted(findings: Findings, *classes: str) -> str:
    tell = Teller(Redactor(KNOWN.redaction), findings)
    chosen = [v for v in findings.verdicts if not classes or v.fault_class in classes]
    settings = {v.incident.boot.id: tell.redactor.settings(v.incident.boot.config) for v in chosen if v.incident.boot}
    return drafts(chosen, KNOWN, tell, settings)


@pytest.fixture(scope="module")
def weeks() -> Findings:
    return triage.classify(FIXTURES / "outage-weeks")


def test_all_that_an_issue_needs_stands_under_its_heading(weeks: Findings) -> None:
    text = drafted(weeks, "cublas-fault")
    assert [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")] == HEADINGS
    assert text.startswith("# vLLM 0.27.0: RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling cublasGemmEx")
    assert "It came 9 times in what was read, from 2026-11-12 13:30 to 11-25" in text
    assert "- step: a prefill step of 4,096 tokens" in text and "- torch: `2.11.0+cu130`" in text
    assert "VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD=1024" in text
    assert "97 s, median of 9; 61 to 131 s" in text
    assert "- not device-oom: none of its signatures matched a line of this incident\n" in text


def test_what_only_people_know_is_left_blank(weeks: Findings) -> None:
    text = drafted(weeks, "collective-hang")
    for heading in HEADINGS[-2:]:
        below = text.partition(f"## {heading}\n")[2].partition("##")[0].strip()
        assert below.startswith("<!--") and below.endswith("-->") and below.count("-->") == 1


def test_a_hang_names_the_rank_that_the_dumps_point_at_and_the_timeout(weeks: Findings) -> None:
    text = drafted(weeks, "collective-hang")
    assert "the dumps point at rank 3 (proven)" in text
    assert "The timeout in force was 600 s." in text


def test_each_class_has_a_draft_of_its_own(weeks: Findings) -> None:
    assert drafted(weeks).count("\n---\n") == 2


def test_what_nothing_says_is_said_to_be_unknown(tmp_path: Path) -> None:
    text = drafted(triage.classify(log(tmp_path, Life(2).serves().dies())))
    assert "nothing that was read says why" in text or "No line" in text
    assert "It came once in what was read" in text


def test_without_boot_lines_the_configuration_is_not_observed(tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_text("(Worker_TP0 pid=7) ERROR 11-20 10:00:00 [x.py:1] RuntimeError: CUDA error: an illegal memory access was encountered\n"
                    "(EngineCore_DP0 pid=6) ERROR 11-20 10:00:01 [core.py:844] EngineCore encountered a fatal error.\n")  # fmt: skip
    text = drafted(triage.classify(file))
    assert "Not observed: the lines of this boot are not in what was read." in text
    assert "not in the boot's lines: torch, driver_version" in text


def test_a_log_cannot_leave_its_block_or_mention_anybody(tmp_path: Path) -> None:
    evil = "CUDA error: an illegal memory access was encountered ```` </details><script>alert(1)</script> @someone #1 [x](javascript:y)"
    text = drafted(triage.classify(log(tmp_path, Life(2).serves().raises(3, f"RuntimeError: {evil}").dies())))
    fence = "`````"
    assert f"{fence}text" in text
    outside = "".join(part for number, part in enumerate(text.split(fence)) if number % 2 == 0)
    assert "<script>" not in outside and "@someone" not in outside and "[x](" not in outside
    assert text.splitlines()[0].isprintable()


def test_the_draft_does_not_say_where_the_logs_lay(weeks: Findings) -> None:
    assert str(FIXTURES) not in drafted(weeks)
    assert "vllm.log.9.gz:916: " in drafted(weeks)


def test_the_draft_of_one_incident_says_how_often_its_class_came(weeks: Findings) -> None:
    tell = Teller(Redactor(KNOWN.redaction), weeks)
    of = [v for v in weeks.verdicts if v.fault_class == "triton-fault"]
    one, two = (drafts(chosen, KNOWN, tell, {}, weeks.verdicts) for chosen in (of[1:2], of[1:3]))
    assert "It came 4 times in what was read, from 2026-11-15 16:30 to 11-27 08:30 UTC. What follows is of the one at 2026-11-17 22:00:21" in one
    assert "What follows is of the first of 2 of them, at 2026-11-17 22:00:21 UTC." in two


def test_no_address_stands_in_a_title(tmp_path: Path) -> None:
    text = "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR see https://evil.example/x and www.evil.example"
    found = triage.classify(log(tmp_path, Life(2).serves().raises(3, text).dies()))
    title = drafts(found.verdicts, KNOWN, Teller(Redactor(on=False), found), {}).splitlines()[0]
    assert "evil.example" in title and "://" not in title and "www." not in title
