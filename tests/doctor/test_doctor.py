"""`triage doctor` tells a sound installation from a broken one, says what each missing part would give, and changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.caches.trees import hashes
from triage.cli.main import main
from triage.doctor import libraries
from triage.doctor.findings import SECTIONS
from triage.history.store import open_store

ROOT = Path(__file__).parents[2]
EXTRAS = {"learn": "sklearn", "remote": "fsspec", "ray": "ray", "fleet": "duckdb", "pages": "jinja2"}


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Places of its own, and no variable of who runs the test."""
    for name in [name for name in os.environ if name.startswith("TRIAGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TRIAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRIAGE_STORE", str(tmp_path / "state/history.db"))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["doctor", *arguments])


def told(*, code: int = 0) -> dict[str, dict[str, Any]]:
    done = run("--format", "json")
    assert done.exit_code == code, done.output
    return {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}


def hide(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    known = libraries.find_spec
    monkeypatch.setattr(libraries, "find_spec", lambda name: None if name in modules else known(name))


def test_a_sound_installation_is_healthy_and_says_so_first() -> None:
    done = run()
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("healthy")
    assert max(len(line) for line in done.stdout.splitlines() if "/" not in line) <= 80  # paths are not broken
    assert [line for line in done.stdout.splitlines() if line in SECTIONS] == list(SECTIONS)


def test_json_has_every_finding_with_its_section() -> None:
    document = json.loads(run("--format", "json").stdout)
    assert (document["schema"], document["healthy"]) == ("triage-doctor/1", True)
    assert {finding["section"] for finding in document["findings"]} == set(SECTIONS)
    named = {finding["name"] for finding in document["findings"]}
    assert {"triage", "rules", "Python", "click", "hyperscan", "history", "ledger", "compiled rules", "time zones"} <= named


@pytest.mark.parametrize(("extra", "module"), EXTRAS.items())
def test_a_hidden_extra_says_what_it_would_give_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch, extra: str, module: str) -> None:
    hide(monkeypatch, module)
    finding = told()[extra]
    assert finding["state"] == "absent"
    assert finding["what"].startswith("would give ")
    assert finding["what"] != "would give more"
    assert f"pip install 'crash-triage[{extra}]'" in finding["do"]


def test_every_extra_has_a_word_for_what_it_gives() -> None:
    assert {finding.name for finding in libraries.optional_parts()} <= set(libraries.GIVES)


def test_an_extra_that_is_there_is_told_with_its_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "_requirements", lambda: ["click>=8; extra == 'learn'"])
    (finding,) = libraries.optional_parts()
    assert (finding.state, finding.what.split(": ")[0].split()[0]) == ("ok", "click")


@pytest.mark.parametrize(("module", "state", "code"), [("orjson", "broken", 3), ("isal", "note", 0), ("hyperscan", "note", 0)])
def test_a_library_that_is_gone(monkeypatch: pytest.MonkeyPatch, module: str, state: str, code: int) -> None:
    hide(monkeypatch, module)
    findings = json.loads(run("--format", "json").stdout)["findings"]
    (finding,) = [one for one in findings if (one["section"], one["name"]) == ("versions", module)]
    assert (finding["state"], finding["do"]) == (state, f"pip install {module}")
    assert run().exit_code == code


def test_a_library_that_cannot_be_loaded_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        if name == "orjson":
            raise ImportError("undefined symbol: _PyThing")
        return sys.modules.get(name)

    monkeypatch.setattr(libraries, "import_module", broken)
    finding = told(code=3)["orjson"]
    assert (finding["state"], "undefined symbol" in finding["what"]) == ("broken", True)


def test_the_fallback_is_said_once_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_SCANNER", "fallback")
    done = run()
    assert done.exit_code == 0
    assert done.stderr.count("scanner") == 1
    assert "fallback" in done.stderr


def test_no_scanner_at_all_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_SCANNER", "grep")
    assert told(code=3)["scanner"]["state"] == "broken"


def test_a_store_is_told_with_its_schema_and_left_as_it_is(places: Path) -> None:
    open_store(places / "state/history.db").close()
    before = hashes(str(places / "state"))
    finding = told()["history"]
    assert (finding["state"], "schema 1, sound, 0 incidents" in finding["what"]) == ("ok", True)
    assert hashes(str(places / "state")).items() >= before.items()


def test_no_store_yet_is_no_fault_and_none_is_made(places: Path) -> None:
    assert "there is none yet" in told()["history"]["what"]
    assert not (places / "state").exists()


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_store_that_is_damaged_is_broken(places: Path, content: bytes) -> None:
    (places / "state").mkdir()
    (places / "state/history.db").write_bytes(content)
    assert told(code=3)["history"]["state"] == "broken"
    assert run().stdout.startswith("1 thing broken: history")


def test_pages_of_a_store_that_are_damaged_are_found(places: Path) -> None:
    path = places / "state/history.db"
    with open_store(path) as store, store.transaction() as db:
        db.executemany("INSERT INTO meta VALUES (?, ?)", [(f"key {n}", "x" * 900) for n in range(300)])
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + b"\xa5" * 8192 + content[len(content) // 2 + 8192 :])
    assert told(code=3)["history"]["state"] == "broken"


def test_a_cache_that_cannot_be_written_or_read_costs_time_only(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (places / "file").write_text("")
    monkeypatch.setenv("TRIAGE_CACHE", str(places / "file/cache"))
    finding = told()["compiled rules"]
    assert (finding["state"], "TRIAGE_CACHE" in finding["do"]) == ("note", True)


def test_a_damaged_compiled_set_is_a_note(places: Path) -> None:
    (places / "cache").mkdir()
    (places / "cache/scan-0123.hsdb").write_bytes(b"junk")
    assert "scan-0123.hsdb cannot be used and is made anew" in told()["compiled rules"]["what"]


def test_variables_are_told_and_misspelt_ones_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_CLASSIFY_FORMAT", "json")
    monkeypatch.setenv("TRIAGE_CLASIFY_FORMAT", "json")
    monkeypatch.setenv("TRIAGE_PROBE_KEY", "sk-do-not-tell")
    found = told()
    assert (found["TRIAGE_CLASSIFY_FORMAT"]["state"], found["TRIAGE_CLASSIFY_FORMAT"]["what"]) == ("ok", "json")
    assert found["TRIAGE_CLASIFY_FORMAT"]["state"] == "note"
    assert "sk-do-not-tell" not in run().output


def test_a_plain_terminal_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.run([sys.executable, "-m", "triage", "doctor"], cwd=ROOT, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii",
                          "PYTHONUTF8": "0", "NO_COLOR": "1"}, check=True, timeout=120)  # fmt: skip
    assert b"ascii" in done.stdout
    assert b"no colours (NO_COLOR)" in done.stdout
