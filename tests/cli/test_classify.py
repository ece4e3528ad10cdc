"""`triage classify` as a user meets it: pipes, formats, filters, and every kind of input that cannot be read."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
WEEKS = FIXTURES / "outage-weeks" / "logs"
DEATH = "2026-11-14T09:57:{:02}.5Z (EngineCore pid=7) ERROR 11-14 09:57:{:02} [core.py:1586] EngineCore encountered a fatal error.\n"


def run(*args: str | Path, given: bytes | str | None = None) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], input=given, terminal_width=80, catch_exceptions=False)


def found(*args: str | Path, given: bytes | str | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run("classify", *args, "--format", "json", given=given).stdout)
    return document


def counts(document: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(c["class"], c["family"]): c["count"] for c in document["counts"] if c["count"]}


def probe_log() -> bytes:
    return b"".join(
        gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for file in sorted(WEEKS.glob("probe.log*"), key=lambda f: f.name, reverse=True)
    )


def engine_log() -> bytes:
    files = sorted(WEEKS.glob("vllm.log*"), key=lambda f: f.name, reverse=True)
    return b"".join(gzip.decompress(f.read_bytes()) if f.suffix == ".gz" else f.read_bytes() for f in files)


def test_probes_from_a_pipe_are_thirteen_instant_and_four_hang_outages_and_no_more_is_claimed() -> None:
    document = found("-", given=probe_log())
    assert counts(document) == {("unclassified", "instant"): 13, ("unclassified", "hang"): 4}


def test_an_engine_log_from_a_pipe_gives_the_classes() -> None:
    document = found("-", given=engine_log())
    assert {name: n for (name, _), n in counts(document).items()} == {"cublas-fault": 9, "collective-hang": 4, "triton-fault": 4}


def test_dumps_alone_name_the_hangs_and_the_ranks() -> None:
    document = found(WEEKS / "flight-recorder")
    assert counts(document) == {("collective-hang", "hang"): 4}
    assert all(i["dump"]["suspects"] for i in document["incidents"])


def test_a_kernel_log_alone_with_nothing_in_it_is_no_incident() -> None:
    assert found(WEEKS / "kernel.log")["incidents"] == []


def test_nothing_on_stdin_is_said_with_the_hint_that_helps() -> None:
    result = run("classify", "-", given="")
    assert result.exit_code == 3
    assert "2>&1" in result.stderr


def test_formats() -> None:
    logs = FIXTURES / "oom-then-cublas" / "logs"
    rows = list(csv.DictReader(io.StringIO(run("classify", logs, "--format", "csv").stdout)))
    assert [r["class"] for r in rows] == ["device-oom"]
    lines = run("classify", logs, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["class"] for line in lines] == ["device-oom"]
    assert "| class" in run("classify", logs, "--format", "markdown").stdout


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    result = run("classify", FIXTURES / "clean-day" / "logs", "--format", "json", "--output", tmp_path / "out.json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["schema"] == "triage/1"


def test_by_and_class_and_since_narrow_and_split_the_count() -> None:
    by_week = [c for c in found(WEEKS, "--by", "week")["counts"] if c["class"] == "collective-hang"]
    assert sum(c["count"] for c in by_week) == 4
    assert len({c["group"] for c in by_week}) == len(by_week) > 1
    assert {i["class"] for i in found(WEEKS, "--class", "triton-fault")["incidents"]} == {"triton-fault"}
    late = found(WEEKS, "--since", "2026-11-25")["incidents"]
    assert late and all(i["onset"]["latest"] >= "2026-11-2" for i in late)
    assert found(WEEKS, "--until", "2026-11-11")["incidents"] == []


def test_fail_on_says_it_with_the_exit_code() -> None:
    logs = FIXTURES / "oom-then-cublas" / "logs"
    assert run("classify", logs, "--fail-on", "device-oom").exit_code == 1
    assert run("classify", logs, "--fail-on", "any").exit_code == 1
    assert run("classify", logs, "--fail-on", "collective-hang").exit_code == 0
    assert run("classify", FIXTURES / "sigterm-then-enginedead" / "logs", "--fail-on", "any").exit_code == 0


def test_explain_names_root_consequences_and_what_is_missing() -> None:
    logs = FIXTURES / "dump-not-armed" / "logs"
    (incident,) = [i for i in found(logs)["incidents"] if i["fault"]]
    told = run("explain", incident["id"], logs).stdout
    assert "collective operation timeout" in told
    assert f"{Path(incident['root']['file']).name}:{incident['root']['line']}" in told
    assert "TORCH_NCCL_TRACE_BUFFER_SIZE" in told


@pytest.mark.parametrize("name", ["zzzz", ""])
def test_explaining_what_is_not_there_lists_what_is(name: str) -> None:
    result = run("explain", name, FIXTURES / "oom-then-cublas" / "logs")
    assert result.exit_code == 2
    assert found(FIXTURES / "oom-then-cublas" / "logs")["incidents"][0]["id"] in result.stderr


def test_boots_and_outages_have_tables_of_their_own() -> None:
    assert run("boots", WEEKS).stdout.count("\n") == 20
    assert run("outages", WEEKS).stdout.count("refused") == 13


# ------------------------------------------------------------------------------------------------ input that is no good


def with_log(folder: Path, text: bytes = b"", name: str = "vllm.log") -> Path:
    (folder / name).write_bytes(text or "".join(DEATH.format(s, s) for s in range(3)).encode())
    return folder


def hostile_pickle() -> bytes:
    class Bomb:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.system, ("touch /tmp/triage-was-here",)

    return pickle.dumps({"version": "2.9", "entries": [Bomb()]}, protocol=2)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("junk.log", bytes(range(256)) * 64, "binary"),
        ("cut.log.gz", gzip.compress(os.urandom(4000).hex().encode() + b"\n" + DEATH.format(1, 1).encode() * 50)[:-400], "gz"),
        ("nccl_trace_rank_3", hostile_pickle(), "nccl_trace_rank_3"),
        ("nccl_trace_rank_4", pickle.dumps({"version": "2.9", "entries": [{"record_id": n} for n in range(99)]}, protocol=2)[:-200], "rank_4"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_reported(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    with_log(tmp_path)
    (tmp_path / name).write_bytes(content)
    result = run("classify", tmp_path)
    assert result.exit_code == 3
    assert told in result.stderr
    assert "unclassified" in result.stdout
    assert not Path("/tmp/triage-was-here").exists()


def test_a_missing_path_is_named_and_the_rest_is_reported(tmp_path: Path) -> None:
    result = run("classify", with_log(tmp_path), tmp_path / "nowhere")
    assert (result.exit_code, "nowhere" in result.stderr) == (3, True)
    assert counts(json.loads(run("classify", tmp_path, tmp_path / "nowhere", "--format", "json").stdout))


def test_nothing_readable_at_all_is_an_error(tmp_path: Path) -> None:
    assert run("classify", tmp_path / "nowhere").exit_code == 2
    (tmp_path / "program.py").write_text("print('CUDA error: an illegal memory access was encountered')\n")
    result = run("classify", tmp_path)
    assert result.exit_code == 2
    assert "nothing" in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        b"x" * 3_000_000 + b"\n" + DEATH.format(5, 5).encode(),
        b"\xfa\xfe\xff broken \xc3\x28 utf-8\n" + DEATH.format(5, 5).encode(),
        DEATH.format(4, 4).encode() + b"\0" * 5000 + DEATH.format(5, 5).encode(),
        b"".join(b"\x1b[36m(EngineCore pid=7)\x1b[0;0m " + line[24:] for line in DEATH.format(5, 5).encode().splitlines(keepends=True)),
    ],
)
def test_odd_bytes_hide_nothing(tmp_path: Path, text: bytes) -> None:
    assert [i["class"] for i in found(with_log(tmp_path, text))["incidents"]] == ["unclassified"]


def test_control_characters_never_reach_the_terminal(tmp_path: Path) -> None:
    head = b"(EngineCore pid=7) ERROR 11-14 09:57:01 [core.py:9] RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR"
    line = head + b" \x1b]0;owned\x07\x9b31m\xe2\x80\xae\n"
    shown = run("classify", with_log(tmp_path, line + DEATH.format(5, 5).encode()), "--explain").stdout
    assert "CUBLAS_STATUS_INTERNAL_ERROR" in shown
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_order_copies_and_compression_change_nothing(tmp_path: Path) -> None:
    for file in WEEKS.rglob("*"):
        if file.is_file():
            packed = tmp_path / "copy" / file.relative_to(WEEKS)
            packed.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".gz":
                shutil.copy(file, packed)
            else:
                Path(f"{packed}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    once = counts(found(WEEKS))
    assert counts(found(WEEKS, WEEKS)) == once
    assert counts(found(tmp_path / "copy")) == once
    assert counts(found(*sorted((f for f in WEEKS.rglob("*") if f.is_file()), key=lambda f: f.name[::-1]))) == once
