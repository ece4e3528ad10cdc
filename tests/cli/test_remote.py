"""Commands on logs that a web server gives: the same answer as from disk, exit codes, and no secret in what is printed."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.sources.remote.servers import Web, web_server
from triage.cli.main import main
from triage.history.store import open_store
from triage.sources.remote import reading

LOGS = Path(__file__).parents[2] / "fixtures" / "outage-weeks" / "logs"


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """A server that has the logs of outage-weeks, with a page of links for each folder."""
    monkeypatch.setattr(reading, "FIRST_PAUSE", 0.0)
    with web_server() as server:
        for folder in (LOGS, *(path for path in LOGS.rglob("*") if path.is_dir())):
            name = "/" + "".join(f"{part}/" for part in ("logs", *folder.relative_to(LOGS).parts))
            links = [path.name + "/" * path.is_dir() for path in sorted(folder.iterdir())]
            server.files[name] = "".join(f'<a href="{html.escape(link)}">{link}</a>' for link in links).encode()
            server.types[name] = "text/html"
            server.files |= {name + path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        yield server


def triage(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(main, arguments, prog_name="triage")


@pytest.mark.parametrize("cuts", [[], [10_000, 1, 50_000, 3] * 20])
@pytest.mark.parametrize("command", ["classify", "boots", "outages", "unknown"])
def test_the_answer_is_that_of_the_files_on_disk(web: Web, command: str, cuts: list[int]) -> None:
    web.cut_after = list(cuts)
    far, near = triage(command, f"{web.url}/logs/"), triage(command, str(LOGS))
    assert (far.exit_code, far.stdout, far.stderr) == (near.exit_code, near.stdout, near.stderr)


def test_the_document_differs_only_in_where_things_lie(web: Web) -> None:
    far, near = triage("classify", f"{web.url}/logs/", "--format", "json"), triage("classify", str(LOGS), "--format", "json")
    assert json.loads(far.stdout.replace(f"{web.url}/logs", str(LOGS))) == json.loads(near.stdout)


def test_a_part_that_cannot_be_read_is_exit_3_and_the_rest_is_told(web: Web) -> None:
    del web.files["/logs/vllm.log.3.gz"]
    done = triage("classify", f"{web.url}/logs/")
    assert done.exit_code == 3
    assert "collective-hang" in done.stdout
    assert f"{web.url}/logs/vllm.log.3.gz: cannot be read any further than 0 bytes: the server answers 404 Not Found" in done.stderr


def test_nothing_that_can_be_read_is_exit_2_in_one_line_without_secrets(web: Web) -> None:
    url = web.url.replace("://", "://me:hunter22@")
    done = triage("classify", f"{url}/none.log?sig=t0ps3cret")
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "404" in done.stderr
    assert "hunter22" not in done.stderr
    assert "t0ps3cret" not in done.stderr


def test_no_secret_is_in_any_format(web: Web) -> None:
    url = web.url.replace("://", "://me:hunter22@") + "/logs/vllm.log?sig=t0ps3cret"
    for form in ("table", "json", "jsonl", "csv", "markdown"):
        done = triage("classify", url, "--format", form)
        assert done.exit_code == 0
        assert "hunter22" not in done.output
        assert "t0ps3cret" not in done.output


def test_an_explanation_names_the_address_and_the_line(web: Web) -> None:
    done = triage("explain", "8c31e602", f"{web.url}/logs/")
    assert done.exit_code == 0
    assert f"{web.url}/logs/vllm.log" in done.stdout


def test_a_history_knows_what_it_has_read_from_disk_when_it_comes_from_elsewhere(web: Web, tmp_path: Path) -> None:
    store = str(tmp_path / "history.db")
    assert triage("classify", str(LOGS), "--record", "--store", store).exit_code == 0
    with open_store(Path(store), write=False) as kept:
        before = kept.db.execute("SELECT id, class, onset FROM incidents ORDER BY id").fetchall()
    assert len(before) == 17
    done = triage("classify", f"{web.url}/logs/", "--new", "--quiet", "--store", store)
    assert (done.exit_code, done.stderr) == (0, "")
    with open_store(Path(store), write=False) as kept:
        assert kept.db.execute("SELECT id, class, onset FROM incidents ORDER BY id").fetchall() == before


def test_what_lies_elsewhere_cannot_be_followed() -> None:
    done = triage("watch", "https://me:hunter22@host/a.log")
    assert done.exit_code == 2
    assert "https://host/a.log: only files can be followed" in done.stderr
    assert "hunter22" not in done.stderr
