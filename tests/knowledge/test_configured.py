"""Rules on configuration do what they say, and a broken one is named with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.knowledge.lint import check
from triage.knowledge.load import load
from triage.knowledge.sides import ConditionError, compared, condition, side_of

KNOWN = load()
GATES = {gate.id: gate for gates in KNOWN.gates.values() for gate in gates.gates}


def flaws(folder: Path, name: str, text: str) -> list[str]:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return [f"{flaw.check}: {flaw.what}" for flaw in check(folder).flaws]


def test_ours_are_well_and_counted() -> None:
    checked = check()
    assert not checked.flaws
    assert sum(len(gates.gates) for gates in KNOWN.gates.values()) >= 10


GATE = """engine = "vllm"
[[gate]]
id = "mine"
title = "mine"
enable = "batch_tokens <= THRESHOLD"
set_by = ["VLLM_MINE"]
on = "one"
off = "other"
on_frames = ["fast"]
samples = [{ side = "on", frames = ["/a/b.py:1 fast"] }, { side = "", frames = ["/a/b.py:2 slow"] }]
"""
MECHANISM = """engine = "vllm"
[[mechanism]]
id = "mine"
title = "mine"
needs = "X > 0"
possible = "yes"
impossible = "no"
samples = [{ booted = { X = "1" }, answer = "holds" }, { booted = { X = "0" }, answer = "fails" }]
"""


@pytest.mark.parametrize(
    ("name", "text", "old", "new", "said"),
    [
        ("gates/vllm.toml", GATE, "", "", ""),
        ("gates/vllm.toml", GATE, "<= THRESHOLD", "near THRESHOLD", "no condition of a gate"),
        ("gates/vllm.toml", GATE, 'side = "on"', 'side = "off"', "said to be on 'on', not 'off'"),
        ("gates/vllm.toml", GATE, ', { side = "", frames = ["/a/b.py:2 slow"] }', "", "near miss"),
        ("gates/vllm.toml", GATE, "THRESHOLD", "12", "not both and not neither"),
        ("gates/vllm.toml", GATE, 'title = "mine"', "", "title"),
        ("mechanisms/vllm.toml", MECHANISM, "", "", ""),
        ("mechanisms/vllm.toml", MECHANISM, "X > 0", "X", "is no condition"),
        ("mechanisms/vllm.toml", MECHANISM, 'answer = "holds"', 'answer = "fails"', "gives 'holds', not 'fails'"),
        ("flags/vllm.toml", 'engine = "vllm"\n[[flag]]\nname = "a"\n[[flag]]\nname = "b"\nalso = ["a"]\n', "", "", "given to several"),
    ],
)
def test_a_flaw_is_named(tmp_path: Path, name: str, text: str, old: str, new: str, said: str) -> None:
    found = flaws(tmp_path, name, text.replace(old, new) if old else text)
    assert any(said in flaw for flaw in found) if said else not found


def test_a_rule_of_ones_own_stands_instead_of_ours(tmp_path: Path) -> None:
    (tmp_path / "gates").mkdir()
    (tmp_path / "gates" / "vllm.toml").write_text(GATE.replace('id = "mine"', 'id = "multi-stream-gemm"'), encoding="utf-8")
    known = load([tmp_path])
    gates = {gate.id: gate for gate in known.gates["vllm"].gates}
    assert gates["multi-stream-gemm"].set_by == ("VLLM_MINE",)
    assert set(gates) == {gate.id for gate in KNOWN.gates["vllm"].gates}


@pytest.mark.parametrize(
    ("text", "size", "threshold", "taken"),
    [
        ("batch_tokens <= THRESHOLD", 1024, 1024, True), ("batch_tokens < THRESHOLD", 1024, 1024, False), ("enable = n >= LIMIT", 0, 0, True),
        ("0 < n <= T", 0, 1024, False), ("0 < n <= T", 1, 0, False), ("batch_tokens <= 256", 257, 9999, False),
    ],
)  # fmt: skip
def test_conditions(text: str, size: float, threshold: float, taken: bool) -> None:
    assert compared(condition(text), size, threshold) is taken


def test_what_is_no_condition_is_refused() -> None:
    with pytest.raises(ConditionError):
        condition("tokens is small")


@pytest.mark.parametrize(("line", "side"), [(110, "off"), (111, "off"), (127, "on"), (131, "on"), (112, "")])
def test_the_line_of_a_function_that_holds_both_branches(line: int, side: str) -> None:
    frames = ("/x/attention.py:449 attn_gemm_parallel_execute", f"/x/vllm/utils/multi_stream_utils.py:{line} execute_in_parallel")
    assert side_of(GATES["multi-stream-gemm"], frames, "0.27.1").side == side
    assert side_of(GATES["multi-stream-gemm"], frames, "0.26.0").side == ""
