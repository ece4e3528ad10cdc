"""What people see of the history and may say to it; and what `classify` does with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.lived import LOGS, at, between, remember, write
from triage.cli.main import main
from triage.history.export import table, types
from triage.history.store import one_at_a_time, open_store

CRASH = at("2026-11-13T02:40:00"), at("2026-11-13T03:20:00")


def triage(*arguments: str, data: str | None = None) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, list(arguments), input=data)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("recorded") / "history.db"
    with open_store(path) as store:
        remember(store, str(LOGS))
        store.db.execute("PRAGMA journal_mode = DELETE")
    return path.read_bytes()


@pytest.fixture
def store(tmp_path: Path, recorded: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of its own for each test, with the whole story, where TRIAGE_STORE says."""
    path = tmp_path / "history.db"
    path.write_bytes(recorded)
    monkeypatch.setenv("TRIAGE_STORE", str(path))
    return path


def ids(*more: str) -> list[tuple[str, str]]:
    listed = json.loads(triage("history", "list", "--format", "json", *more).stdout)["incidents"]
    return [(one["id"], one["class"]) for one in listed]


def test_list_has_a_row_for_each_incident(store: Path) -> None:
    shown = triage("history", "list").stdout.splitlines()
    assert len(shown) == 2 + 17
    assert len(ids("--since", "2026-11-20")) == 8
    assert {name for _, name in ids("--class", "triton-fault")} == {"triton-fault"}


def test_counts_are_those_of_the_story_with_outages_and_probes(store: Path) -> None:
    result = triage("counts")
    assert "17 outages (13 refused first, 4 timeout first) from 54 failed probes" in result.stdout
    assert "18 boots, 407.9 h seen" in result.stdout
    assert "no engine log was read" not in result.stdout
    assert triage("history", "counts").stdout == result.stdout
    weeks = json.loads(triage("counts", "--by", "week", "--format", "json").stdout)["counts"]
    assert sum(row["count"] for row in weeks) == 17
    assert {row["group"] for row in weeks if row["count"]} == {"2026-W46", "2026-W47", "2026-W48"}


def test_counts_say_what_time_nobody_saw(tmp_path: Path) -> None:
    path = tmp_path / "gap.db"
    with open_store(path) as kept:
        for hour in (0, 9):
            begin = CRASH[0] + 3600 * hour
            remember(kept, write(tmp_path / "probe.log", between("probe.log", begin, begin + 3600)))
    shown = triage("counts", "--store", str(path)).stdout
    assert "no coverage" in shown
    assert ", 8.0 h not" in shown


def test_counts_since_a_time_reach_up_to_now_and_those_of_no_time_are_none(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: at("2026-11-30T23:57:00"))
    assert triage("counts", "--since", "2026-11-12").stdout.splitlines()[0].endswith(" 408.0 h seen, 48.0 h not")
    assert " not\n" not in triage("counts").stdout
    assert " -" not in triage("counts", "--since", "2026-11-20", "--until", "2026-11-10").stdout.splitlines()[0]


def test_show_has_the_lines_and_what_was_said(store: Path) -> None:
    name = ids()[0][0]
    triage("history", "dismiss", name, "--reason", "a load test")
    shown = triage("history", "show", name[:5]).stdout
    assert "CUBLAS_STATUS_INTERNAL_ERROR" in shown
    assert "vllm.log.9.gz:" in shown
    assert "dismiss: a load test" in shown


def test_an_unknown_incident_is_refused_with_two(store: Path) -> None:
    result = triage("history", "show", "zzzz")
    assert (result.exit_code, "no incident 'zzzz'" in result.stderr) == (2, True)


@pytest.mark.parametrize("name", ["", "%", "_", "\\"])
def test_what_is_no_id_names_no_incident(name: str, store: Path) -> None:
    store_of_one = store.with_name("one.db")
    with open_store(store_of_one) as kept:
        remember(kept, write(store.with_name("vllm.log"), between("vllm.log", *CRASH)))
    result = triage("history", "forget", name, "--store", str(store_of_one))
    assert (result.exit_code, result.stderr) == (2, f"triage: no incident {name!r} in the history\n")


def test_a_dismissal_takes_an_incident_out_of_the_count_until_it_is_undone(store: Path) -> None:
    name = ids()[0][0]
    triage("history", "dismiss", name, "--reason", "test")
    assert len(ids()) == 16
    assert len(ids("--all")) == 17
    triage("history", "dismiss", name, "--reason", "no test after all", "--undo")
    assert len(ids()) == 17


def test_a_class_that_a_person_gave_outlives_reading_and_judging_again(store: Path) -> None:
    name = ids()[0][0]
    assert triage("history", "relabel", name, "gpu-hardware", "--reason", "board replaced").exit_code == 0
    triage("classify", str(LOGS), "--record")
    triage("history", "rejudge")
    assert dict(ids())[name] == "gpu-hardware"
    assert "judged cublas-fault" in triage("history", "list").stdout
    counted = json.loads(triage("history", "sql", "SELECT count(*) AS n FROM crashes WHERE class = 'gpu-hardware'", "--format", "jsonl").stdout)
    assert counted == {"n": 1}


def test_no_class_can_be_given_that_does_not_exist(store: Path) -> None:
    assert triage("history", "relabel", ids()[0][0], "gremlins", "--reason", "x").exit_code == 2


def test_what_was_forgotten_stays_gone_when_its_log_is_read_again(store: Path) -> None:
    name = ids()[0][0]
    triage("history", "forget", name)
    triage("classify", str(LOGS), "--record")
    assert name not in dict(ids("--all"))
    assert len(ids()) == 16


def test_old_evidence_goes_with_its_incidents(store: Path) -> None:
    assert "9 incidents" in triage("history", "forget", "--before", "2026-11-20").stdout
    assert len(ids()) == 8
    assert triage("history", "forget").exit_code == 2


def test_sql_asks_and_changes_nothing(store: Path) -> None:
    assert "cublas-fault" in triage("history", "sql", "SELECT class, count(*) FROM crashes GROUP BY class").stdout
    refused = triage("history", "sql", "DELETE FROM incidents")
    assert refused.exit_code == 2
    assert len(ids()) == 17


@pytest.mark.parametrize(("form", "rows"), [("csv", 18), ("jsonl", 17)])
def test_export_has_a_row_an_incident(form: str, rows: int, store: Path, tmp_path: Path) -> None:
    assert triage("history", "export", "--format", form, "-o", str(tmp_path / "out")).exit_code == 0
    assert len((tmp_path / "out").read_text().splitlines()) == rows


def test_rejudging_by_the_same_rules_changes_nothing(store: Path) -> None:
    before = ids()
    assert triage("history", "rejudge").stdout == "nothing changed\n"
    assert ids() == before


def rules_with(pattern: str, folder: Path) -> str:
    """A folder of rules with one class of a user's own, `gemm-refused`."""
    rules = folder / "rules" / "faults"
    rules.mkdir(parents=True)
    (rules / "moved.toml").write_text(f"""
class = "gemm-refused"
family = "instant"
title = "t"
meaning = "m"
decides = "d"

[[signature]]
id = "gemm-refused/cublas"
role = "root"
summary = "s"
pattern = '''{pattern}'''
explains = ["*"]
fatal = true
samples = ["CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling"]
near_misses = ["CUDA error: out of memory"]
""")
    return str(rules.parent)


def test_rejudging_by_other_rules_shows_what_changed(store: Path, tmp_path: Path) -> None:
    rules = rules_with("CUDA error: CUBLAS_STATUS", tmp_path)
    told = triage("history", "rejudge", "--dry-run", "--rules", rules)
    assert told.exit_code == 0, told.output
    assert "gemm-refused" not in {name for _, name in ids()}
    changed = triage("history", "rejudge", "--rules", rules).stdout.splitlines()
    assert told.stdout.splitlines() == changed
    assert [line.split()[1:] for line in changed] == [["cublas-fault", "->", "gemm-refused"]] * 9


@pytest.mark.parametrize("pattern", ["CUDA error: CUBLAS_STATUS", "CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling"])
def test_the_history_judged_again_says_what_reading_again_says(pattern: str, store: Path, tmp_path: Path) -> None:
    rules = rules_with(pattern, tmp_path)
    triage("history", "rejudge", "--rules", rules)
    read = json.loads(triage("classify", str(LOGS), "--rules", rules, "--format", "json").stdout)
    assert ids() == [(one["id"], one["class"]) for one in read["incidents"]]


def test_rejudging_by_the_same_rules_keeps_each_line_as_it_was(store: Path) -> None:
    what = "SELECT position, rule, kind, text, rank, data, frames FROM events WHERE kind IN ('step', 'death', 'signature') AND class <> 'saturation'"
    before = triage("history", "sql", what, "--format", "jsonl").stdout.splitlines()
    assert any('"step"' in line for line in before)
    triage("history", "rejudge")
    assert sorted(triage("history", "sql", what, "--format", "jsonl").stdout.splitlines()) == sorted(before)


def test_new_and_quiet_say_three_lines_once(tmp_path: Path) -> None:
    log = write(tmp_path / "vllm.log", between("vllm.log", *CRASH))
    arguments = ["classify", log, "--new", "--quiet", "--store", str(tmp_path / "history.db")]
    first = triage(*arguments)
    assert (first.exit_code, len(first.stdout.splitlines()), first.stderr) == (0, 3, "")
    assert "cublas-fault" in first.stdout
    second = triage(*arguments)
    assert (second.exit_code, second.stdout, second.stderr) == (0, "", "")


def test_what_a_filter_left_out_is_still_news(tmp_path: Path) -> None:
    log = write(tmp_path / "vllm.log", between("vllm.log", *CRASH))
    arguments = ["classify", log, "--new", "--quiet", "--store", str(tmp_path / "history.db")]
    assert triage(*arguments, "--class", "triton-fault").stdout == ""
    assert "cublas-fault" in triage(*arguments).stdout
    assert triage(*arguments).stdout == ""


def test_a_pipe_in_which_nothing_is_known_is_three_and_a_word(tmp_path: Path) -> None:
    result = triage("classify", "-", "--new", "--quiet", "--store", str(tmp_path / "history.db"), data="Error response from daemon: no such thing\n")
    assert (result.exit_code, "nothing in it that triage knows" in result.stderr) == (3, True), result.output


def test_fail_on_looks_at_what_is_new_only(tmp_path: Path) -> None:
    log = write(tmp_path / "vllm.log", between("vllm.log", *CRASH))
    arguments = ["classify", log, "--new", "--quiet", "--fail-on", "cublas-fault", "--store", str(tmp_path / "history.db")]
    assert [triage(*arguments).exit_code for _ in range(2)] == [1, 0]


def test_an_empty_pipe_is_three_and_a_hint(tmp_path: Path) -> None:
    result = triage("classify", "-", "--new", "--quiet", "--store", str(tmp_path / "history.db"), data="")
    assert result.exit_code == 3
    assert "2>&1" in result.stderr


def test_a_run_that_finds_another_one_leaves_it_to_that(tmp_path: Path) -> None:
    log = write(tmp_path / "vllm.log", between("vllm.log", *CRASH))
    with one_at_a_time(tmp_path / "history.db", 0):
        result = triage("classify", log, "--new", "--quiet", "--wait", "0", "--store", str(tmp_path / "history.db"))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "another run is still recording" in result.stderr


def test_boots_capture_keeps_what_was_booted_and_no_secret(tmp_path: Path) -> None:
    log = write(tmp_path / "vllm.log", between("vllm.log", *CRASH))
    environ = tmp_path / "environ"
    environ.write_bytes(b"NCCL_DEBUG=INFO\0HF_TOKEN=hf_abc\0VLLM_API_KEY=sk-abc\0HOME=/root\0")
    inspect = tmp_path / "inspect.json"
    inspect.write_text(json.dumps([{"State": {"StartedAt": "2026-11-13T03:02:20.1Z"}, "Config": {"Cmd": ["--api-key", "sk-abc", "--port", "80"]}}]))
    path = tmp_path / "history.db"
    done = triage("boots", "capture", log, "--environ", str(environ), "--inspect", str(inspect), "--store", str(path))
    assert done.exit_code == 0, done.output
    assert "2 boots on record" in done.stdout
    with open_store(path, write=False) as kept:
        (captured,) = kept.db.execute("SELECT captured FROM boots WHERE captured <> '{}'").fetchone()
        remember_again = kept.db.execute("SELECT count(*) FROM incidents WHERE told = ''").fetchone()
    assert json.loads(captured) == {"NCCL_DEBUG": "INFO", "StartedAt": "2026-11-13T03:02:20.1Z", "command": "--api-key *** --port 80"}
    assert remember_again == (1,), "capturing tells nothing, so the incident is still news"
    triage("classify", log, "--record", "--store", str(path))
    with open_store(path, write=False) as kept:
        assert kept.db.execute("SELECT count(*) FROM boots WHERE captured <> '{}'").fetchone() == (1,)


@pytest.mark.parametrize(
    "statement", ["ATTACH '{0}' AS other", "VACUUM INTO '{0}'", "PRAGMA query_only = OFF", "PRAGMA journal_mode = DELETE", "CREATE TABLE t (x)"]
)
def test_sql_makes_no_file_and_takes_no_limit_off(store: Path, tmp_path: Path, statement: str) -> None:
    refused = triage("history", "sql", statement.format(tmp_path / "other.db"))
    assert (refused.exit_code, (tmp_path / "other.db").exists()) == (2, False)


def test_sql_tells_of_the_tables(store: Path) -> None:
    assert "sorted_at" in triage("history", "sql", "PRAGMA table_info(incidents)").stdout


@pytest.mark.parametrize("name", ["incidents", "evidence", "boots", "outages", "dumps", "labels", "coverage", "runs"])
def test_parquet_has_the_rows_and_the_types_of_the_table(store: Path, tmp_path: Path, name: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "it's.parquet"
    assert triage("history", "export", "--format", "parquet", "--table", name, "--output", str(file)).exit_code == 0
    with duckdb.connect() as connection, open_store(store, write=False) as kept:
        read = connection.read_parquet(str(file))
        columns, rows = table(kept.db, name)
        assert (read.columns, read.fetchall()) == (columns, [tuple(row) for row in rows])
        declared = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "VARCHAR"}
        assert [str(kind) for kind in read.types] == [declared[kind] for kind in types(kept.db, name).values()]


def test_parquet_that_cannot_be_written_is_exit_2(store: Path) -> None:
    pytest.importorskip("duckdb")
    result = triage("history", "export", "--format", "parquet", "--output", "/dev/full")
    assert (result.exit_code, "No space left on device" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", [("list",), ("show", "3"), ("export",), ("dismiss", "3", "--reason", "x"), ("forget", "3"), ("rejudge",)])
def test_a_damaged_store_is_exit_3_and_a_word(store: Path, command: tuple[str, ...]) -> None:
    whole = store.read_bytes()
    store.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    result = triage("history", *command)
    assert (result.exit_code, "it is damaged" in result.stderr) == (3, True), result.output


def test_counts_of_a_damaged_store_are_exit_3_and_a_word(store: Path) -> None:
    store.write_bytes(store.read_bytes()[:4096] + b"\xff" * 8192)
    result = triage("counts")
    assert (result.exit_code, "it is damaged" in result.stderr) == (3, True), result.output


def test_a_store_that_another_program_holds_is_exit_3(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triage.history.store.BUSY", 0.05)
    name, _ = ids()[0]
    with open_store(store) as kept:
        kept.db.execute("BEGIN IMMEDIATE")
        result = triage("history", "dismiss", name, "--reason", "x")
    assert (result.exit_code, "holds it locked" in result.stderr) == (3, True)
