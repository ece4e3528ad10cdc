"""The page: true to its figures, whole in one file, and nothing in it acts but its own script."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings

from tests.report.postmortem.hostile import acts, long, pieces, texts
from tests.report.postmortem.made import START, findings, many, page, verdict, weeks
from triage.report.postmortem.given import Mitigation, Rung, Trial
from triage.report.postmortem.html import SECTIONS

VOID = {"meta", "link", "input", "br"}


class Tree(HTMLParser):
    """What a browser makes of a page: its elements in order, their attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.shape: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.within: dict[str, list[str]] = {"script": [], "style": []}
        self.words: list[str] = []
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shape.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        self.shape.append(f"/{tag}")
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in self.within:
            self.within[self._open].append(data)
        else:
            self.words.append(data)

    def handle_comment(self, data: str) -> None:
        self.shape.append("comment")

    def unknown_decl(self, data: str) -> None:
        self.shape.append("declaration")

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


@pytest.fixture(scope="module")
def outage_weeks() -> Tree:
    return Tree(page(weeks(), mitigations=(), trials=()))


def test_it_shows_each_incident_once_and_says_the_counts_first(outage_weeks: Tree) -> None:
    cards = [value for value in outage_weeks.values("id") if value.startswith("i-")]
    assert sorted(cards) == sorted(f"i-{v.incident.id}" for v in weeks().verdicts)
    text = " ".join(" ".join(outage_weeks.words).split())
    assert re.search(r"17 incidents: 9 cublas-fault, 4 collective-hang, 4 triton-fault\.", text)
    assert "13 died after 61 s to 131 s; 4 died after 600 s." in text
    assert "Nothing died between 131 s and 600 s. 4 hangs ended when the timeout in force ran out." in text


def test_each_mark_leads_to_a_card_and_each_plot_has_one_stop_for_tab(outage_weeks: Tree) -> None:
    ids = set(outage_weeks.values("id"))
    targets = [value[1:] for value in outage_weeks.values("href") if value.startswith("#")]
    assert targets
    assert set(targets) <= ids
    marks = [name for tag, name, value in outage_weeks.attributes if tag == "a" and name == "tabindex" and value == "0"]
    assert len(marks) == 3  # raster, time to death, growth


def test_sections_are_there_and_a_plot_has_words_and_figures(outage_weeks: Tree) -> None:
    assert {anchor for anchor, _ in SECTIONS} <= set(outage_weeks.values("id"))
    assert outage_weeks.shape.count("figure") == 4
    assert outage_weeks.shape.count("figcaption") == 4


def test_of_what_nobody_looked_for_nothing_is_said() -> None:
    ids = set(Tree(page(findings(verdict(1)))).values("id"))
    assert not ids & {"ledger", "trials"}
    assert {"ledger", "trials"} <= set(Tree(page(findings(verdict(1)), mitigations=(), trials=())).values("id"))


def test_nothing_is_asked_of_anybody(outage_weeks: Tree) -> None:
    assert not outage_weeks.values("src")
    assert {value for value in outage_weeks.values("href") if not value.startswith("#")} == {"data:,"}
    assert not re.search(r"url\((?!#)|@import", "".join(outage_weeks.within["style"]))


def test_only_our_style_and_script_may_run(outage_weeks: Tree) -> None:
    (policy,) = [value for value in outage_weeks.values("content") if "default-src" in value]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        content = "".join(outage_weeks.within[kind])
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not [name for _, name, _ in outage_weeks.attributes if name.startswith("on") or name == "style"]


@settings(max_examples=25)
@given(texts)
def test_text_of_a_log_is_only_ever_text(text: str) -> None:
    calm = _calm()
    tried = Tree(_with(text))
    assert tried.shape == calm.shape
    assert [(tag, name) for tag, name, _ in tried.attributes] == [(tag, name) for tag, name, _ in calm.attributes]
    assert tried.within == calm.within
    assert not acts("".join((*tried.words, *(value for _, _, value in tried.attributes))))


@settings(max_examples=3)
@given(pieces)
def test_a_line_of_a_megabyte_is_cut(piece: str) -> None:
    assert len(_with(long(piece))) < 200_000


def test_what_is_said_of_a_mitigation_or_a_trial_is_text_too() -> None:
    bad = "<b>x</b>"
    measure = Mitigation(name=bad, fault_class=bad, status=bad, claim=bad, cost=bad, note=bad, claimed=START, since=START, refuted=START + 1e5,
                         refuted_by=bad)  # fmt: skip
    trial = Trial(name=bad, question=bad, verdict=bad, note=bad, rungs=(Rung(build=bad, setting=bad, margin_mib=3.0, failed=1),))
    made = Tree(page(findings(verdict(1)), mitigations=(measure,), trials=(trial,), title=bad))
    assert "".join(made.words).count("<b>x</b>") > 8
    assert made.shape.count("b") == made.shape.count("/b")


def test_no_incident_and_no_date_make_a_page_too() -> None:
    nothing = " ".join(Tree(page(findings())).words)
    assert "No fault was found." in nothing
    assert "No incident." in nothing
    assert "no dates" in page(findings(coverage=type(findings().coverage)()))


def test_a_page_says_when_it_was_not_redacted() -> None:
    assert "it may hold secrets" in page(findings(verdict(1)), redact=False)
    assert "it may hold secrets" not in page(findings(verdict(1)))


def test_thousands_of_incidents_fit_into_eight_megabytes_and_each_keeps_its_reason() -> None:
    made = page(many(5000))
    assert len(made.encode()) < 8_000_000
    assert made.count('<details class="card ') == 5000
    assert made.count("<b>root</b>") == 5000
    assert "their cards say where it hit and why" in made


@cache
def _calm() -> Tree:
    return Tree(_with("x"))


def _with(text: str) -> str:
    """A page with a text in every place that evidence can put one into."""
    return page(findings(verdict(1, text=text, host=text, file=text, engine=text, config={"args": text}), verdict(2, config={"args": "other"})))
