"""JUnit: the same tests on every run, failed where a fault of the class came, and an error where the input was not all read."""

from __future__ import annotations

from xml.etree import ElementTree

import msgspec
from hypothesis import given, settings

from tests.report.postmortem.hostile import acts, long, pieces, texts
from tests.report.postmortem.made import findings, known, say, verdict, weeks
from triage.model import Findings, Problem
from triage.report.junit import as_junit


def suite(found: Findings) -> ElementTree.Element:
    (only,) = ElementTree.fromstring(as_junit(found, known(), say()))
    return only


def failed(found: Findings) -> dict[str, str]:
    return {case.get("name", ""): failure.get("message", "") for case in suite(found) for failure in case.iter("failure")}


def test_a_class_that_came_is_a_failed_test() -> None:
    assert failed(weeks()) == {
        "no cublas-fault": "9 incidents of cublas-fault",
        "no collective-hang": "4 incidents of collective-hang",
        "no triton-fault": "4 incidents of triton-fault",
    }


def test_the_tests_are_the_same_where_nothing_came() -> None:
    def names(found: Findings) -> list[str]:
        return [case.get("name", "") for case in suite(found).iter("testcase")]

    assert names(findings()) == names(weeks())
    assert not failed(findings())
    assert {f"no {name}" for name, rule in known().classes.items() if rule.fault} <= set(names(findings()))


def test_the_totals_are_those_of_the_tests() -> None:
    of = suite(weeks())
    cases = list(of.iter("testcase"))
    assert (of.get("tests"), of.get("failures"), of.get("errors")) == (str(len(cases)), "3", "0")


def test_what_is_no_fault_fails_nothing_and_is_told() -> None:
    stop = msgspec.structs.replace(verdict(1), fault_class="external-stop", fault=False)
    of = suite(findings(stop))
    assert of.get("failures") == "0"
    assert "external-stop" in "".join(of.find("system-out").itertext())  # type: ignore[union-attr]


def test_a_class_of_ones_own_rules_is_a_test_too() -> None:
    assert "no fan-stopped" in failed(findings(msgspec.structs.replace(verdict(1), fault_class="fan-stopped")))


def test_input_that_was_not_all_read_is_an_error() -> None:
    of = suite(findings(problems=(Problem("a.gz", "is cut off"), Problem("b", "odd", lost=False))))
    (error,) = of.iter("error")
    assert error.get("message") == "a.gz: is cut off"
    assert of.get("errors") == "1"


@settings(max_examples=30)
@given(texts)
def test_text_of_a_log_stays_text(text: str) -> None:
    def shape(told: str) -> list[str]:
        written = as_junit(findings(verdict(1, text=told, host=told, file=told, engine=told)), known(), say())
        assert not acts(written)
        return [element.tag for element in ElementTree.fromstring(written).iter()]

    assert shape(text) == shape("x")


@settings(max_examples=3)
@given(pieces)
def test_a_line_of_a_megabyte_is_cut(piece: str) -> None:
    assert len(as_junit(findings(verdict(1, text=long(piece))), known(), say())) < 50_000
