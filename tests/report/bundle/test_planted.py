"""A planted secret of each kind in every source never appears in a bundle, a draft or what is said on stderr."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.lives import Life, log
from tests.planted import HOST, SECRETS, environment, inspected, leaked, machine, said
from triage.cli.main import main
from triage.report.bundle.archive import read_bundle
from triage.report.redact import Redactor


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], catch_exceptions=False)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return machine(tmp_path_factory.mktemp("machine") / "logs")


def test_every_secret_is_planted(logs: Path) -> None:
    planted = "".join(file.read_text() for file in logs.rglob("*") if file.is_file())
    assert set(leaked(planted)) >= set(SECRETS)


def test_without_redaction_they_would_be_in_the_bundle(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.tar.zst"
    assert run("bundle", "all", logs, "-o", out, "--no-redact").exit_code == 0
    whole = b"".join(read_bundle(str(out)).values())
    assert set(leaked(whole)) >= set(SECRETS)


def test_none_is_in_the_bundle_of_logs(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.tar.zst"
    result = run("bundle", "all", logs, "-o", out, "--issue-text")
    assert result.exit_code == 0
    files = read_bundle(str(out))
    assert any("dump/rank_" in name for name in files) and sum("excerpt" in name for name in files) >= 4
    assert {name: leaked(content) for name, content in files.items() if leaked(content)} == {}
    assert leaked(result.stdout) == []
    assert leaked(result.stderr) == []


def test_none_is_in_the_bundle_of_the_history_with_its_captured_environment(logs: Path, tmp_path: Path) -> None:
    store, out = tmp_path / "history.db", tmp_path / "b.tar.zst"
    assert run("classify", logs, "--record", "--store", store).exit_code == 0
    files_told = ("--environ", environment(tmp_path), "--inspect", inspected(tmp_path))
    captured = run("boots", "capture", logs / "vllm.log", *files_told, "--store", store)
    assert captured.exit_code == 0, captured.output
    result = run("bundle", "all", "--store", store, "-o", out, "--issue-text")
    assert result.exit_code == 0
    files = read_bundle(str(out))
    boots = b"".join(content for name, content in files.items() if name.endswith("boot.json"))
    assert b"NCCL_SOCKET_IFNAME" in boots and b"RestartCount" not in boots and b'"restarts"' in boots
    assert {name: leaked(content) for name, content in files.items() if leaked(content)} == {}
    assert leaked(result.output) == []


def test_the_logs_name_and_folder_are_redacted_too(logs: Path, tmp_path: Path) -> None:
    named = tmp_path / f"logs of {HOST}"
    shutil.copytree(logs, named)
    (named / "vllm.log").rename(named / f"vllm-{HOST}.log")
    out = tmp_path / "b.tar.zst"
    assert run("bundle", "all", named, "-o", out, "--issue-text").exit_code == 0
    assert {name: leaked(content) for name, content in read_bundle(str(out)).items() if leaked(content)} == {}


def test_no_control_or_direction_character_is_in_a_bundle(tmp_path: Path) -> None:
    evil = "\x1b]0;title\x07\x1b[31mred\u202eevil\u2066 <script>alert(1)</script> =1+1 \x00\x9b31m"
    file = log(tmp_path, Life(2).serves().worker(1, "WARNING", "x.py:1", evil).raises(3, f"RuntimeError: CUDA error: {evil}").dies())
    for more in ([], ["--no-redact"]):
        assert run("bundle", "all", file, "-o", tmp_path / "b.tar.zst", *more).exit_code == 0
        for content in read_bundle(str(tmp_path / "b.tar.zst")).values():
            assert all(sign.isprintable() or sign == "\n" for sign in content.decode())


def test_what_came_through_a_pipe_has_its_cited_lines(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.tar.zst"
    text = (logs / "vllm.log").read_bytes()
    result = CliRunner().invoke(main, ["bundle", "all", "-", "-o", str(out)], input=text, catch_exceptions=False)
    assert result.exit_code == 0 and "without those around them" in result.stderr
    whole = b"".join(read_bundle(str(out)).values())
    assert b"an illegal memory access was encountered" in whole and leaked(whole) == []


def test_none_is_in_a_drafted_rule(logs: Path, tmp_path: Path) -> None:
    result = run("unknown", logs, "--draft", tmp_path / "own", "--format", "json")
    assert result.exit_code == 0
    drafted = "".join(file.read_text() for file in (tmp_path / "own").rglob("*.toml"))
    assert "seat" in drafted
    assert leaked(drafted) == []


def test_the_same_name_has_one_pseudonym_in_the_whole_bundle(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.tar.zst"
    run("bundle", "all", logs, "-o", out)
    files = {name: content.decode() for name, content in read_bundle(str(out)).items()}
    probes = next(text for name, text in files.items() if "excerpt" in name and "Connection refused" in text)
    kernel = next(text for name, text in files.items() if "excerpt" in name and "NVRM" in text)
    dump = next(text for name, text in files.items() if "dump/rank_0" in name)
    named = {part.partition("HOST")[2][0] for part in (probes, kernel, dump) if "HOST" in part}
    assert len(named) == 1


@pytest.mark.parametrize("number", range(len(said())))
def test_none_is_left_in_any_line_by_itself(number: int) -> None:
    line = said()[number]
    redactor = Redactor()
    redactor.meet(said())
    shown = "\n".join(redactor.lines(line.split("\n")))
    assert leaked(line.replace("\x1b[31m", "").replace("\x1b[0m", ""))
    assert leaked(shown) == []
