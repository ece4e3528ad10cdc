"""Every scenario under fixtures/ against its expected.toml: what `triage classify` says of it, as JSON and as a table."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tomllib
from collections import Counter
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main
from triage.pipeline import classify as classify_paths

FIXTURES = Path(__file__).parent.parent / "fixtures"
SCENARIOS = sorted(path.parent.name for path in FIXTURES.glob("*/expected.toml"))
NEAR = timedelta(seconds=15)

Table = dict[str, Any]
each_scenario = pytest.mark.parametrize("name", SCENARIOS)


def expected_of(name: str) -> Table:
    return tomllib.loads((FIXTURES / name / "expected.toml").read_text(encoding="utf-8"))


@cache
def classify(name: str, form: str) -> Result:
    options = expected_of(name).get("options", [])
    return CliRunner().invoke(main, ["classify", str(FIXTURES / name / "logs"), "--format", form, *options])


def document_of(name: str) -> Table:
    found: Table = json.loads(classify(name, "json").stdout)
    return found


def counts_in(document: Table) -> dict[str, int]:
    """Counts by class, without classes that were not seen; the row of unclassified incidents is always there."""
    counts: Counter[str] = Counter()
    for row in document["counts"]:
        counts[row["class"]] += row["count"]
    return {name: count for name, count in counts.items() if count}


def when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def fits(expected: Table, incident: Table) -> bool:
    """Whether `incident` may be the expected one: its class, and its onset where one is expected."""
    if incident["class"] != expected["class"]:
        return False
    if "onset" not in expected:
        return True
    onset = incident["onset"]
    if not onset:
        return False
    earliest, latest = when(onset["earliest"]), when(onset["latest"])
    asked = expected["onset"] if re.match(r"\d{4}-", expected["onset"]) else f"{earliest.year}-{expected['onset']}"
    return earliest - NEAR <= when(f"{asked}+00:00") <= latest + NEAR


def pair(expected: list[Table], incidents: list[Table]) -> list[tuple[Table, Table]]:
    """Each expected incident with a reported one of its own."""
    left, pairs = list(incidents), []
    for one in expected:
        match = next((incident for incident in left if fits(one, incident)), None)
        assert match, f"not reported: {one}"
        left.remove(match)
        pairs.append((one, match))
    return pairs


def told(incident: Table) -> Table:
    """What an incident's document says, under the names that expected.toml uses."""
    root, spent = incident["root"] or {}, incident["time_to_death"] or {}
    return {
        "family": incident["family"],
        "phase": incident["phase"],
        "engine": incident["engine"],
        "probe": (incident["probe"] or {}).get("first"),
        "dump": incident["dump"]["state"],
        "suspects": {suspect["rank"] for suspect in incident["dump"]["suspects"]},
        "seconds": (spent.get("low"), spent.get("high")),
        "root": root.get("text", ""),
        "rank": root.get("rank"),
    }


def differences(expected: Table, incident: Table) -> list[str]:
    """Each key whose value is not as expected, with both values."""
    said = told(incident)
    return [f"{key}: {value} expected, {said[key]} reported" for key, value in expected.items() if key in said and not agrees(key, value, said[key])]


def agrees(key: str, expected: Any, said: Any) -> bool:
    if key == "root":
        return bool(re.search(expected, said))
    if key == "suspects":
        return bool(set(expected) <= said)
    if key == "seconds":
        return None not in said and bool(expected[0] <= said[0] and said[1] <= expected[1])
    return bool(expected == said)


@each_scenario
def test_exit_code(name: str) -> None:
    result = classify(name, "json")
    assert result.exit_code == expected_of(name)["exit_code"], result.stderr


@each_scenario
def test_counts(name: str) -> None:
    asked, counts = expected_of(name)["counts"], counts_in(document_of(name))
    assert set(counts) <= set(asked)
    for fault_class, count in asked.items():
        low, high = count if isinstance(count, list) else (count, count)
        assert low <= counts.get(fault_class, 0) <= high, fault_class


@each_scenario
def test_incidents(name: str) -> None:
    expected = expected_of(name).get("incident", [])
    wrong = [(one["class"], differences(one, incident)) for one, incident in pair(expected, document_of(name)["incidents"])]
    assert not [entry for entry in wrong if entry[1]]


@each_scenario
def test_families_and_boots(name: str) -> None:
    expected, document = expected_of(name), document_of(name)
    if families := expected.get("families"):
        assert Counter(incident["family"] for incident in document["incidents"]) == families
    assert len(document["boots"]) == expected["boots"]


@each_scenario
def test_outages(name: str) -> None:
    outages = document_of(name)["outages"]
    expected = expected_of(name).get("outages", {"count": 0, "failed": 0, "first": {}})
    assert len(outages) == expected["count"]
    assert sum(outage["failed"] for outage in outages) == expected["failed"]
    assert Counter(outage["first"] for outage in outages) == expected.get("first", {})


@each_scenario
def test_the_table_says_what_limits_the_answer(name: str) -> None:
    result = classify(name, "table")
    shown = f"{result.stdout}\n{result.stderr}".lower()
    assert [phrase for phrase in expected_of(name).get("says", []) if phrase.lower() not in shown] == []


def summary(paths: list[str]) -> tuple[dict[str, int], list[Any]]:
    """Counts and outages of one run."""
    document = json.loads(CliRunner().invoke(main, ["classify", *paths, "--format", "json"]).stdout)
    return counts_in(document), [(outage["symbols"], outage["from"]) for outage in document["outages"]]


def sources_of(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


@each_scenario
def test_a_scenarios_own_papers_are_no_evidence(name: str) -> None:
    options = expected_of(name).get("options", [])
    assert summary([str(FIXTURES / name), *options]) == summary([str(FIXTURES / name / "logs"), *options])


def test_the_order_of_files_changes_nothing() -> None:
    logs = FIXTURES / "outage-weeks" / "logs"
    assert summary(sources_of(logs)[::-1]) == summary([str(logs)])


def test_a_folder_given_twice_counts_once() -> None:
    logs = str(FIXTURES / "outage-weeks" / "logs")
    assert summary([logs, logs]) == summary([logs])


def test_a_copy_with_every_file_compressed_says_the_same(tmp_path: Path) -> None:
    logs, copy = FIXTURES / "outage-weeks" / "logs", tmp_path / "logs"
    shutil.copytree(logs, copy)
    for path in [path for path in copy.rglob("*") if path.is_file() and path.suffix != ".gz"]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    assert summary([str(copy)]) == summary([str(logs)])


def test_a_log_of_errors_alone_gives_the_same_crashes(tmp_path: Path) -> None:
    """What `grep ERROR`, a query by level, or a quiet log level leaves: no banner, no READY, no statistics."""
    rotations = (FIXTURES / "outage-weeks" / "logs").glob("vllm.log*")
    oldest_first = sorted(rotations, key=lambda file: -int(re.sub(r"\D", "", file.name) or 0))
    lines = b"".join(gzip.decompress(f.read_bytes()) if f.suffix == ".gz" else f.read_bytes() for f in oldest_first).splitlines(keepends=True)
    kept = [line for line in lines if b" ERROR " in line or b"[rank" in line[:80] or b"terminate called" in line]
    (tmp_path / "vllm.log").write_bytes(b"".join(kept))
    counts = Counter(verdict.fault_class for verdict in classify_paths(str(tmp_path / "vllm.log")).verdicts)
    assert counts == {"cublas-fault": 9, "collective-hang": 4, "triton-fault": 4}
