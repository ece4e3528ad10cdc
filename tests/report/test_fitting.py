"""What fits the terminal: columns that give way in order, long lines under themselves, and nothing cut where there is room."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from triage.cli.main import main
from triage.report.fitting import columns, fitted_table, shortened, wrapped

WEEKS = str(Path(__file__).resolve().parents[2] / "fixtures" / "outage-weeks")

BOOTS_80 = """\
boot      engine       start        ready        end          ended by
--------  -----------  -----------  -----------  -----------  ------------------
970b1ac8  vllm 0.27.0  11-12 00:00  11-12 00:07  11-12 13:31  death-worker-died
959e7aee  vllm 0.27.0  11-12 13:32  11-12 13:39  11-13 03:02  death-worker-died
5de8aa5f  vllm 0.27.0  11-13 03:02  11-13 03:08  11-14 09:57  death-watchdog-ti…
"""
OUTAGES_80 = """\
from         to     failed    first    symbols    class            incident
-----------  -----  --------  -------  ---------  ---------------  ----------
11-12 13:33  13:42  3         refused  rrr        cublas-fault     8c31e602
11-13 03:03  03:09  2         refused  rr         cublas-fault     ea6c1a8e
11-14 09:48  10:06  6         timeout  ttttrr     collective-hang  f3793506
"""
BY_BOOT_80 = """\
14 files, 7.5 MB, 2026-11-12 00:00 to 11-28 23:57 UTC, 18 boots, coverage 100%

boot      class              n  time to death    dump    probe    seen
--------  ---------------  ---  ---------------  ------  -------  -----------
414dbb11  triton-fault       1  88 s             0/1     refused  11-15 16:30
"""


def shown(monkeypatch: pytest.MonkeyPatch, width: int, *arguments: str) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    return CliRunner().invoke(main, [*arguments, WEEKS], catch_exceptions=False).stdout


@pytest.mark.parametrize(
    ("arguments", "golden"), [(["boots"], BOOTS_80), (["outages"], OUTAGES_80), (["classify", "--by", "boot"], BY_BOOT_80)], ids=lambda a: str(a)[:20]
)
def test_tables_at_80_columns(monkeypatch: pytest.MonkeyPatch, arguments: list[str], golden: str) -> None:
    assert shown(monkeypatch, 80, *arguments).startswith(golden)


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("command", ["boots", "outages", "classify", "classify --by boot", "classify --by host", "classify --explain", "explain all"])
def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, command: str, width: int) -> None:
    lines = shown(monkeypatch, width, *command.split()).splitlines()
    longest = max(lines, key=len)
    assert len(lines) > 10
    assert len(longest) <= width or " " not in longest.strip(), longest


def test_a_wide_terminal_shows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "death: torch/death-watchdog-timeout  banner" in shown(monkeypatch, 140, "boots")
    assert "family" in shown(monkeypatch, 140, "classify", "--by", "boot")
    assert "/dist-packages/vllm/models/deepseek_v4/attention.py:437 indexer_compressor_kv_score" in shown(monkeypatch, 300, "explain", "all")


def test_markdown_is_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "death: torch/death-watchdog-timeout" in shown(monkeypatch, 80, "boots", "--format", "markdown")


def test_columns_give_way_in_order_and_only_as_far_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    rows = [("a" * 30, "b" * 30, "c" * 10)]
    cut = fitted_table(("one", "two", "three"), rows, "simple", (("two", 10), ("one", 0))).splitlines()
    assert cut[2].split() == ["a" * 30, "b" * 15 + "…", "c" * 10]
    left_out = fitted_table(("one", "two", "three"), rows, "simple", (("one", 0), ("two", 10))).splitlines()
    assert left_out[2].split() == ["b" * 30, "c" * 10]


def test_a_width_that_is_not_known_is_80(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.__stdout__", None)
    assert columns() == 80


def test_of_the_id_of_a_rule_the_last_part_stays() -> None:
    assert shortened("death: vllm/death-worker-died", 17) == "death-worker-died"
    assert shortened("death: vllm/death-worker-died", 10) == "death-wor…"
    assert shortened("short", 5) == "short"


def test_long_lines_go_on_under_their_text_and_commands_stay_whole() -> None:
    lines = wrapped("  dump       absent: " + "word " * 20, 60).splitlines()
    assert len(lines) > 1
    assert all(line.startswith(" " * 13 + "word") for line in lines[1:])
    told = wrapped("  - look for an earlier fault in the kernel log: `journalctl -k | grep Xid`", 60).splitlines()
    assert told[1] == "    `journalctl -k | grep Xid`"
