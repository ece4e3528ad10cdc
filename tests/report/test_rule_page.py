"""The pages in docs/rules/ are what the rules say now, and show hostile text safely."""

from __future__ import annotations

import re

import msgspec
import pytest

from docs.rule_pages import FOLDER, pages
from triage.knowledge.load import load
from triage.report.catalogue import code, entries, when_words
from triage.report.rule_page import HEADINGS, class_page, rule_page

KNOWN = load()
PAGES = pages()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_is_current(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name], "run `make docs`"


def test_there_is_a_page_for_each_class_and_no_other() -> None:
    assert {page.name for page in FOLDER.glob("*")} == {"README.md", *(f"{name}.md" for name in KNOWN.classes)}


def test_the_index_leads_to_every_page() -> None:
    assert sorted(re.findall(r"\]\((.+?)\)", PAGES["README.md"])) == sorted(f"{name}.md" for name in KNOWN.classes)


@pytest.mark.parametrize("entry", list(entries(KNOWN)), ids=lambda entry: entry.id)
def test_every_rule_has_a_page_with_the_fixed_headings(entry: object) -> None:
    shown = rule_page(entry, KNOWN)  # type: ignore[arg-type]
    assert tuple(line[3:] for line in shown.splitlines() if line.startswith("## ")) == HEADINGS


def test_every_xid_of_a_class_stands_on_its_page() -> None:
    own = [f"Xid {xid.number}" for xid in KNOWN.xids.xids if xid.fault_class == "gpu-hardware"]
    assert own
    assert all(f"### {name}\n" in PAGES["gpu-hardware.md"] for name in own)


def test_a_sample_cannot_leave_its_block_or_reach_the_terminal() -> None:
    fault = KNOWN.classes["device-assert"]
    hostile = msgspec.structs.replace(fault.signatures[0], samples=("```\x1b]0;owned\x07",))
    shown = class_page(msgspec.structs.replace(fault, signatures=(hostile,)), load_with(hostile))
    assert "\x1b" not in shown
    assert "````text\n```?]0;owned?\n````" in shown


def load_with(signature: object) -> object:
    """Our rules, with only this signature in its class."""
    fault = msgspec.structs.replace(KNOWN.classes["device-assert"], signatures=(signature,))
    return msgspec.structs.replace(KNOWN, classes={**KNOWN.classes, "device-assert": fault})


def test_a_condition_is_put_in_words() -> None:
    when = next(s.when for s in KNOWN.classes["start-refused"].signatures if s.id == "start-refused/import-time")
    assert when_words(when).startswith("in phase boot or unknown, before the milestone `load`, with a frame that matches `")


def test_inline_code_may_hold_backticks() -> None:
    assert (code("plain"), code("a`b")) == ("`plain`", "`` a`b ``")
