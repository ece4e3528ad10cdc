"""Whole stories as an operator types them: each transcript is replayed, and holds what its commands print and how they end.

`python -m tests.test_transcripts` writes them anew; read what changed before you check it in.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from triage.cli.main import main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TRANSCRIPTS = sorted((HERE / "transcripts").glob("*.txt"))
TWO_FIXES = HERE / "transcripts" / "two-fixes.txt"
PROMPT = "$ triage "
OVERCLAIMS = re.compile(r"\b(?:fixed|verified|proven|proved)\b", re.IGNORECASE)


def replayed(transcript: str) -> str:
    """The transcript with what its commands print now; lines before the first command stay."""
    head, *commands = re.split(r"^(?=\$ triage )", transcript, flags=re.MULTILINE)
    return head + "".join(f"{line}\n{_printed(line)}\n" for line in (command.splitlines()[0] for command in commands))


def _printed(line: str) -> str:
    with contextlib.chdir(ROOT):
        done = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(main, shlex.split(line.removeprefix(PROMPT)), prog_name="triage")
    shown = "\n".join(text.rstrip() for text in done.output.rstrip("\n").splitlines())
    return f"{shown}\n[exit {done.exit_code}]\n" if done.exit_code else f"{shown}\n"


def story() -> str:
    """The transcript of two-fixes as running text."""
    return " ".join(TWO_FIXES.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_holds_what_its_commands_print(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == replayed(text), "run `python -m tests.test_transcripts` and read what changed"


@pytest.mark.parametrize(
    "sentence",
    [
        # the mechanism cannot have been at work: it never ran on a batch with a prefill in it
        "FAILS: a full CUDA graph replayed on a batch that has a prefill chunk in it (full-graph-on-mixed-batch): impossible",
        # what a page says of itself
        "(open; lists piecewise as 'no improvement over baseline')",
        # what it cost, as stated and as measured
        "decode 39.4 -> 29.9 tok/s (-24 %, as stated)",
        "39.4 tokens/s without the change, 29.9 with it",
        # which side of the gate the frame is on
        "the faulting frame is in the sequential branch of a prefill of 1,408 tokens; threshold 0 would not move it",
        # the test that could not fail
        "An unchanged engine would also pass 92 times in 100",
        "information: 0.12 bit, none to speak of",
        # what may be said while it is quiet
        "piecewise-graphs: unverified, watching cadence",
        # refuted, and by which incident
        "refuted 2026-10-19 15:12 UTC by incident ee71c115 (collective-hang, boot 63374a19, whose lines show the change)",
        "refuted 2026-10-24 11:00 UTC by incident 7de6ed0c (cublas-fault, boot 2fa9669b, whose lines show the change)",
        # the library with the repair was there before the first hang
        "nccl 2.28.9 has been running since 2026-10-07 06:11 (before that 2.27.7), before the first collective-hang",
        # silence says little on this stack
        "this stack has gone 6.0 d without it before with nothing changed (2026-10-01 06:06 to 10-07 06:10, on nccl 2.27.7)",
        # and three faults are not one
        "as one class (10 deaths in 16.1 d) you would need 5.6 d of quiet; collective-hang alone (3) needs 27.5 d",
    ],
)
def test_the_story_of_two_changes_that_did_nothing_is_told(sentence: str) -> None:
    assert sentence in story()


def test_no_word_of_it_claims_more_than_was_seen() -> None:
    told = TWO_FIXES.read_text(encoding="utf-8")
    assert not OVERCLAIMS.search(told)
    assert "supported (still falsifiable)" not in told


def rewrite() -> None:
    """Write every transcript anew."""
    for path in TRANSCRIPTS:
        path.write_text(replayed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
