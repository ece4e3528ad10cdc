"""The snippets of docs/operations.md work: each is taken from the page and used."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tests.lived import at, between, write
from triage.cli.main import main
from triage.history.metrics import metrics
from triage.history.store import Store, open_store
from triage.ledger.entry import ADDED, Baseline, Entry
from triage.ledger.journal import append
from triage.ledger.metrics import metrics as ledger_metrics

PAGE = (Path(__file__).parent.parent / "docs" / "operations.md").read_text(encoding="utf-8")
CRASH = at("2026-11-13T02:40:00"), at("2026-11-13T03:20:00")
NOW = at("2026-11-29T00:00:00")
METRIC = re.compile(r"triage_[a-z_]+")
SAMPLE = re.compile(r'[a-z_]+(?:\{[a-z_]+="(?:[^"\\\n]|\\.)*"(?:,[a-z_]+="(?:[^"\\\n]|\\.)*")*\})? -?[0-9.e+]+')


def blocks(language: str) -> list[str]:
    every = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [text for name, text in every if name == language]


def commands() -> list[list[str]]:
    """Every call of triage on the page, as words."""
    text = "\n".join(text for language in ("cron", "ini", "") for text in blocks(language))
    calls = re.findall(r"(?:^|[ /])triage ((?:classify|probe|boots|watch|counts|history) .+)", text, re.MULTILINE)
    found = [re.split(r" >> | \|\| |'$|  +#", rest)[0] for rest in calls]
    yaml = [" ".join(json.loads(args)) for args in re.findall(r"args: (\[.*?\])", PAGE)]
    return [shlex.split(call) for call in (*found, *yaml)]


def parse(arguments: list[str]) -> None:
    """Let click read a call without running it."""
    command: Any = main
    context = click.Context(main)
    while isinstance(command, click.Group):
        name, command, arguments = command.resolve_command(context, arguments)
        context = click.Context(command, parent=context, info_name=name)
    command.parse_args(context, list(arguments))
    context.close()


def test_the_page_has_snippets_of_every_kind() -> None:
    assert (len(blocks("cron")), len(blocks("ini")), len(blocks("yaml"))) == (1, 3, 2)
    assert len(commands()) >= 10


@pytest.mark.parametrize("arguments", commands(), ids=" ".join)
def test_every_call_on_the_page_is_one_that_triage_takes(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inspect.json").write_text("[]")
    parse([str(tmp_path / "inspect.json") if word.startswith("/run/") else word for word in arguments])


def test_cron_lines_have_five_fields_a_user_and_a_command() -> None:
    lines = [line for line in blocks("cron")[0].splitlines() if line and not line.startswith("#") and not re.match(r"[A-Z_]+=", line)]
    assert len(lines) == 3
    for line in lines:
        fields = line.split(None, 6)
        assert all(re.fullmatch(r"[\d*/,-]+", field) for field in fields[:5])
        assert fields[5] == "root"
        assert "%" not in line, "cron takes a per cent sign for the end of the line"
        assert subprocess.run(["sh", "-n", "-c", fields[6]], check=False).returncode == 0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_timer_means_every_five_minutes() -> None:
    (calendar,) = re.findall(r"OnCalendar=(.+)", PAGE)
    told = subprocess.run(["systemd-analyze", "calendar", calendar], capture_output=True, text=True, check=True).stdout
    assert "*-*-* *:00/5:00" in told


def test_units_have_what_units_need() -> None:
    for unit in blocks("ini"):
        sections = re.findall(r"^\[(\w+)\]$", unit, re.MULTILINE)
        assert sections[0] == "Unit"
        assert ("Timer" in sections) != ("Service" in sections)
        assert all(re.fullmatch(r"(#.*|\[\w+\]|\w+=.*|)", line) for line in unit.splitlines())


@pytest.fixture
def written(tmp_path: Path) -> str:
    """What the run of the cron line writes for Prometheus."""
    log = write(tmp_path / "vllm.log", between("vllm.log", *CRASH), when=CRASH[1])
    append(tmp_path / "ledger.jsonl", ADDED, "m", Entry(name="m", fault_class="cublas-fault", changes=("A=1",), baseline=Baseline(4, 17 * 86400.0)))
    done = CliRunner().invoke(main, ["classify", log, "--new", "--quiet", "--source", 'gpu "a"\\1', "--store", str(tmp_path / "history.db"),
                                     "--prom", str(tmp_path / "triage.prom")])  # fmt: skip
    assert done.exit_code == 0
    assert {file.suffix for file in tmp_path.iterdir() if "prom" in file.name} == {".prom"}
    return (tmp_path / "triage.prom").read_text()


def test_the_metrics_are_in_the_text_format(written: str) -> None:
    assert written.endswith("\n")
    typed: dict[str, str] = {}
    for line in written.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in typed
            typed[name] = kind
        elif not line.startswith("# HELP "):
            assert SAMPLE.fullmatch(line), line
            assert line.split("{")[0].split()[0] in typed
    assert all((kind == "counter") == name.endswith("_total") for name, kind in typed.items())
    assert 'instance="gpu \\"a\\"\\\\1"' in written


def test_alerts_and_the_table_name_metrics_that_exist(written: str, tmp_path: Path) -> None:
    alerts = blocks("yaml")[1]
    told = set(METRIC.findall("\n".join(re.findall(r"expr: (.+)", alerts))))
    with open_store(tmp_path / "history.db", write=False) as store:
        known = {metric.name for metric in (*metrics(store.db, NOW), *ledger_metrics([], intact=True))}
    assert told <= known
    assert set(re.findall(r"^\| `(triage_[a-z_]+)", PAGE, re.MULTILINE)) == known
    assert {name for name in known if f"\n{name}" in f"\n{written}"} == known


def test_totals_never_fall(tmp_path: Path) -> None:
    from tests.lived import incidents, remember

    hang = at("2026-11-14T09:30:00"), at("2026-11-14T09:52:00"), at("2026-11-14T10:20:00")
    with open_store(tmp_path / "history.db") as store:
        seen = []
        for end in hang[1:]:
            remember(store, *(write(tmp_path / name, between(name, hang[0], end)) for name in ("probe.log", "vllm.log")))
            seen.append({labels["class"]: value for labels, value in metrics(store.db, NOW)[0].values})
        assert [row[1] for row in incidents(store)] == ["collective-hang"]
    assert seen == [{"unclassified": 1.0}, {"unclassified": 1.0, "collective-hang": 1.0}]


def ratio(store: Store, now: float) -> float:
    return next(metric.values[0][1] for metric in metrics(store.db, now) if metric.name == "triage_log_coverage_ratio")


def test_coverage_falls_when_the_logs_go_silent_and_is_whole_on_the_first_day(tmp_path: Path) -> None:
    from tests.lived import remember

    start, end = at("2026-11-12T00:00:00"), at("2026-11-13T00:00:00")
    with open_store(tmp_path / "history.db") as store:
        remember(store, write(tmp_path / "probe.log", between("probe.log", start, end)))
        assert ratio(store, end + 300) == pytest.approx(1.0)
        assert ratio(store, end + 86400) == pytest.approx(0.5, abs=0.01)
        assert ratio(store, end + 30 * 86400) == 0.0


def test_the_cronjob_lays_the_store_where_the_command_looks() -> None:
    job = blocks("yaml")[0]
    (store,) = re.findall(r"value: (/\S+)", job)
    mounts = re.findall(r"mountPath: (/[\w/]+)", job)
    assert str(Path(store).parent) in mounts
    assert all(not arg.startswith("/") or any(arg.startswith(mount) for mount in mounts) for arg in json.loads(re.findall(r"args: (\[.*\])", job)[0]))
