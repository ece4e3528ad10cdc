"""A log whose lines are in no order is told from one that is, and a model is not asked about it."""

from __future__ import annotations

import random
from pathlib import Path

from tests.learn.made_examples import KINDS, model
from tests.lives import Life, log
from triage.knowledge.load import load
from triage.learn.opinions import NO_ORDER, with_opinions
from triage.learn.order import mixed_up
from triage.model import Findings
from triage.pipeline import gather, judged

OWN = KINDS["dependency-lost"][1].format(4, 2)


def life(hour: float) -> Life:
    made = Life(hour).worker(0, "INFO", "default_loader.py:314", "Loading weights took 30.12 seconds").serves(6)
    return made.worker(1, "ERROR", "pool.py:144", OWN).dies()


def found(path: str) -> Findings:
    known = load()
    return judged(gather([path], known), known, lines_of_all=True)


def test_logs_of_whole_lives_are_in_order(tmp_path: Path) -> None:
    assert not mixed_up(found(log(tmp_path, life(3), life(9), life(15))).boots)


def test_a_log_that_was_shuffled_is_in_no_order_and_is_not_asked_about(tmp_path: Path) -> None:
    whole = life(3)
    for seed in range(10):
        lines = [*whole.lines]
        random.Random(seed).shuffle(lines)
        whole_again = Life(3)
        whole_again.lines = lines
        findings = found(log(tmp_path, whole_again, name=f"{seed}.log"))
        assert mixed_up(findings.boots)
        heard = with_opinions(findings, model(tmp_path), load())
        assert heard.verdicts == findings.verdicts
        assert not findings.verdicts or heard.problems[-1].what == NO_ORDER


def test_the_same_log_in_order_is_asked_about(tmp_path: Path) -> None:
    heard = with_opinions(found(log(tmp_path, life(3))), model(tmp_path), load())
    assert [(v.fault_class, v.by) for v in heard.verdicts] == [("dependency-lost", "model")]


def test_processes_that_write_past_each_other_are_no_disorder(tmp_path: Path) -> None:
    one = life(3)
    one.lines[-2], one.lines[-1] = one.lines[-1], one.lines[-2]
    assert not mixed_up(found(log(tmp_path, one)).boots)


def test_one_line_of_tokens_before_all_is_loaded_is_no_disorder(tmp_path: Path) -> None:
    whole = life(3)
    tokens = next(i for i, line in enumerate(whole.lines) if "throughput" in line)
    load = next(i for i, line in enumerate(whole.lines) if "Loading weights took" in line)
    assert load < tokens
    again = Life(3)
    again.lines = [*whole.lines[:load], whole.lines[tokens], whole.lines[load], whole.lines[load], *whole.lines[load:]]
    assert not mixed_up(found(log(tmp_path, again)).boots)
