"""SARIF 2.1.0: one result an incident at its root line, with what the standard asks of every part that we write."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from hypothesis import given, settings

from tests.report.postmortem.hostile import acts, long, pieces, texts
from tests.report.postmortem.made import findings, known, say, verdict, weeks
from triage.model import Findings, Problem
from triage.report.sarif import as_sarif

URI = re.compile(r"[A-Za-z0-9._~/%!$&'()*+,;=:@-]*")


def run(found: Findings) -> dict[str, Any]:
    document = json.loads(as_sarif(found, known(), say(), version="1"))
    assert document["version"] == "2.1.0"
    (only,) = document["runs"]
    return dict(only)


def test_each_incident_is_a_result_at_its_root_line() -> None:
    results = run(weeks())["results"]
    assert len(results) == 17
    for of, result in zip(weeks().verdicts, results, strict=True):
        assert of.root is not None
        assert result["ruleId"] == of.fault_class
        assert result["partialFingerprints"] == {"triageIncident/v1": of.incident.id}
        (place,) = result["locations"]
        assert place["physicalLocation"]["region"]["startLine"] == of.root.place.line
        assert place["physicalLocation"]["artifactLocation"]["uri"].endswith(of.root.place.file.rpartition("/")[2])


def test_a_result_points_at_its_rule_and_the_rule_says_what_to_do() -> None:
    of = run(weeks())
    rules = of["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in of["results"]] == [r["ruleId"] for r in of["results"]]
    assert all(rule["shortDescription"]["text"] and rule["help"]["text"] for rule in rules)


def test_what_is_no_fault_is_a_note() -> None:
    stop = msgspec.structs.replace(verdict(1), fault_class="external-stop", fault=False)
    assert [r["level"] for r in run(findings(stop, verdict(2)))["results"]] == ["note", "error"]


def test_an_incident_without_a_root_has_no_place() -> None:
    bare = msgspec.structs.replace(verdict(1), root=None, fault_class="unclassified")
    (result,) = run(findings(bare))["results"]
    assert result["locations"] == []
    assert "Nothing that was read says why." in result["message"]["text"]


def test_a_line_that_was_not_counted_has_a_file_and_no_region() -> None:
    of = verdict(1)
    assert of.root is not None
    root = msgspec.structs.replace(of.root, place=msgspec.structs.replace(of.root.place, line=0))
    (result,) = run(findings(msgspec.structs.replace(of, root=root)))["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]  # the standard's first line is 1


def test_what_could_not_be_read_is_told_and_the_run_was_no_success() -> None:
    (told,) = run(findings(problems=(Problem("a.gz", "is cut off"),)))["invocations"]
    assert told["executionSuccessful"] is False
    assert told["toolExecutionNotifications"][0]["message"]["text"] == "a.gz: is cut off"


@settings(max_examples=30)
@given(texts)
def test_text_of_a_log_stays_text(text: str) -> None:
    written = as_sarif(findings(verdict(1, text=text, host=text, file=text, engine=text)), known(), say())
    assert not acts(written, escaped=True)
    (result,) = json.loads(written)["runs"][0]["results"]
    assert not acts(json.dumps(result, ensure_ascii=False))
    for place in (*result["locations"], *result["relatedLocations"]):
        assert URI.fullmatch(place["physicalLocation"]["artifactLocation"]["uri"])


@settings(max_examples=3)
@given(pieces)
def test_a_line_of_a_megabyte_is_cut(piece: str) -> None:
    assert len(as_sarif(findings(verdict(1, text=long(piece))), known(), say())) < 100_000
