"""What a start of `triage` loads: a cron job that runs every minute must not wait for libraries it does not use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SLOW_TO_LOAD = {"altair", "asyncio", "duckdb", "importlib.metadata", "jinja2", "numpy", "pandas", "ray", "rich", "scipy", "sklearn", "yaml"}
NOT_FOR_HELP = SLOW_TO_LOAD | {"dataclasses", "hyperscan", "logging", "orjson", "sqlite3", "tabulate"}
NOT_FOR_A_HEALTHY_LOG = {
    "bz2", "csv", "email", "gzip", "logging", "lzma", "multiprocessing", "random", "signal", "socket", "sqlite3", "tabulate", "tempfile", "tomllib",
    "triage.knowledge.fragments", "triage.parsers.gpu_memory", "triage.parsers.probe", "triage.sources.ahead", "triage.sources.remote",
}  # fmt: skip

RUN_AND_TELL = """
import json, sys
from triage.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    json.dump({"exit": end.code, "modules": list(sys.modules)}, sys.stderr)
"""


def modules_after(*arguments: str) -> set[str]:
    """The modules that are loaded once `triage ARGUMENTS` has run in a fresh interpreter."""
    command = [sys.executable, "-c", RUN_AND_TELL, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=True)
    told = json.loads(done.stderr[done.stderr.rindex('{"exit"') :])
    assert not told["exit"], done.stderr
    return set(told["modules"])


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["classify", "--help"], ["explain", "--help"], ["ledger", "--help"],
                                       ["mitigation", "add", "--help"], ["power", "--help"]], ids=" ".join)
def test_help_loads_nothing_it_does_not_need(arguments: list[str]) -> None:
    assert not modules_after(*arguments) & NOT_FOR_HELP


def test_classify_for_a_machine_loads_no_frames_or_models() -> None:
    assert not modules_after("classify", "fixtures/outage-weeks", "--format", "json") & SLOW_TO_LOAD


def test_a_cron_run_that_judges_the_ledger_waits_for_no_statistics() -> None:
    journal = ("--ledger", "fixtures/two-fixes/ledger.jsonl")
    assert not modules_after("ledger", "fixtures/two-fixes/logs", *journal, "--format", "json") & SLOW_TO_LOAD
    assert not modules_after("power", "--runs", "12", "--each", "10m", "--rate", "1/d") & SLOW_TO_LOAD


def test_a_small_log_of_a_healthy_engine_waits_for_nothing_that_only_others_need(tmp_path: Path) -> None:
    line = "INFO 11-20 05:51:{:02} [loggers.py:123] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 9.5 tokens/s\n"
    log = tmp_path / "vllm.log"
    log.write_text("".join(map(line.format, range(60))))
    modules_after("classify", str(log), "--format", "json")  # which may have to compile the rules
    loaded = modules_after("classify", str(log), "--format", "json")
    assert not loaded & (SLOW_TO_LOAD | NOT_FOR_A_HEALTHY_LOG)
    ours = [ROOT / name.replace(".", "/") for name in loaded if name.startswith("triage.")]
    sources = [(path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8") for path in ours]
    assert len(sources) > 50
    assert not any("(NamedTuple)" in source for source in sources)  # to make the class of a struct takes a ninth of the time
