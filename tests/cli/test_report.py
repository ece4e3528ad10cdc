"""`triage report` and the formats for CI: what is written where, what is refused with a word, and that no secret leaves."""

from __future__ import annotations

import json
import os
import pickle
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from tests import planted
from triage.cli.main import main

ROOT = Path(__file__).parent.parent.parent
CRASH = ROOT / "fixtures" / "two-pods-interleaved"
FORMATS = ("html", "markdown", "sarif", "junit")


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner(env={"COLUMNS": "80", **environment}).invoke(main, list(arguments), prog_name="triage")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("store") / "history.db"
    assert run("classify", str(ROOT / "fixtures" / "outage-weeks"), "--record", "--store", str(path)).exit_code == 0
    return str(path)


@pytest.mark.parametrize(("form", "begins"), [("html", "<!doctype html>"), ("markdown", "# Postmortem"), ("sarif", "{"), ("junit", "<?xml")])
def test_each_format_goes_to_stdout_or_into_a_file(form: str, begins: str, tmp_path: Path) -> None:
    printed = run("report", str(CRASH), "--format", form)
    assert printed.exit_code == 0
    assert printed.stdout.startswith(begins)
    file = tmp_path / "out"
    assert run("report", str(CRASH), "--format", form, "-o", str(file)).stdout == ""
    assert file.read_text().startswith(begins)


def test_from_the_history_it_tells_the_same_incidents(store: str) -> None:
    kept = run("report", "--store", store, "--format", "sarif")
    assert kept.exit_code == 0
    assert len(json.loads(kept.stdout)["runs"][0]["results"]) == 17
    few = run("report", "--store", store, "--since", "2026-11-27", "--format", "markdown")
    assert "**2 incidents: 1 collective-hang, 1 triton-fault.**" in few.stdout


def test_the_store_may_be_named_in_the_environment(store: str) -> None:
    assert "17 incidents" in run("report", "--format", "markdown", TRIAGE_STORE=store).stdout
    assert "1 incident: 1 device-assert" in run("report", str(CRASH), "--format", "markdown", TRIAGE_STORE=store).stdout


def test_of_a_part_of_the_time_it_tells_that_time_only(store: str) -> None:
    """Four incidents of four days are not four of seventeen days, whether they come from logs or from the history."""
    asked = ("--since", "2026-11-20", "--until", "2026-11-24", "--format", "markdown")
    for where in ([str(ROOT / "fixtures" / "outage-weeks")], ["--store", store]):
        told = run("report", *where, *asked).stdout
        assert "**4 incidents" in told
        assert "2026-11-20 00:00 to 11-24 00:00 UTC" in told
        assert "| 4.0 d |" in told
        assert "2026-11-12" not in told
        assert "of 8,156" not in told
        hours = re.search(r"faults in (\d+) engine-hours", told)
        assert hours and 90 < int(hours[1]) <= 96


def test_a_report_of_one_class_says_so_and_claims_nothing_of_others() -> None:
    where = (str(ROOT / "fixtures" / "outage-weeks"), "--class", "triton-fault")
    told = run("report", *where, "--format", "markdown").stdout
    assert "UTC, only triton-fault" in told
    assert "only triton-fault was asked for: 13 incidents of other classes are not in here" in told
    assert "4 outages (4 refused first)" in told
    assert "cublas" not in told
    assert "unclassified" not in told
    for command in ("report", "classify"):
        (suite,) = ElementTree.fromstring(run(command, *where, "--format", "junit").stdout)
        assert [case.get("name") for case in suite.iter("testcase")] == ["all input could be read", "no triton-fault"]


def test_none_of_a_class_is_not_said_to_be_no_fault() -> None:
    told = run("report", str(CRASH), "--class", "host-oom", "--format", "markdown").stdout
    assert "**No host-oom was found.**" in told
    assert "1 incident of other classes is not in here" in told


def test_the_history_says_what_it_does_not_keep_and_what_people_said(store: str, tmp_path: Path) -> None:
    mine = str(tmp_path / "mine.db")
    shutil.copy(store, mine)
    assert run("history", "dismiss", "8c31e602", "--reason", "load test", "--store", mine).exit_code == 0
    assert run("history", "relabel", "ea6c1a8e", "triton-fault", "--reason", "seen", "--store", mine).exit_code == 0
    told = run("report", "--store", mine, "--format", "markdown").stdout
    assert "does not keep which clocks were assumed" in told
    assert "1 incident that people dismissed is not counted" in told
    assert "1 incident has the class that people gave" in told
    assert "Nothing that was read limits this report" not in told
    (suite,) = ElementTree.fromstring(run("report", "--store", mine, "--format", "junit").stdout)
    assert suite.get("skipped") == str(len(list(suite.iter("skipped")))) == "1"


def test_a_file_with_nothing_in_it_is_no_proof_of_health(tmp_path: Path) -> None:
    (tmp_path / "vllm.log").touch()
    told = run("report", str(tmp_path / "vllm.log"), "--format", "markdown").stdout
    assert "nothing that was read tells a time" in told
    assert "Nothing that was read limits this report" not in told


def test_only_a_class() -> None:
    told = run("report", str(ROOT / "fixtures" / "engine-log-alone"), "--class", "triton-fault", "--format", "junit")
    (suite,) = ElementTree.fromstring(told.stdout)
    assert suite.get("failures") == "1"


@pytest.mark.parametrize(("arguments", "words"), [
    (["nowhere/"], "nowhere"),
    (["--store", "nowhere.db"], "nowhere.db"),
    ([str(CRASH), "--store", "x.db"], "not both"),
    ([str(CRASH), "--class", "no-such"], "no-such"),
    ([str(CRASH), "--format", "pdf"], "pdf"),
    ([str(CRASH), "-o", "no/such/folder/x.html"], "no folder"),
])  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_line(arguments: list[str], words: str) -> None:
    told = run("report", *arguments)
    assert told.exit_code in (2, 3)
    assert words in told.stderr
    assert "Traceback" not in told.output


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_trial_stands_in_the_postmortem_with_its_margins(form: str) -> None:
    night = ROOT / "fixtures" / "acceptance-night"
    told = run("report", str(CRASH), "--trial", str(night), "--format", form)
    assert told.exit_code == 0, told.stderr
    words = re.sub(r"<[^>\n]+>|\|", " ", told.stdout)
    assert "May the batch profile move from 0.29 to 0.31?" in words
    assert "0.94 is the highest rung that leaves the reserve of 128 MiB on every build" in words
    assert "Margins: acceptance-night" in words
    assert re.search(r"0\.31\s+0\.94\s+174\s+2\s+0\s+0", words)
    assert "Trials" not in run("report", str(CRASH), "--format", "markdown").stdout


@pytest.mark.parametrize(("arguments", "words"), [
    (["--trial", "nowhere"], "triage trial new"),
    (["--trial", str(ROOT / "fixtures" / "acceptance-night"), "--format", "junit"], "do not go together"),
])  # fmt: skip
def test_a_trial_that_cannot_be_shown_is_said_in_a_line(arguments: list[str], words: str) -> None:
    told = run("report", str(CRASH), *arguments)
    assert (told.exit_code, words in told.stderr) == (2, True), told.output


def test_a_trial_that_could_not_all_be_read_is_told_by_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "runs" / "half").mkdir(parents=True)
    trial = 'question = "q"\nbuild = [{ name = "b" }]\nitem = [{ id = "i", question = "q", path = "p" }]\narm = [{ name = "a", build = "b" }]\n'
    (tmp_path / "trial.toml").write_text(trial)
    told = run("report", str(CRASH), "--trial", str(tmp_path), "--format", "markdown")
    assert (told.exit_code, "has no run.toml" in told.stderr) == (3, True)
    assert "Not run: i on b" in told.stdout


def test_nothing_on_stdin_is_no_report() -> None:
    told = CliRunner().invoke(main, ["report", "-", "--format", "markdown"], input="")
    assert told.exit_code in (2, 3)
    assert told.stderr.startswith("triage: ")


def test_evidence_is_never_written_over(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_bytes(b"(APIServer pid=1) INFO 11-12 00:00:00 [api_server.py:1] vLLM API server version 0.27.0\n")
    assert run("report", str(log), "-o", str(log)).exit_code == 2
    assert log.read_bytes().startswith(b"(APIServer")


def test_what_could_not_be_read_ends_with_three_and_stands_in_the_report(tmp_path: Path) -> None:
    log = ROOT / "fixtures" / "outage-weeks" / "logs" / "vllm.log.9.gz"
    (tmp_path / "vllm.log.9.gz").write_bytes(log.read_bytes()[:40_000])
    told = run("report", str(tmp_path), "--format", "junit")
    assert told.exit_code == 3
    (suite,) = ElementTree.fromstring(told.stdout)
    assert suite.get("errors") == "1"


def test_without_jinja_the_page_names_the_extra_and_markdown_needs_none() -> None:
    code = "import sys; sys.modules['jinja2'] = sys.modules['markupsafe'] = None; from triage.cli.main import main; main()"
    for form, exit_code in (("html", 2), ("markdown", 0)):
        done = subprocess.run([sys.executable, "-c", code, "report", str(CRASH), "--format", form], capture_output=True, text=True, check=False)
        assert done.returncode == exit_code, done.stderr
        assert ("crash-triage[pages]" in done.stderr) == (form == "html")


@pytest.mark.parametrize("form", ["sarif", "junit"])
def test_classify_writes_for_ci_too(form: str) -> None:
    told = run("classify", str(CRASH), "--format", form, "--fail-on", "any")
    assert told.exit_code == 1
    assert "device-assert" in told.stdout
    assert run("classify", str(CRASH), "--format", form, "--by", "day").exit_code == 2


KEY, TOKEN, PASSWORD = "sk-aB3dE5fG7hJ9kL1mN3pQ5rS7", "hf_QwErTyUiOpAsDfGhJkLzXcVb", "s3cr3tPassw0rd"
PROMPT, PERSON, HOST, ADDRESS = "please write a poem about my late grandmother", "mallory", "gpu-box-7", "203.0.113.77"
IDS = "29871, 1243, 338, 263, 1243, 310, 278, 1234"
SECRETS = (KEY, TOKEN, PASSWORD, PROMPT, PERSON, HOST, ADDRESS, IDS)
AT = "2026-11-12T10:{:02}:00.000000000Z"


def _planted(folder: Path) -> None:
    """Logs of every kind with a secret of every kind in the lines that a report cites, and in names of files."""
    home = folder / PERSON / "logs"
    home.mkdir(parents=True)
    mine = f"api_key={KEY} token {TOKEN} http://admin:{PASSWORD}@{HOST}:8000/v1 from {ADDRESS} prompt: '{PROMPT}', prompt_token_ids: [{IDS}, 29889]"
    args = f"non-default args: {{'model': '/home/{PERSON}/m', 'api_key': ['{KEY}'], 'host': '{HOST}'}}"
    lines = [
        (0, f"(APIServer pid=1) INFO 11-12 10:00:00 [utils.py:1] {args}"),
        (0, "(APIServer pid=1) INFO 11-12 10:00:00 [api_server.py:1] vLLM API server version 0.27.0"),
        (1, "(APIServer pid=1) INFO:     Application startup complete."),
        (5, f"(Worker_TP0 pid=9) ERROR 11-12 10:05:00 [multiproc_executor.py:9] RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR {mine}"),
        (6, f"(EngineCore pid=7) ERROR 11-12 10:06:00 [core.py:9] EngineCore encountered a fatal error. {mine}"),
        (6, f"(APIServer pid=1) ERROR 11-12 10:06:00 [async_llm.py:9] AsyncLLM output_handler failed. {mine}"),
        (9, f"(APIServer pid=1) INFO 11-12 10:09:00 [utils.py:1] {args.replace('host', 'api_host')}"),
        (9, "(APIServer pid=1) INFO 11-12 10:09:00 [api_server.py:1] vLLM API server version 0.31.0"),
        (11, "(APIServer pid=1) INFO:     Application startup complete."),
    ]
    (home / "vllm.log").write_text("".join(f"{AT.format(minute)} {text}\n" for minute, text in lines))
    url = f"http://admin:{PASSWORD}@{HOST}:8000/health?token={TOKEN}"
    probes = [f"2026-11-12T10:{m:02}:00Z {url} {'000 7' if 5 < m < 10 else '200 0'} 0.01" for m in range(15)]
    (home / "probe.log").write_text("\n".join(probes) + "\n")
    kernel = [f"2026-11-12T10:05:00+0000 {HOST} kernel: NVRM: Xid (PCI:0000:18:00): 43, pid=9, name=python --api-key {KEY}"]
    (home / "kernel.log").write_text("\n".join(kernel) + "\n")
    dump = {"version": "2.9", "pg_config": {}, "entries": [], "pg_status": {}, "note": f"{KEY} {HOST} {PROMPT}"}
    (home / f"{HOST}_nccl_trace_rank_0").write_bytes(pickle.dumps(dump, protocol=2))
    (home / "broken.log.gz").write_bytes(b"\x1f\x8b" + KEY.encode())


@pytest.mark.parametrize("form", FORMATS)
def test_no_planted_secret_leaves_in_any_format_or_message(form: str, tmp_path: Path) -> None:
    _planted(tmp_path)
    told = run("report", str(tmp_path), "--format", form)
    assert told.exit_code in (0, 3)
    assert "cublas-fault" in told.stdout
    assert not [secret for secret in SECRETS if secret in told.stdout]
    assert not [secret for secret in (KEY, TOKEN, PASSWORD, PROMPT, IDS) if secret in told.stderr]  # a path must name the file as it is


@pytest.mark.parametrize("form", FORMATS)
def test_a_recorded_secret_does_not_leave_either(form: str, tmp_path: Path) -> None:
    _planted(tmp_path)
    store = str(tmp_path / "history.db")
    assert run("classify", str(tmp_path / PERSON), "--record", "--store", store, "-q").exit_code in (0, 3)
    told = run("report", "--store", store, "--format", form)
    assert "cublas-fault" in told.stdout
    assert not [secret for secret in SECRETS if secret in told.stdout]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The logs of a machine with a secret of each kind in every source, and the history of it."""
    logs, store = planted.machine(tmp_path_factory.mktemp("machine") / "logs"), str(tmp_path_factory.mktemp("store") / "history.db")
    assert run("classify", str(logs), "--record", "--store", store, "-q").exit_code == 0
    files = ("--environ", str(planted.environment(logs.parent)), "--inspect", str(planted.inspected(logs.parent)))
    assert run("boots", "capture", str(logs / "vllm.log"), *files, "--store", store).exit_code == 0
    return str(logs), store


@pytest.mark.parametrize("form", FORMATS)
def test_no_secret_of_any_source_leaves(form: str, machine: tuple[str, str]) -> None:
    logs, store = machine
    for where in ([logs], ["--store", store]):
        told = run("report", *where, "--format", form)
        assert "illegal-memory-access" in told.stdout
        assert planted.leaked(told.stdout) == planted.leaked(told.stderr) == []


def test_no_redact_leaves_them_and_says_so(tmp_path: Path) -> None:
    _planted(tmp_path)
    told = run("report", str(tmp_path), "--format", "markdown", "--no-redact").stdout
    never_read = {PROMPT, IDS}  # readers end a line before a user's words; what gets past them is a test of the redactor
    assert {secret for secret in SECRETS if secret not in told} == never_read, "the tests above must hold something"
    assert "it may hold secrets" in told
    assert "Taken out before" not in told


def test_counts_draws_on_a_wide_terminal_and_nowhere_else(store: str) -> None:
    shown = _on_terminal(["counts", "--store", store], 120)
    assert re.search(r"cublas-fault +··█·█··············█·█···█······█·············█··█····█·············  9\r\n", shown)
    assert "one column is" not in _on_terminal(["counts", "--store", store], 80)
    assert "one column is" not in run("counts", "--store", store, COLUMNS="120").stdout


def _on_terminal(arguments: list[str], columns: int) -> str:
    """What a command prints on a terminal of so many columns."""
    master, slave = pty.openpty()
    environment = os.environ | {"COLUMNS": str(columns), "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen([sys.executable, "-m", "triage", *arguments], stdout=slave, stderr=subprocess.DEVNULL, env=environment, cwd=ROOT):
        os.close(slave)
        pieces = []
        while piece := _read(master):
            pieces.append(piece)
    os.close(master)
    return b"".join(pieces).decode()


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # Linux's way of saying that nobody has the other end open
        return b""
