"""Generated incidents are what they are labelled: the rules name a recipe's class by its line, and not without its signatures."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from triage.knowledge.load import load
from triage.knowledge.table import RuleTable
from triage.learn.examples import example
from triage.learn.generate import Made, generated, in_turn, judge_files, recipes, without
from triage.learn.strangers import mixed, strangers
from triage.learn.wording import Variation, reworded, shuffled_words
from triage.model import UNCLASSIFIED

CLASSES = ("triton-fault", "device-assert", "host-oom")
KNOWN = load()


@pytest.fixture(scope="module")
def made() -> list[Made]:
    made_of = recipes(KNOWN, per_signature=1, only=CLASSES)
    assert {r.fault_class for r in made_of} == set(CLASSES)
    return list(generated(KNOWN, made_of, 45, seed=2))


def named(each: Made, table: RuleTable, folder: Path) -> list[str]:
    return [v.fault_class for v in judge_files(each.files, table.knowledge, table, folder).verdicts]


def test_rules_name_what_was_not_reworded(made: list[Made], tmp_path: Path) -> None:
    table = RuleTable(KNOWN)
    plain = [each for each in made if not each.is_reworded]
    right = [each for each in plain if each.fault_class in named(each, table, tmp_path)]
    assert len(plain) >= 15
    assert len(right) >= 0.95 * len(plain)


def test_without_its_signatures_nothing_has_that_class_and_its_lines_are_still_seen(made: list[Made], tmp_path: Path) -> None:
    table = RuleTable(without(KNOWN, "triton-fault"))
    own = [each for each in made if each.fault_class == "triton-fault" and not each.is_reworded]
    assert own
    for each in own:
        verdicts = judge_files(each.files, table.knowledge, table, tmp_path).verdicts  # none, where the log ends with that line
        assert all(v.fault_class != "triton-fault" for v in verdicts)
        assert all(any("Triton Error" in line for line in example(v, "").lines) for v in verdicts)


def test_the_same_seed_gives_the_same_incidents_in_order_of_time(made: list[Made]) -> None:
    again = list(generated(KNOWN, recipes(KNOWN, per_signature=1, only=CLASSES), 45, seed=2))
    assert [each.files for each in again] == [each.files for each in made]
    assert [each.at for each in made] == sorted(each.at for each in made)
    assert len({each.host for each in made}) > 3


def test_no_item_comes_a_second_time_before_all_have_come() -> None:
    turns = in_turn("abcde", random.Random(1))
    rounds = ["".join(next(turns) for _ in range(5)) for _ in range(4)]
    assert {"".join(sorted(each)) for each in rounds} == {"abcde"}
    assert len(set(rounds)) > 1
    assert list(in_turn("", random.Random(1))) == []


def test_a_class_with_few_texts_shows_all_of_them_before_one_comes_again() -> None:
    made_of = recipes(KNOWN, per_signature=3, only=["triton-fault"])
    texts = {r.text for r in made_of}
    lives: list[str] = []
    for each in generated(KNOWN, made_of, 40, seed=4):
        lives += [each.recipe.text] if not lives or lives[-1] != each.recipe.text else []  # a loop says the same again
    assert len(texts) > 2
    assert set(lives[: len(texts)]) == texts


def test_what_stands_beside_a_root_makes_no_second_incident(made: list[Made], tmp_path: Path) -> None:
    table = RuleTable(KNOWN)
    assert all(len(named(each, table, tmp_path)) <= 1 for each in made)


def test_mixed_words_leave_no_log_in_its_words_but_the_probes() -> None:
    line = b"2026-11-20T05:51:01+0000 gpu-1 kernel: NVRM: the board spoke of its page and fell off\n"
    made_of = recipes(KNOWN, per_signature=1, only=["triton-fault"])
    one = next(generated(KNOWN, made_of, 1))._replace(files={"engine.log": line, "kernel.log": line, "probe.log": line})
    files = mixed(one, random.Random(3), "mixed words").files
    assert files["probe.log"] == line
    for name in ("engine.log", "kernel.log"):
        assert files[name].startswith(b"2026-11-20T05:51:01+0000 gpu-1 kernel: ")
        assert files[name] != line
        assert sorted(files[name].split()) == sorted(line.split())


def test_one_life_calls_a_process_by_one_number_and_leaves_codes_alone() -> None:
    other = Variation(random.Random(1))
    first, second = (other.of(f"(Worker_TP1 pid=30121) ERROR 11-20 05:51:01 [x.py:8] Errno 104 {word}", "12-24 18:00:00") for word in ("a", "b"))
    assert first[:-1] == second[:-1]
    assert "pid=30121" not in first
    assert "12-24 18:00:00" in first
    assert "Errno 104" in first


def test_rewording_keeps_who_speaks_and_changes_what_is_said() -> None:
    line = "(Worker_TP1 pid=813) ERROR 11-20 05:51:01 [pool.py:144] the process failed while it received an invalid page from the pool of the shard"
    for seed in range(20):
        said = reworded(line, random.Random(seed))
        assert said.startswith("(Worker_TP1 pid=813) ERROR 11-20 05:51:01 [pool.py:144] ")
        assert said != line
    assert sorted(shuffled_words(line, random.Random(1)).split()) == sorted(line.split())


@pytest.mark.parametrize("kind", ["nonsense", "other software"])
def test_strangers_die_of_what_no_rule_knows(kind: str, tmp_path: Path) -> None:
    table = RuleTable(KNOWN)
    found = [name for each in strangers(KNOWN, kind, 12) for name in named(each, table, tmp_path)]
    assert len(found) == 12
    assert found.count(UNCLASSIFIED) >= 6  # an exception by name is the engine's own for all that rules can tell
