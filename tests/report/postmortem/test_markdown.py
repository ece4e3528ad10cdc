"""The Markdown file: the same facts as the page, tables that stay tables, and text of logs that stays text."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from tests.report.postmortem.hostile import acts, long, pieces, texts
from tests.report.postmortem.made import START, findings, known, many, say, verdict, weeks
from triage.model import Findings
from triage.report.postmortem.gather import gather
from triage.report.postmortem.given import Mitigation, Rung, Trial
from triage.report.postmortem.html import BLANKS
from triage.report.postmortem.markdown import as_markdown, fenced, inline, plain, prose

GITHUB = MarkdownIt("gfm-like")


@cache
def of_weeks() -> str:
    return written(weeks(), mitigations=(), trials=())


def written(found: Findings, *, redact: bool = True, **given: object) -> str:
    told = say(redact=redact)
    measures = {name: given.pop(name) for name in ("mitigations", "trials") if name in given}
    parts = gather(found, known(), told, now=START + 30 * 86400, **measures, **given)  # type: ignore[arg-type]
    return as_markdown(parts, told, redacting=redact, **measures)  # type: ignore[arg-type]


def shape(markdown: str) -> list[str]:
    """What GitHub makes of it: blocks and inline elements in order, without their text."""
    tokens = GITHUB.parse(markdown)
    return [kind for token in tokens for kind in (token.type, *(inner.type for inner in token.children or () if inner.type != "text"))]


def test_it_has_the_parts_of_a_postmortem_in_order() -> None:
    headings = re.findall(r"^## (.+)$", of_weeks(), re.MULTILINE)
    assert headings == [
        "Impact", "Classes", "Timeline", "Trigger", "cublas-fault", "collective-hang", "triton-fault", "Mitigations", "Trials",
        "Configuration epochs", "What cannot be said", "Lessons", "Where we got lucky", "Actions", "Appendix: every incident",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "ask"), BLANKS)
def test_what_people_must_write_is_left_blank_under_its_heading(name: str, ask: str) -> None:
    assert f"\n## {name}\n\n_{ask}_\n\n" in of_weeks()


def test_every_incident_is_in_the_appendix_with_its_evidence() -> None:
    text = of_weeks()
    for of in weeks().verdicts:
        assert f"\n### `{of.incident.id}` {of.fault_class}, " in text
        assert of.root is not None
        assert f":{of.root.place.line} [{of.root.rule}" in text


def test_tables_have_as_many_cells_in_each_row_as_in_their_head() -> None:
    measure = Mitigation(name="a|b", fault_class="c", status="refuted", note="x | y", claimed=START)
    text = written(weeks(), mitigations=(measure,), trials=(Trial(name="t", rungs=(Rung(build="b|1", setting="0.9", margin_mib=1.0, passed=1),)),))
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) >= 9
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", row)) for row in table.strip().splitlines()}
        assert len(widths) == 1, table


@settings(max_examples=25)
@given(texts)
def test_text_of_a_log_is_only_ever_text(text: str) -> None:
    tried = written(_with(text))
    assert not acts(tried)
    tokens = GITHUB.parse(tried)
    inner = [token for block in tokens for token in block.children or ()]
    assert not [t for t in (*tokens, *inner) if t.type in ("html_block", "html_inline", "link_open", "image", "blockquote_open", "hr")]
    assert _blocks(tried) == _calm()


@given(texts)
def test_words_that_would_call_somebody_or_link_somewhere_are_code(text: str) -> None:
    for said in (plain(text), prose(text)):
        inner = [token for block in GITHUB.parse(f"a {said}") for token in block.children or ()]
        assert not [t.type for t in inner if t.type not in ("text", "code_inline")]
        assert not re.search(r"://|@\w|#\d|\bwww\.", " ".join(t.content for t in inner if t.type == "text"), re.IGNORECASE)


@given(texts)
def test_inline_code_is_one_piece_of_code(text: str) -> None:
    (paragraph,) = [token for token in GITHUB.parse(f"a {inline(text)} b") if token.type == "inline"]
    assert [token.type for token in paragraph.children or ()] == ["text", "code_inline", "text"]


@given(texts)
def test_a_fence_is_ended_by_nothing_in_it(text: str) -> None:
    lines = text.splitlines() or [""]
    (block,) = [token for token in GITHUB.parse("\n".join(fenced(lines))) if token.type != "inline"]
    assert block.type == "fence"


@settings(max_examples=3)
@given(pieces)
def test_a_line_of_a_megabyte_is_cut(piece: str) -> None:
    assert len(written(_with(long(piece)))) < 200_000


def test_many_incidents_leave_their_evidence_to_the_page() -> None:
    text = written(many(300))
    assert text.count("\n### `") == 0
    assert "the evidence of each is in the page" in text


@cache
def _calm() -> list[str]:
    return _blocks(written(_with("x")))


def _blocks(markdown: str) -> list[str]:
    return [kind for kind in shape(markdown) if _is_block(kind)]


def _is_block(kind: str) -> bool:
    return kind.endswith(("_open", "_close", "fence", "code_block")) and not kind.startswith(("em_", "strong_", "s_"))


def _with(text: str) -> Findings:
    return findings(verdict(1, text=text, host=text, file=text, engine=text, config={"args": text}), verdict(2, config={"args": "other"}))
