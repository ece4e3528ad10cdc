"""What a plan can tell before anything runs."""

from __future__ import annotations

import pytest

from triage.trials.manifest import Control, Item, Sign
from triage.trials.planning import graded, plan, share_of

WITNESS = (Sign(name="w", pattern="x", at_least=1),)


def item(runs: int, control: Control | None, **more: object) -> Item:
    return Item(id="i", question="q", path="p", runs=runs, control=control, **{"witnesses": WITNESS, **more})  # type: ignore[arg-type]


def test_twelve_short_runs_against_one_crash_a_day_mean_nothing() -> None:
    made = plan(item(12, Control(per_day=1, minutes=10)))
    assert made.lucky is not None
    assert made.bits is not None
    assert made.lucky[0] == pytest.approx(0.920, abs=5e-4)
    assert (made.grade, made.means_nothing, made.enough[0]) == ("none", True, 432)
    assert made.bits == pytest.approx(0.12, abs=5e-3)


def test_the_control_is_as_sure_as_its_runs() -> None:
    four, three = plan(item(4, Control(failed=5, of=5))), plan(item(3, Control(failed=5, of=5)))
    assert (four.enough, four.means_nothing) == ((1, 4), False)
    assert four.lucky is not None
    assert three.lucky is not None
    assert four.lucky[1] <= 0.05 < three.lucky[1]


def test_without_a_control_nothing_can_be_said() -> None:
    made = plan(item(5, None))
    assert made.means_nothing
    assert made.lucky is None


def test_without_a_witness_no_number_of_runs_helps() -> None:
    made = plan(item(100, Control(failed=5, of=5), witnesses=()))
    assert made.means_nothing
    assert "no witness" in made.flaws[0]
    assert not plan(item(100, Control(failed=5, of=5), witnesses=(), whole=64)).flaws


def test_fewer_runs_than_passes_is_no_plan() -> None:
    assert plan(item(2, Control(failed=5, of=5), passes=4)).means_nothing


@pytest.mark.parametrize("control", [Control(), Control(failed=6, of=5), Control(per_day=1), Control(minutes=5)])
def test_a_control_that_tells_no_share(control: Control) -> None:
    assert share_of(control) is None


@pytest.mark.parametrize(("lucky", "grade"), [(0.92, "none"), (0.6, "weak"), (0.06, "some"), (0.03, "strong"), (0.001, "very strong")])
def test_grades(lucky: float, grade: str) -> None:
    assert graded(lucky) == grade
