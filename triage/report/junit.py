"""Findings as JUnit XML for CI that runs soak tests: one test a class, the same names on every run, failed where an incident of it came."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from triage.knowledge.load import Knowledge
from triage.model import UNCLASSIFIED, Findings, Verdict
from triage.report import words
from triage.report.postmortem.say import Say
from triage.report.sarif import message
from triage.report.table import headline

TOLD = 50  # incidents of one class that are told one by one


def as_junit(findings: Findings, known: Knowledge, say: Say, *, only: Sequence[str] = (), unread_known: bool = True) -> str:
    """A suite with a test for each class that is a fault, one for the reading itself, and what was no fault as its output.

    `only` are the classes that findings were narrowed to: of others there is no test, for nothing passed. Where nobody knows what could not
    be read (`unread_known`), the test of the reading is skipped.
    """
    say.meet(findings)
    faults: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in findings.verdicts:
        if verdict.fault:
            faults[verdict.fault_class].append(verdict)
    families = {name: rule.family for name, rule in known.classes.items() if rule.fault} | {UNCLASSIFIED: "unknown"}
    families |= {name: mine[0].family for name, mine in faults.items() if name not in families}
    families = {name: family for name, family in families.items() if name in only or not only}
    suite = ElementTree.Element("testsuite", name="triage", tests=str(len(families) + 1), failures=str(len(faults)),
                                errors=str(int(findings.partial)), skipped=str(int(not unread_known)))  # fmt: skip
    suite.append(_reading(findings, say, unread_known))
    for name in sorted(families):
        suite.append(_test(name, families[name], faults.get(name, []), say))
    ElementTree.SubElement(suite, "system-out").text = "\n".join(_output(findings, say))
    totals = {key: suite.get(key, "") for key in ("name", "tests", "failures", "errors")}
    suites = ElementTree.Element("testsuites", totals)
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode")


def _reading(findings: Findings, say: Say, unread_known: bool) -> ElementTree.Element:
    """Whether all of the input could be read: a run that saw half of it must not look clean."""
    test = ElementTree.Element("testcase", classname="triage", name="all input could be read")
    lost = [say.about(f"{p.file}: {p.what}") for p in findings.problems if p.lost]
    if lost:
        ElementTree.SubElement(test, "error", message=lost[0], type="unreadable").text = "\n".join(lost)
    elif not unread_known:
        ElementTree.SubElement(test, "skipped", message="from the history, which does not keep what could not be read")
    return test


def _test(name: str, family: str, mine: list[Verdict], say: Say) -> ElementTree.Element:
    test = ElementTree.Element("testcase", classname=f"triage.{family}", name=f"no {name}")
    if mine:
        told = [message(verdict, say) for verdict in mine[:TOLD]]
        told += [f"... and {len(mine) - TOLD:,} more"] if len(mine) > TOLD else []
        failure = ElementTree.SubElement(test, "failure", message=f"{words.number(len(mine), 'incident')} of {name}", type=name)
        failure.text = "\n".join(told)
    return test


def _output(findings: Findings, say: Say) -> Iterator[str]:
    yield say.about(headline(findings))
    yield from (message(verdict, say) for verdict in findings.verdicts if not verdict.fault)
