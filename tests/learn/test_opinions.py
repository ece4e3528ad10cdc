"""A model may name what no rule named; what a rule has cited a root for stays, and a fault stays a fault."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.learn.made_examples import KINDS, model
from triage.knowledge.load import load
from triage.learn.model_file import Model
from triage.learn.opinions import heard, mismatches, share
from triage.model import UNCLASSIFIED, Event, Incident, Place, Verdict

LINE = KINDS["dependency-lost"][0].format(4, 2)


def said(text: str, kind: str = "trouble") -> Event:
    return Event(kind=kind, rule="trouble/exception", place=Place("vllm.log", "vllm.log", 0), text=text, data={"message": text})


def died(*lines: str, **more: object) -> Verdict:
    fields = {"fault_class": UNCLASSIFIED, "family": "-", "fault": True, "best_lines": tuple(said(line) for line in lines), **more}
    return Verdict(incident=Incident(id="3fa2b1c0", engine="vllm"), **fields)  # type: ignore[arg-type]


@pytest.fixture
def site(tmp_path: Path) -> Model:
    return model(tmp_path)


def test_what_no_rule_named_gets_the_name_of_what_it_is_like(site: Model) -> None:
    found = heard(died(LINE), site, load())
    assert (found.fault_class, found.family, found.fault, found.by) == ("dependency-lost", "instant", True, "model")
    assert found.opinion is not None
    assert found.opinion.probability >= site.card.calibration.probability
    assert found.opinion.like.startswith("acme_cache.PoolError")
    assert any("pool" in name for name, _ in found.opinion.spoke)
    assert share([found, died("?")]) == (1, found.opinion.probability, found.opinion.probability)


def test_a_cited_root_stays_and_the_model_may_only_doubt_it(site: Model) -> None:
    judged = died(LINE, fault_class="engine-exception", family="instant", root=said(LINE, "signature"))
    found = heard(judged, site, load())
    assert (found.fault_class, found.family, found.by, found.root) == ("engine-exception", "instant", "rules", judged.root)
    assert found.opinion is not None
    assert len(found.hints) == 1
    assert "dependency-lost" in found.hints[0]
    assert "the rules' word stands" in found.hints[0]


def test_where_both_agree_nothing_is_said(site: Model) -> None:
    judged = died(LINE, fault_class="dependency-lost", family="instant", root=said(LINE, "signature"))
    assert heard(judged, site, load()) == judged


def test_what_is_no_fault_is_left_alone(site: Model) -> None:
    judged = died(LINE, fault_class="external-stop", family="none", fault=False)
    assert heard(judged, site, load()) == judged


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("kotri lenmur shavel ostzan",),
        ('FATAL:  password authentication failed for user "billing"',),
        ("EngineCore encountered a fatal error.",),
        (" ".join(reversed(LINE.split())),),
        ("upload retry 3 of 7 succeeded",),
    ],
)
def test_it_is_silent_about_what_it_has_not_seen(site: Model, lines: tuple[str, ...]) -> None:
    assert heard(died(*lines), site, load()).fault_class == UNCLASSIFIED


def test_a_class_with_too_few_labels_is_not_named(site: Model) -> None:
    support = tuple(msgspec.structs.replace(s, enough=s.fault_class != "dependency-lost") for s in site.card.support)
    weak = msgspec.structs.replace(site, card=msgspec.structs.replace(site.card, support=support))
    assert heard(died(LINE), weak, load()).fault_class == UNCLASSIFIED


def test_a_model_that_was_not_shown_to_be_right_names_nothing_and_says_so(site: Model) -> None:
    card = msgspec.structs.replace(site.card, calibration=msgspec.structs.replace(site.card.calibration, enough=False), rules="other")
    weak = msgspec.structs.replace(site, card=card)
    assert heard(died(LINE), weak, load()).fault_class == UNCLASSIFIED
    assert [limit.partition(":")[0] for limit in mismatches(weak, load())] == [
        f"trained under rules other, these are {load().version}", "too few held-out incidents to show that its names would be right",
    ]  # fmt: skip


def test_classes_that_the_rules_do_not_know_are_not_named(site: Model) -> None:
    known = load()
    fewer = msgspec.structs.replace(known, classes={name: c for name, c in known.classes.items() if name != "dependency-lost"})
    assert heard(died(LINE), site, fewer).fault_class == UNCLASSIFIED
    assert any("dependency-lost" in limit for limit in mismatches(site, fewer))
