"""The answer does not depend on the order in which the files are given."""

from __future__ import annotations

from pathlib import Path

from triage.pipeline import classify

ROW = "2026-11-{:02}T09:{:02}:00Z {} 0.{} exit={}\n"


def test_outages_come_in_the_order_of_time_however_the_probe_logs_are_given(tmp_path: Path) -> None:
    files = []
    for day in (3, 1, 2):
        file = tmp_path / f"probe-of-{day}" / "probe.log"
        file.parent.mkdir()
        file.write_text("".join(ROW.format(day, minute, *(("000", 1, 7) if 20 <= minute < 25 else ("200", 4, 0))) for minute in range(40)))
        files.append(str(file))
    found = [classify(order).outages for order in (files, files[::-1])]
    assert found[0] == found[1]
    assert [outage.began.earliest for outage in found[0]] == sorted(outage.began.earliest for outage in found[0])
    assert len(found[0]) == 3
