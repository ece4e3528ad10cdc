"""Entries as people write them: the few words of a falsifier, rates, lengths, TOML files, and what each refuses."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.ledger.entry import Baseline, Claim, Cost, EntryError, Falsifier, claim_of, cost_of
from triage.ledger.wording import baseline_of, entry_from, entry_of, falsifier_of, seconds_of

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp()
DAY = 86400.0
WHOLE = """
name = "piecewise"
class = "collective-hang"
claim = "reduces:0.1"
changes = ['--compilation-config={"cudagraph_mode": "PIECEWISE"}', "VLLM_X=0"]
mechanisms = ["full-graph"]
cost = "decode 39.4 -> 29.9 tok/s"
falsifier = "class collective-hang after 2026-11-20T12:00Z on gpu-a"
hosts = ["gpu-a"]
baseline = "17/17d"
references = [{ url = "https://example.org/1", status = "open" }]
note = "x"

[gate]
enable = "batch_tokens <= THRESHOLD"
true_frames = ["a"]
false_frames = ["b.py:1"]
"""


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("class collective-hang", Falsifier(classes=("collective-hang",))),
        ("class a, b-c after 2026-11-20T12:00Z", Falsifier(classes=("a", "b-c"), after=NOON)),
        ("any engine death", Falsifier(kind="death")),
        ("any engine-dead error after 2026-11-20T12:00", Falsifier(kind="death", after=NOON)),
        ("any  engine death on gpu-a,gpu-b", Falsifier(kind="death", hosts=("gpu-a", "gpu-b"))),
        ('text "CUBLAS_STATUS" after 2026-11-20T13:00+01:00 on gpu-a', Falsifier(kind="text", text="CUBLAS_STATUS", after=NOON, hosts=("gpu-a",))),
        ("text 'a \"b\" after c'", Falsifier(kind="text", text='a "b" after c')),
        ("any end at all", Falsifier(kind="literal")),
    ],
)
def test_a_falsifier_is_a_few_words(text: str, means: Falsifier) -> None:
    assert falsifier_of(text) == means


@pytest.mark.parametrize("text", ["", "it dies", "class", "class Upper", "any engine death after", "text CUBLAS", "class a after soon", "class a on"])
def test_what_a_machine_cannot_test_is_refused(text: str) -> None:
    with pytest.raises(EntryError, match=r"write WHAT|is no time"):
        falsifier_of(text)


@pytest.mark.parametrize(
    ("text", "events", "days"), [("17/17d", 17, 17), ("1/d", 1, 1), ("4 in 17 days", 4, 17), ("4/400h", 4, 400 / 24), ("2 per w", 2, 7)]
)
def test_a_rate_says_what_it_rests_on(text: str, events: int, days: float) -> None:
    assert baseline_of(text) == Baseline(events, pytest.approx(days * DAY))


@pytest.mark.parametrize("text", ["17", "17/", "/17d", "1.5/d", "-1/d", "17/17", "17/0d", "17/99999d", "1/1e9d", "x/y"])
def test_a_rate_without_that_is_refused(text: str) -> None:
    with pytest.raises(EntryError):
        baseline_of(text)


@pytest.mark.parametrize(("text", "seconds"), [("10m", 600), ("6d", 6 * DAY), ("1.5h", 5400), ("90 s", 90), ("2w", 14 * DAY), ("10min", 600)])
def test_lengths(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@given(st.text(max_size=40))
def test_no_text_is_a_traceback(text: str) -> None:
    for read in (falsifier_of, baseline_of, seconds_of, claim_of):
        try:
            read(text)
        except EntryError as error:
            assert str(error)
    assert cost_of(text).text == text.strip()


def test_a_cost_with_figures_has_a_change() -> None:
    cost = cost_of("decode 39.4 -> 29.9 tok/s")
    assert cost == Cost(text="decode 39.4 -> 29.9 tok/s", metric="decode", before=39.4, after=29.9, unit="tok/s")
    assert cost.change == pytest.approx(-0.241, abs=0.0005)
    assert cost_of("a lot").change is None
    assert cost_of("0 -> 5 ms").change is None


def test_claims() -> None:
    assert claim_of("eliminates") == Claim()
    assert claim_of("reduces:0.1") == Claim("reduces", 0.1)
    for text in ("reduces", "reduces:0", "reduces:1", "reduces:x", "reduces:nan", "eliminates:1", "helps"):
        with pytest.raises(EntryError, match="write eliminates"):
            claim_of(text)


def test_a_file_has_all_of_it(tmp_path: Path) -> None:
    file = tmp_path / "entry.toml"
    file.write_text(WHOLE)
    entry = entry_from(file)
    assert (entry.name, entry.fault_class, str(entry.claim), entry.hosts) == ("piecewise", "collective-hang", "reduces:0.1", ("gpu-a",))
    assert entry.changes == ('--compilation-config={"cudagraph_mode": "PIECEWISE"}', "VLLM_X=0")
    assert entry.falsifier == Falsifier(classes=("collective-hang",), after=NOON, hosts=("gpu-a",))
    assert entry.baseline == Baseline(17, 17 * DAY)
    assert (entry.gate.enable, entry.gate.false_frames, entry.references[0].status) == ("batch_tokens <= THRESHOLD", ("b.py:1",), "open")


@pytest.mark.parametrize(
    ("claim", "falsifier", "says"),
    [
        ("eliminates", "class cublas-fault", "write class triton-fault,cublas-fault"), ("reduces:0.1", "any engine death", "only that can refute it"),
        ("reduces:0.1", "class triton-fault,cublas-fault", "only that can refute it"), ("reduces:0.1", "text 'x'", "only that can refute it"),
    ],
)  # fmt: skip
def test_a_falsifier_that_its_own_fault_does_not_meet_is_refused(claim: str, falsifier: str, says: str) -> None:
    with pytest.raises(EntryError, match=says):
        entry_of({"name": "m", "class": "triton-fault", "changes": ["A=1"], "claim": claim, "falsifier": falsifier})


def test_without_a_falsifier_one_of_its_class_would_do() -> None:
    assert entry_of({"name": "m", "class": "triton-fault", "changes": ["A=1"]}).falsifier == Falsifier(classes=("triton-fault",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = 1", "name"), ("nam = 'x'", "nam"), ("[[[", "line 1"), ("name = 'm'\nclass = 'c'\nchanges = []", "no change"),
        ("name = '../m'\nclass = 'c'\nchanges = ['A=1']", "letters, digits"), ("name = 'm'\nclass = 'c'\nchanges = ['just text']", "NAME=value"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_taken_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "entry.toml"
    file.write_text(text)
    with pytest.raises(EntryError, match=rf"entry\.toml: .*{says}"):
        entry_from(file)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "entry.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EntryError, match=r"entry\.toml"):
        entry_from(tmp_path / "entry.toml")
    with pytest.raises(EntryError, match=r"none\.toml: No such file"):
        entry_from(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("changes", ["VLLM_API_KEY=hushhush"]), ("changes", ["--api-key=hushhush"]), ("changes", ["--api-key hushhush"]),
        ("changes", ["MODEL=sk-hushhushhushhushhush"]), ("note", "ask http://me:hushhush@host/"),
        ("references", [{"url": "https://me:hushhush@host/", "status": ""}]),
    ],
)  # fmt: skip
def test_a_secret_is_not_written_down_nor_shown(key: str, value: Any) -> None:
    with pytest.raises(EntryError, match="a journal keeps") as refused:
        entry_of({"name": "m", "class": "triton-fault", "changes": ["A=1"], key: value})
    assert "hushhush" not in str(refused.value)


def test_an_option_that_only_sounds_like_a_secret_is_taken() -> None:
    changes = ("VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD=0", "--enable-auth")
    assert entry_of({"name": "m", "class": "triton-fault", "changes": list(changes)}).changes == changes
