"""Exports of hosts in one table: what was recorded comes through, and strange, cut, old and newer files cost their host and no more."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

duckdb = pytest.importorskip("duckdb")

from docs.fleet_example import BEGIN, tables, write  # noqa: E402
from tests.sources.remote.servers import web_server  # noqa: E402
from triage.fleet import FleetError, load  # noqa: E402
from triage.history.export import as_parquet  # noqa: E402
from triage.history.fleet import FILES, FORMAT, folder_of  # noqa: E402

DAY = 86400.0


def crash(host: str, day: float, **more: Any) -> dict[str, Any]:
    row = {"id": f"{host}-{day}", "class": "cublas-fault", "family": "instant", "fault": 1, "dismissed": 0, "seen": BEGIN + day * DAY, "host": host}
    return row | more


def host(folder: Path, name: str, *incidents: dict[str, Any], exported: float = 0.0, **more: Any) -> Path:
    made = tables(name) | {"incidents": list(incidents)} | more
    made["about"][0]["exported"] += exported
    write(folder, name, made)
    return folder / folder_of(name)


def test_all_hosts_are_counted_by_class_driver_and_version(tmp_path: Path) -> None:
    host(tmp_path, "a", crash("a", 1, driver="580.1", version="0.27"), crash("a", 2, driver="580.1", version="0.27"), crash("a", 3, driver="570.2"))
    host(tmp_path, "b", crash("b", 4), crash("b", 5, fault=0), crash("b", 6, dismissed=1))
    found = load([str(tmp_path)])
    assert found.hosts == ("a", "b")
    assert [(c.host, c.driver, c.version, c.count) for c in found.counts] == [("a", "580.1", "0.27", 2), ("a", "570.2", "", 1), ("b", "", "", 1)]
    assert (found.boots, found.dismissed, found.problems) == (2, 1, ())
    assert found.seen == {"a": 28 * DAY, "b": 28 * DAY}


def test_the_window_narrows_incidents_and_the_time_seen(tmp_path: Path) -> None:
    host(tmp_path, "a", crash("a", 1), crash("a", 20))
    found = load([str(tmp_path)], since=BEGIN + 10 * DAY, until=BEGIN + 21 * DAY)
    assert [c.count for c in found.counts] == [1]
    assert found.seen == {"a": 11 * DAY}
    assert (found.start, found.end) == (BEGIN + 10 * DAY, BEGIN + 21 * DAY)


def test_stretches_that_overlap_count_once(tmp_path: Path) -> None:
    days = (("log", 0, 5), ("probe", 2, 4), ("log", 4, 7))
    stretches = [{"host": "a", "kind": kind, "start": BEGIN + begin * DAY, "end": BEGIN + end * DAY} for kind, begin, end in days]
    host(tmp_path, "a", coverage=stretches)
    assert load([str(tmp_path)]).seen == {"a": 7 * DAY}


def test_a_host_that_was_exported_twice_is_counted_once_as_it_was_last_said(tmp_path: Path) -> None:
    host(tmp_path / "monday", "a", crash("a", 1), crash("a", 2))
    host(tmp_path / "friday", "a", crash("a", 2, **{"class": "triton-fault"}), crash("a", 3), exported=DAY)
    found = load([str(tmp_path / "monday"), str(tmp_path / "friday")])
    assert [(c.fault_class, c.count) for c in found.counts] == [("cublas-fault", 2), ("triton-fault", 1)]
    assert found.seen == {"a": 28 * DAY}


def rewrite(file: Path, **columns: Any) -> None:
    """Change a file by SQL: a column's name to what it shall be, None to drop it."""
    dropped = ", ".join(f'"{name}"' for name, value in columns.items() if value is None)
    put = ", ".join(f'{value} AS "{name}"' for name, value in columns.items() if value is not None)
    stars = f"* EXCLUDE ({dropped})" if dropped else f"* REPLACE ({put})"
    other = file.with_suffix(".new")
    duckdb.execute(f"COPY (SELECT {stars} FROM read_parquet('{file}')) TO '{other}' (FORMAT parquet)")
    other.replace(file)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda f: (f / "incidents.parquet").write_bytes(b"no parquet"), "incidents.parquet: "),
        (lambda f: (f / "incidents.parquet").write_bytes(b""), "incidents.parquet: "),
        (lambda f: (f / "incidents.parquet").write_bytes((f / "incidents.parquet").read_bytes()[:-100]), "incidents.parquet: "),
        (lambda f: (f / "coverage.parquet").unlink(), "coverage.parquet: No such file"),
        (lambda f: rewrite(f / "about.parquet", format=FORMAT + 1), f"a newer triage wrote it (format {FORMAT + 1}, this one knows {FORMAT})"),
        (lambda f: rewrite(f / "about.parquet", format=None), "is no export of triage: no column format"),
        (lambda f: rewrite(f / "about.parquet", exported="NULL::DOUBLE"), "is empty"),
        (lambda f: rewrite(f / "incidents.parquet", **{"class": None}), "no column class"),
        (lambda f: rewrite(f / "incidents.parquet", seen="'yesterday'"), "incidents.parquet: "),
    ],
)
def test_what_is_no_export_costs_that_host_and_is_told(tmp_path: Path, spoil: Any, told: str) -> None:
    host(tmp_path, "good", crash("good", 1))
    spoil(host(tmp_path, "bad", crash("bad", 1)))
    found = load([str(tmp_path)])
    assert found.hosts == ("good",)
    assert [c.host for c in found.counts] == ["good"]
    (problem,) = found.problems
    assert told in f"{problem.file}: {problem.what}"
    assert problem.what.endswith("nothing of this host is counted")
    assert problem.lost


def test_columns_that_an_older_triage_did_not_write_are_empty_and_newer_ones_are_passed_over(tmp_path: Path) -> None:
    folder = host(tmp_path, "a", crash("a", 1, driver="580.1"))
    rewrite(folder / "incidents.parquet", driver=None)
    file = folder / "boots.parquet"
    duckdb.execute(f"COPY (SELECT *, 7 AS later FROM read_parquet('{file}')) TO '{file}.new' (FORMAT parquet)")
    Path(f"{file}.new").replace(file)
    found = load([str(tmp_path)])
    assert [(c.driver, c.count) for c in found.counts] == [("", 1)]
    assert found.problems == ()


def test_names_are_text_whatever_they_hold(tmp_path: Path) -> None:
    nasty = "a'; DROP TABLE incidents; --\x1b[31m"
    host(tmp_path / "it's", nasty, crash(nasty, 1, version="x" * 5000))
    found = load([str(tmp_path)])
    assert found.hosts == (nasty,)
    assert len(found.counts[0].version) == 200


def test_nothing_to_read_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="holds no export"):
        load([str(tmp_path)])
    with pytest.raises(FleetError, match="No such file"):
        load([str(tmp_path / "none")])


def test_a_class_that_no_host_has_seen_is_refused(tmp_path: Path) -> None:
    host(tmp_path, "a", crash("a", 1), crash("a", 2, **{"class": "triton-fault"}))
    assert [c.fault_class for c in load([str(tmp_path)], classes=["triton-fault"]).counts] == ["triton-fault"]
    with pytest.raises(FleetError, match="there are cublas-fault, triton-fault"):
        load([str(tmp_path)], classes=["cublas"])


def test_exports_may_lie_on_a_web_server(tmp_path: Path) -> None:
    host(tmp_path, "a", crash("a", 1))
    with web_server() as web:
        web.files |= {f"/fleet/host=a/{file.name}": file.read_bytes() for file in (tmp_path / "host=a").iterdir()}
        web.files["/fleet/"] = b'<a href="host=a/">a</a>'
        web.files["/fleet/host=a/"] = b"".join(b'<a href="%s.parquet">x</a>' % name.encode() for name in FILES)
        web.types |= {"/fleet/": "text/html", "/fleet/host=a/": "text/html"}
        found = load([f"{web.url}/fleet/"])
    assert ([c.count for c in found.counts], found.problems) == ([1], ())


def test_the_example_in_the_docs_is_what_its_script_writes(tmp_path: Path) -> None:
    from docs import fleet_example

    for name in fleet_example.HOSTS:
        write(tmp_path, name, tables(name))
    assert load([str(tmp_path)]) == load([str(fleet_example.FOLDER)])
    shutil.rmtree(tmp_path)


def test_an_empty_host_is_a_host(tmp_path: Path) -> None:
    host(tmp_path, "a", boots=[], coverage=[])
    host(tmp_path, "b", crash("b", 1))
    found = load([str(tmp_path)])
    assert (found.hosts, len(found.counts), found.seen) == (("a", "b"), 1, {"b": 28 * DAY})


def test_who_only_collects_the_logs_of_others_is_no_host_of_the_fleet(tmp_path: Path) -> None:
    host(tmp_path, "collector", crash("gpu-a", 1), crash("gpu-b", 2), boots=[], coverage=[{"host": "gpu-a", "start": BEGIN, "end": BEGIN + DAY}])
    assert load([str(tmp_path)]).hosts == ("gpu-a", "gpu-b")


def test_a_table_of_nothing_is_a_file() -> None:
    assert as_parquet((["x"], []), {"x": "TEXT"})
