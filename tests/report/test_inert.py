"""JSON and CSV that hold any text as it is and let none of it act, in every format of `classify`."""

from __future__ import annotations

import csv
import io
import json

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.postmortem.hostile import acts, long, pieces, texts
from tests.report.postmortem.made import findings, known, line, verdict
from triage.model import Findings
from triage.report import document, inert, table
from triage.report.explain import explain

holdable = texts.filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))


@given(holdable)
def test_json_holds_the_text_as_it_was(text: str) -> None:
    written = inert.as_json({"text": text, text: [1]})
    assert json.loads(written) == {"text": text, text: [1]}
    assert not acts(written, escaped=True)


@given(st.text())
def test_no_cell_begins_a_formula(text: str) -> None:
    shown = inert.cell(text)
    assert not shown.lstrip().startswith(inert.FORMULA) or not text.strip()
    assert not acts(shown) - {"\t"}


@settings(max_examples=30)
@given(holdable)
def test_no_format_of_classify_lets_text_act(text: str) -> None:
    found = _with(text)
    for written in (document.as_json(found), document.as_jsonl(found), document.as_json(found, "host"), document.counts_as_jsonl(found, "host")):
        assert not acts(written, escaped=True)
    for written in (table.text_table(found), table.text_table(found, "host"), table.text_table(found, style="github"),
                    explain(found.verdicts[0], known())):  # fmt: skip
        assert not acts(written)


@settings(max_examples=30)
@given(holdable)
def test_no_cell_of_csv_is_a_formula(text: str) -> None:
    found = _with(text)
    for written in (document.as_csv(found), document.counts_as_csv(found, "host"), document.counts_as_csv(found, "engine")):
        rows = list(csv.reader(io.StringIO(written)))
        assert len({len(row) for row in rows}) == 1
        cells = [cell for row in rows for cell in row if cell.strip("- ")]  # a dash alone stands for nothing
        assert not [cell for cell in cells if cell.lstrip().startswith(inert.FORMULA)]
        assert not acts(written)


@settings(max_examples=3)
@given(pieces)
def test_a_line_of_a_megabyte_is_cut_where_people_read_it(piece: str) -> None:
    of = msgspec.structs.replace(verdict(1), root=line(long(piece)))
    assert len(explain(of, known())) < 10_000


def _with(text: str) -> Findings:
    return findings(verdict(1, text=text, host=text, file=text, engine=text))
