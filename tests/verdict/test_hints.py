"""What incidents have in common is told with its evidence, where chance seldom makes it, and never merges their classes."""

from __future__ import annotations

import json
from fractions import Fraction
from math import comb
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import triage
from tests.lives import DAY, Life, log
from triage.cli.main import main
from triage.knowledge.load import load
from triage.model import Findings, Hint
from triage.parsers.options import Options
from triage.verdict.chance import at_least, most_on_one, spoken

WEEKS = Path(__file__).resolve().parents[2] / "fixtures" / "outage-weeks" / "logs"
CUBLAS = "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasGemmEx(handle)`"
TRITON = "RuntimeError: Triton Error [CUDA]: operation not permitted"


def read(*paths: str) -> Findings:
    return triage.classify(list(paths), options=Options(year=2026))


def of(findings: Findings, name: str) -> list[Hint]:
    return [hint for hint in findings.hints if hint.id == name]


def crashes(on: list[int], **more: int) -> list[Life]:
    return [Life(n, pid=100 * n + 100, **more).serves().raises(rank, CUBLAS).dies() for n, rank in enumerate(on)]


# ------------------------------------------------------------------------------------------------ long prefills


def test_seventeen_days_of_outages_all_cublas_faults_came_in_prefills_of_more_than_1024_tokens() -> None:
    (hint,) = read(str(WEEKS)).hints
    assert hint.id == "prefill-chunks"
    assert "all 9 cublas-fault incidents" in hint.text
    chunks = [v.facts.chunk or 0 for v in read(str(WEEKS)).verdicts if v.fault_class == "cublas-fault"]
    assert min(chunks) > 1024
    assert f"fewer than {min(chunks):,} tokens" in hint.text
    assert len(hint.incidents) == 9
    assert hint.chance == pytest.approx(1 / 512)


def test_the_hint_stands_below_the_table_in_the_document_and_in_explain() -> None:
    run = CliRunner()
    table = " ".join(run.invoke(main, ["classify", str(WEEKS)]).stdout.split())
    assert "hint: all 9 cublas-fault incidents whose step is known came in a prefill" in table
    document = json.loads(run.invoke(main, ["classify", str(WEEKS), "--format", "json"]).stdout)
    (hint,) = document["hints"]
    assert set(hint["incidents"]) == {i["id"] for i in document["incidents"] if i["class"] == "cublas-fault"}
    assert all(line["line"] for line in hint["evidence"])
    explained = run.invoke(main, ["explain", hint["incidents"][0], str(WEEKS)]).stdout
    assert "came in a prefill" in explained
    other = next(i["id"] for i in document["incidents"] if i["class"] == "triton-fault")
    assert "came in a prefill" not in run.invoke(main, ["explain", other, str(WEEKS)]).stdout


def test_a_hint_does_not_speak_of_what_was_not_asked_for() -> None:
    assert of(triage.classify([str(WEEKS)], since=1_795_000_000.0), "prefill-chunks") == []
    document = json.loads(CliRunner().invoke(main, ["classify", str(WEEKS), "--class", "triton-fault", "--format", "json"]).stdout)
    assert document["hints"] == []


def steps(*counts: tuple[int, ...]) -> list[Life]:
    return [Life(n, pid=100 * n + 100).serves().raises(n % 8, CUBLAS).steps(*count).dies() for n, count in enumerate(counts)]


def test_one_decode_step_among_them_or_too_few_of_them_is_no_hint(tmp_path: Path) -> None:
    assert of(read(log(tmp_path, *steps(*[(2048, 1)] * 6, (1, 1)))), "prefill-chunks") == []
    assert of(read(log(tmp_path, *steps(*[(2048, 1)] * 4))), "prefill-chunks") == []
    assert len(of(read(log(tmp_path, *steps(*[(2048, 1)] * 5))), "prefill-chunks")) == 1


# ------------------------------------------------------------------------------------------- one rank, one host


def test_one_rank_that_carries_most_of_a_class_is_told(tmp_path: Path) -> None:
    (hint,) = of(read(log(tmp_path, *crashes([3, 3, 3, 5, 3]))), "one-rank")
    assert "rank 3 carries 4 of 5 cublas-fault incidents" in hint.text
    assert "all 8 ranks" in hint.text
    assert len(hint.incidents) == 4
    assert [line.rank for line in hint.evidence] == [3, 3, 3, 3]


def test_ranks_that_take_turns_or_are_few_are_not(tmp_path: Path) -> None:
    assert of(read(log(tmp_path, *crashes([3, 5, 1, 3, 0, 7]))), "one-rank") == []
    assert of(read(log(tmp_path, *crashes([1, 1, 0, 1], ranks=2))), "one-rank") == []


def test_one_host_that_carries_most_of_a_class_is_told(tmp_path: Path) -> None:
    hosts = {"gpu-a": [0, 3, 5, 6, 7, 1], "gpu-b": []}
    paths = []
    for host, ranks in hosts.items():
        lives = crashes(ranks) or [Life(1).serves(30)]
        lines = [f"Nov {DAY[3:]} {at(line)} {host} vllm[1]: {line}" for life in lives for line in life.lines]
        (tmp_path / f"{host}.log").write_text("\n".join(lines) + "\n")
        paths.append(str(tmp_path / f"{host}.log"))
    (hint,) = of(read(*paths), "one-host")
    assert "host gpu-a carries 6 of 6 cublas-fault incidents" in hint.text


def at(line: str) -> str:
    """The time in a line of a life; where it has none, one that does not matter."""
    return line.partition(f"{DAY} ")[2][:8] or "00:00:01"


# ------------------------------------------------------------------------------------------ after a new version


def test_all_after_a_change_of_version_is_told_with_the_running_time_on_both_sides(tmp_path: Path) -> None:
    before = [Life(0, pid=50, version="0.11.0").serves(600)]
    after = [Life(12 + n, pid=100 * n + 100, version="0.11.2").serves(20).raises(n, CUBLAS).dies() for n in range(3)]
    (hint,) = of(read(log(tmp_path, *before, *after)), "after-change")
    assert "all 3 cublas-fault incidents came after a change (vllm 0.11.0 to 0.11.2)" in hint.text
    assert "none in 10.0 h of running before it against 1.0 h since" in hint.text
    assert hint.chance is not None and hint.chance < 0.001


def test_one_before_the_change_or_too_little_time_before_it_is_not(tmp_path: Path) -> None:
    old = [Life(0, pid=50, version="0.11.0").serves(300).raises(1, CUBLAS).dies(), Life(6, pid=60, version="0.11.0").serves(300)]
    new = [Life(12 + n, pid=100 * n + 100, version="0.11.2").serves(20).raises(n, CUBLAS).dies() for n in range(3)]
    assert of(read(log(tmp_path, *old, *new)), "after-change") == []
    assert of(read(log(tmp_path, Life(11.5, pid=50, version="0.11.0").serves(10), *new)), "after-change") == []


# --------------------------------------------------------------------------------------- a container lost its GPU


def reload_at(hour: float, folder: Path, *, more: str = "") -> str:
    seconds = round(hour * 3600)
    stamp = f"2026-{DAY}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}+00:00 node-a"
    file = folder / "kernel.log"
    file.write_text(f"{stamp} systemd[1]: Reloading requested from client PID 4410 ('systemctl')...\n{more}")
    return str(file)


def refusals(*errors: tuple[float, str]) -> list[Life]:
    return [Life(hour, pid=100 * n + 100).serves().raises(n, error).dies() for n, (hour, error) in enumerate(errors)]


def test_a_refused_first_use_after_a_unit_reload_says_that_the_container_may_have_lost_its_gpu(tmp_path: Path) -> None:
    found = read(log(tmp_path, *refusals((3, TRITON), (4, CUBLAS))), reload_at(2.9, tmp_path))
    (hint,) = of(found, "container-lost-gpu")
    assert [v.fault_class for v in found.verdicts] == ["triton-fault", "cublas-fault"]
    assert set(hint.incidents) == {v.incident.id for v in found.verdicts}
    assert "2 refusals (cublas-fault, triton-fault) beside unit reload, and no line of broken hardware" in hint.text
    assert any("Reloading" in line.text for line in hint.evidence)


def test_three_masks_within_two_hours_need_no_reload(tmp_path: Path) -> None:
    plain = "torch.AcceleratorError: CUDA error: operation not permitted"
    found = read(log(tmp_path, *refusals((3, TRITON), (3.5, CUBLAS), (4, plain))))
    (hint,) = of(found, "container-lost-gpu")
    assert len({v.fault_class for v in found.verdicts}) == len(hint.incidents) == 3
    assert of(read(log(tmp_path, *refusals((3, TRITON), (3.5, CUBLAS)))), "container-lost-gpu") == []


def test_a_reload_long_before_or_long_after_is_not_beside_it(tmp_path: Path) -> None:
    path = log(tmp_path, *refusals((3, TRITON)))
    assert of(read(path, reload_at(1, tmp_path)), "container-lost-gpu") == []
    assert of(read(path, reload_at(3.5, tmp_path)), "container-lost-gpu") == []


def test_cublas_faults_alone_never_say_it(tmp_path: Path) -> None:
    assert of(read(log(tmp_path, *refusals((3, CUBLAS), (3.5, CUBLAS), (4, CUBLAS))), reload_at(2.9, tmp_path)), "container-lost-gpu") == []


def test_an_xid_beside_it_takes_the_hint_away(tmp_path: Path) -> None:
    xid = f"2026-{DAY}T03:03:01+00:00 node-a kernel: NVRM: Xid (PCI:0000:c1:00): 79, pid=4417, GPU has fallen off the bus.\n"
    found = read(log(tmp_path, *refusals((3, TRITON))), reload_at(2.9, tmp_path, more=xid))
    assert any(e.rule.startswith("gpu-hardware/") for v in found.verdicts for e in v.incident.events)
    assert of(found, "container-lost-gpu") == []


def test_reloads_of_weeks_are_all_seen(tmp_path: Path) -> None:
    path = log(tmp_path, *refusals((23, TRITON)))
    reload_at(22.9, tmp_path)
    last = (tmp_path / "kernel.log").read_text()
    early = "".join(last.replace(f"2026-{DAY}T22", f"2026-10-{day:02}T06") for day in range(1, 31))
    (tmp_path / "kernel.log").write_text(early + last)
    assert len(of(read(path, str(tmp_path / "kernel.log")), "container-lost-gpu")) == 1


@pytest.mark.parametrize("cause", load().common_causes.causes, ids=lambda cause: cause.id)
def test_the_texts_of_a_common_cause_are_what_they_say(cause: object) -> None:
    import regex

    from triage.knowledge.schema import CommonCause

    assert isinstance(cause, CommonCause)
    known = {s.id for c in load().classes.values() for s in c.signatures} | {s.id for s in load().echoes}
    assert set(cause.marks) <= known
    assert all(any(rule.startswith(start) for rule in known) for start in cause.never)
    assert all(regex.search(cause.refusals, sample) for sample in cause.samples)
    assert not any(regex.search(cause.refusals, near) or regex.search(cause.masks, near) for near in cause.near_misses)


# ------------------------------------------------------------------------------------------------------ chances


@given(st.integers(2, 16), st.integers(0, 40), st.data())
def test_the_tail_is_the_binomial_one(values: int, of: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, of))
    one = Fraction(1, values)
    exact = sum(comb(of, k) * one**k * (1 - one) ** (of - k) for k in range(hits, of + 1))
    assert at_least(hits, of, values) == pytest.approx(float(exact))
    assert most_on_one(hits, of, values) == pytest.approx(min(1.0, values * float(exact)))


def test_thousands_of_incidents_overflow_nothing() -> None:
    assert most_on_one(3000, 3000, 8) < 1e-300 or most_on_one(3000, 3000, 8) == 0.0
    assert 0.9 < at_least(350, 3000, 8) <= 1.0


@pytest.mark.parametrize(("chance", "text"), [(0.03, "3 %"), (0.002, "0.2 %"), (1e-9, "less than 0.01 %"), (1.0, "100 %")])
def test_a_chance_is_said_as_people_say_it(chance: float, text: str) -> None:
    assert spoken(chance) == text
