"""Probabilities are held against what came true, and nothing is named until held-out incidents have shown that names are right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.learn.made_examples import KINDS, labelled
from triage.knowledge.load import load
from triage.learn.calibration import (
    LEAST_NAMED,
    Answer,
    Calibration,
    Held,
    best_temperature,
    calibrated,
    calibration_error,
    is_name,
    measured,
)  # fmt: skip
from triage.learn.calibration import _limits as limits
from triage.learn.examples import BACKGROUND, Example, background

EXAMPLE = Example(id="1", label="device-oom", lines=("x",))


def held(name: str, probability: float, like: float = 1.0) -> Held:
    return Held(EXAMPLE, Answer(name, probability, like, None), True)


def test_the_calibration_error_of_figures_worked_by_hand() -> None:
    assert calibration_error([(0.95, True)] * 19 + [(0.95, False)]) == pytest.approx(0.0)
    assert calibration_error([(0.9, False)] * 10) == pytest.approx(0.9)
    assert calibration_error([(0.8, True), (0.8, False), (0.2, False), (0.2, False)]) == pytest.approx((0.6 + 0.4) / 4)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1))
def test_the_calibration_error_is_a_share(said: list[tuple[float, bool]]) -> None:
    assert 0 <= calibration_error(said) <= 1


def test_a_temperature_is_found_that_makes_scores_hold() -> None:
    import numpy as np

    sure, unsure = np.array([1.0, 0.0]), np.array([0.1, 0.0])
    assert best_temperature([(sure, 0)] * 50) == max([best_temperature([(sure, 0)] * 50), 1.0])
    assert best_temperature([(unsure, 0)] * 6 + [(unsure, 1)] * 4) < best_temperature([(unsure, 0)] * 9 + [(unsure, 1)])


def test_the_threshold_rises_until_names_are_right_often_enough() -> None:
    good = [held("device-oom", 0.97) for _ in range(60)]
    bad = [held("worker-lost", 0.9) for _ in range(10)]
    found = limits(1.0, [*good, *bad])
    assert found.enough
    assert 0.9 < found.probability <= 0.97


def test_too_few_names_prove_nothing() -> None:
    assert not limits(1.0, [held("device-oom", 0.99)] * (LEAST_NAMED - 1)).enough
    assert limits(1.0, [held("device-oom", 0.99)] * LEAST_NAMED).enough


def test_wrong_names_that_are_sure_let_nothing_be_named() -> None:
    found = limits(1.0, [held("device-oom", 0.99)] * 30 + [held("worker-lost", 1.0)] * 10)
    assert not found.enough
    assert measured([held("device-oom", 0.99)] * 30, found, {"device-oom"}).named == 0


def test_a_class_without_enough_labels_counts_as_not_named() -> None:
    found = Calibration(temperature=1.0, probability=0.85, likeness=0.4, enough=True, held_out=2)
    said = [held("device-oom", 0.99), held("worker-lost", 0.99)]
    assert (measured(said, found, {"device-oom", "worker-lost"}).named, measured(said, found, {"device-oom"}).named) == (2, 1)


def test_what_is_too_unlike_or_says_nothing_is_no_name() -> None:
    assert is_name(Answer("device-oom", 0.9, 0.6, None), 0.85, 0.5)
    assert not is_name(Answer("device-oom", 0.9, 0.4, None), 0.85, 0.5)
    assert not is_name(Answer("device-oom", 0.8, 0.6, None), 0.85, 0.5)
    assert not is_name(Answer(BACKGROUND, 1.0, 1.0, None), 0.85, 0.5)


def test_a_history_of_distinct_kinds_is_learnt_and_its_probabilities_hold() -> None:
    calibration, said = calibrated(labelled(160), background(load()))
    figures = measured(said, calibration, KINDS)
    assert calibration.enough
    assert figures.precision == 1.0
    assert figures.named > 0.8 * figures.asked
    assert figures.error <= 0.05


def test_labels_that_mean_nothing_are_not_learnt() -> None:
    import random

    import msgspec

    rng, names = random.Random(1), ("device-oom", "worker-lost", "dependency-lost")
    mixed = [msgspec.structs.replace(e, label=rng.choice(names)) for e in labelled(160)]
    calibration, said = calibrated(mixed, background(load()))
    assert not calibration.enough
    assert measured(said, calibration, KINDS).named == 0
    told = measured(said, msgspec.structs.replace(calibration, enough=True, probability=0.0, likeness=0.0), KINDS)
    assert told.right < 0.6 * told.named
