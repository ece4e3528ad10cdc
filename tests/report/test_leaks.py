"""Whatever secret stands in whatever source, no long piece of it is in anything that leaves the machine."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import planted
from tests.kinds import KINDS, left
from tests.lives import Life, log
from triage.cli.main import main
from triage.report.bundle.archive import read_bundle

SOURCES = ("engine", "root", "last", "probe", "kernel", "dump", "trial", "ledger")


def secrets(seed: int) -> dict[str, str]:
    """By the secret, a text that holds it: one for each shape of each kind."""
    chosen = random.Random(seed)
    made = {}
    for name, kind in KINDS.items():
        for text in kind.texts:
            core = "".join(chosen.choices(kind.alphabet.strip("+-._/"), k=kind.length))
            secret = "-".join(core[at : at + 5] for at in range(0, len(core), 5)) if name == "licence" else core
            made[core] = text.format(*[kind.shape.format(secret)] * 2)
    return made


def of_one_line(texts: dict[str, str]) -> list[str]:
    return [text if "\n" not in text else json.dumps({"message": text}) for text in texts.values()]


def written(folder: Path, source: str, texts: dict[str, str]) -> list[str]:
    """The logs of a machine with all the texts in one of its sources; the options of `report` that read them."""
    logs = planted.machine(folder / "logs", list(texts.values()) if source == "engine" else ["all is well"])
    lines = of_one_line(texts)
    if source in ("root", "last"):
        lives = Life(6, pid=600).serves()
        for line in lines:
            lives = _dies_saying(lives, line) if source == "root" else lives.worker(1, "ERROR", "x.py:1", line, later=0)
        log(logs, lives, name="other.log")
    elif source == "probe":
        with (logs / "probe.log").open("a") as file:
            times = (f"2026-11-20T06:{n // 60 % 60:02}:{n % 60:02}Z" for n in range(len(lines)))
            probes = ({"time": at, "url": "http://x/health", "status": 0, "error": line} for at, line in zip(times, lines, strict=True))
            file.writelines(json.dumps(one) + "\n" for one in probes)
    elif source == "kernel":
        with (logs / "kernel.log").open("a") as file:
            xid = "NVRM: Xid (PCI:0000:3b:00): 31, pid=104, name="
            told = (f"[ {n}.1] {xid if n % 9 == 0 else ''}{line}" for n, line in enumerate(lines))
            file.writelines(f"Nov 20 02:03:{n % 60:02} gpu-node-7 kernel: {one}\n" for n, one in enumerate(told))
    elif source == "dump":
        _dumps(logs / "dumps", lines)
    return [str(logs), *_trial(folder, lines, source), *_ledger(folder, lines, source)]


def _dies_saying(life: Life, line: str) -> Life:
    life.raises(3, f"RuntimeError: CUDA error: an illegal memory access was encountered {line}", [f"/x/{n}.py:7 f" for n in range(2)]).dies()
    fresh = Life(life.clock / 3600 + 0.01, pid=life.pid + 10).serves(1)
    fresh.lines = life.lines + fresh.lines
    return fresh


def _dumps(folder: Path, lines: list[str]) -> None:
    for number, file in enumerate(sorted(folder.iterdir())):
        document = json.loads(file.read_text())
        for at, entry in enumerate(document["entries"]):
            mine = lines[(number * 7 + at) % len(lines) :: 5]
            entry["frames"] = [{"name": "f", "filename": line, "line": 7} for line in mine]
            entry["process_group"] = ("0", lines[at % len(lines)])
        file.write_text(json.dumps(document))


def _trial(folder: Path, lines: list[str], source: str) -> list[str]:
    night = folder / "night"
    night.mkdir()
    said = lines if source == "trial" else ["may it move?"]
    told = "; ".join(said).replace("\\", "\\\\").replace('"', '\\"')
    item = f'[[item]]\nid = "burst"\nquestion = "{told}"\npath = "{told}"\nruns = 1'
    build, arm = '[[build]]\nname = "0.29"\nversion = "0.29.0"', '[[arm]]\nname = "a"\nbuild = "0.29"'
    (night / "runs").mkdir()
    heads = "".join(f'{name} = "{told}"\n' for name in ("question", "stop", "limits"))
    (night / "trial.toml").write_text(f'{heads}\n{build}\n\n{arm}\n\n{item}\n')
    return ["--trial", str(night)] if source == "trial" else []


def _ledger(folder: Path, lines: list[str], source: str) -> list[str]:
    if source != "ledger":
        return []
    journal = folder / "ledger.jsonl"
    for number, line in enumerate(lines):
        told = ("--class", "illegal-memory-access", "--change", f"VLLM_X{number}=1", "--falsifier", "class illegal-memory-access", "--note", line)
        CliRunner().invoke(main, ["mitigation", "add", f"m{number}", *told, "--ledger", str(journal)], catch_exceptions=False)
    assert journal.stat().st_size > 10_000
    return ["--ledger", str(journal)]


def leaving(folder: Path, given: list[str]) -> Iterator[tuple[str, str]]:
    """Whatever leaves the machine, by what it is."""
    for form in ("html", "markdown", "sarif", "junit"):
        extra = [] if form in ("html", "markdown") or "--trial" not in given else ["--trial"]
        wanted = given[: given.index("--trial")] if extra else given
        told = CliRunner().invoke(main, ["report", *wanted, "--format", form], catch_exceptions=False)
        assert told.exit_code in (0, 3), told.stderr
        yield form, told.stdout
        yield f"what {form} says on stderr", told.stderr
    bundle = folder / "b.tar.zst"
    told = CliRunner().invoke(main, ["bundle", "all", given[0], "-o", str(bundle), "--issue-text"], catch_exceptions=False)
    assert told.exit_code in (0, 3), told.stderr
    yield "draft", told.stdout
    yield from ((name, content.decode()) for name, content in read_bundle(str(bundle)).items())
    CliRunner().invoke(main, ["unknown", given[0], "--draft", str(folder / "own")], catch_exceptions=False)
    yield from ((file.name, file.read_text()) for file in (folder / "own").rglob("*.toml"))


@pytest.mark.parametrize("source", SOURCES)
def test_no_secret_of_any_kind_leaves_from_any_source(source: str, tmp_path: Path) -> None:
    texts = secrets(SOURCES.index(source))
    shown = dict(leaving(tmp_path, written(tmp_path, source, texts)))
    every = "\n".join({line for content in shown.values() for line in content.splitlines()})  # most say the same again
    leaked = [secret for secret in texts if left(secret, every)]
    assert {(name, secret, texts[secret]) for name, content in shown.items() for secret in leaked if left(secret, content)} == set()
