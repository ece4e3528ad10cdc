"""What an engine wrote last before a turn is kept, whatever it says; what a rule knows as routine is not shown."""

from __future__ import annotations

from pathlib import Path

from tests.lives import Life, log
from triage.knowledge.load import load
from triage.model import Verdict
from triage.parsers.options import Options
from triage.pipeline import gather, judged


def last_lines(path: str) -> list[list[str]]:
    known = load()
    verdicts: tuple[Verdict, ...] = judged(gather([path], known), known, lines_of_all=True).verdicts
    return [[e.data["message"] for e in v.last_lines] for v in verdicts]


def test_the_last_lines_before_a_death_are_kept_though_nothing_in_them_looks_like_trouble(tmp_path: Path) -> None:
    life = Life(3).serves(3).core("INFO", "lease.py:10", "the lease of pool 4 ends here").raw("        exitCode: 137").dies()
    (lines,) = last_lines(log(tmp_path, life))
    assert lines[-3:] == ["the lease of pool 4 ends here", "exitCode: 137", "EngineCore encountered a fatal error."] or lines[-2:] == [
        "the lease of pool 4 ends here", "exitCode: 137",
    ]  # fmt: skip
    assert not any("throughput" in line for line in lines)


def test_frames_and_their_source_are_not(tmp_path: Path) -> None:
    life = Life(3).serves(1).raises(2, "acme.Odd: no page", ["/opt/acme/pool.py:7 take"]).dies()
    (lines,) = last_lines(log(tmp_path, life))
    assert not any(line.startswith(("File ", "return ", "Traceback")) for line in lines)


def test_each_life_has_its_own_last_lines(tmp_path: Path) -> None:
    lives = [Life(hour).serves(1).core("INFO", "lease.py:10", f"lease {word} ends").dies() for hour, word in ((3, "amber"), (9, "birch"))]
    first, second = last_lines(log(tmp_path, *lives))
    assert "lease amber ends" in first
    assert "lease birch ends" in second
    assert "lease amber ends" not in second


def test_nobody_pays_for_them_unasked(tmp_path: Path) -> None:
    known = load()
    path = log(tmp_path, Life(3).serves(1).core("INFO", "lease.py:10", "the lease ends").dies())
    assert [v.last_lines for v in judged(gather([path], known), known).verdicts] == [()]
    without = gather([path], known, options=Options(last_lines=False))
    assert [reading.tail for reading in without.readings] == [None]
    assert judged(without, known) == judged(gather([path], known), known)


def test_what_the_kernel_said_at_the_time_belongs_to_them(tmp_path: Path) -> None:
    known = load()
    engine = log(tmp_path, Life(3).serves(1).dies())
    said_at = (("03:01:04", 7), ("09:00:00", 8))
    kernel = tmp_path / "kernel.log"
    kernel.write_text("".join(f"2026-11-20T{at}+0000 gpu-1 kernel: NVRM: the board spoke of page {page}\n" for at, page in said_at))
    (verdict,) = judged(gather([engine, str(kernel)], known), known, lines_of_all=True).verdicts
    said = [e.text for e in verdict.last_lines if e.origin == "kernel"]
    assert ["page 7" in text for text in said] == [True]


def test_what_a_rule_knows_only_as_context_is_among_them(tmp_path: Path) -> None:
    said = "node-a:812:1033 [0] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_3:1 Got async event : the port is dry"
    (lines,) = last_lines(log(tmp_path, Life(3).serves(1).raw(said).dies()))
    assert said in lines


def test_a_rule_that_takes_figures_from_a_line_does_not_hide_it(tmp_path: Path) -> None:
    known = load()
    path = log(tmp_path, Life(3).serves(1).worker(1, "ERROR", "pool.py:7", "acme.PoolError: the ring broke, NCCL version 2.20.5").dies())
    (verdict,) = judged(gather([path], known), known, lines_of_all=True).verdicts
    assert verdict.incident.boot is not None
    assert "config" in {e.kind for e in verdict.incident.boot.events}
    assert verdict.best_lines[0].data["message"].startswith("acme.PoolError: the ring broke")
    assert any("the ring broke" in e.data["message"] for e in verdict.last_lines)


def test_a_plain_line_of_figures_is_still_routine(tmp_path: Path) -> None:
    (lines,) = last_lines(log(tmp_path, Life(3).serves(1).core("INFO", "nccl.py:7", "vLLM is using nccl==2.20.5").dies()))
    assert not any("2.20.5" in line for line in lines)
