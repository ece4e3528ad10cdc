"""What must never stand in the tree: paths of one machine, half-done work without a reason, prints left from debugging; and one version."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import triage

ROOT = Path(__file__).parent.parent
TEXT = {"", ".cfg", ".csv", ".json", ".jsonl", ".log", ".md", ".py", ".sh", ".toml", ".tsv", ".txt", ".typed", ".yaml", ".yml"}
TOP = [".ci", "benchmarks", "docs", "fixtures", "rules", "tests", "triage", *(p.name for p in ROOT.iterdir() if p.is_file() and p.suffix in TEXT)]
MODULES = sorted((ROOT / "triage").rglob("*.py"))

# Homes of people and of checkouts. What engines themselves print (/root/.cache, /usr/local/lib ...) is evidence and may stand.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home/\w+|Users/\w+|work|root/(?!\.cache|\.triton|\.deep_gemm))/")
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b(?!: \S.{14,})")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_files() -> list[Path]:
    found = [file for top in TOP for file in [ROOT / top, *(ROOT / top).rglob("*")] if file.is_file()]
    return sorted(file for file in found if file.suffix in TEXT and "__pycache__" not in file.parts and file != Path(__file__))


def places(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    """`file:line: text` of each line that the pattern is found in."""
    return [
        f"{relative(path)}:{number}: {line.strip()[:120]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_path_of_one_machine() -> None:
    assert not places(MACHINE_PATH, text_files())


def test_nothing_is_left_undone_without_a_reason() -> None:
    assert not places(UNFINISHED, [path for path in text_files() if path.suffix in {".py", ".toml", ".md"}])


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_no_print_is_left_from_debugging(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if "__name__ == '__main__'" in ast.unparse(tree):  # run with `python -m` for what it prints
        return
    called = [node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert not {"print", "pprint", "breakpoint"} & set(called)


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert triage.__version__ == project["version"]
    assert f"## [{triage.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_patterns_know_what_to_refuse() -> None:
    home, checkout = "/" + "home/someone/logs", "/" + "work/main/triage"
    assert MACHINE_PATH.search(f'open("{home}")')
    assert MACHINE_PATH.search(f"in {checkout}")
    assert not MACHINE_PATH.search("/root/.cache/vllm and https://example.org/work/1 and fixtures/work/x")
    assert UNFINISHED.search("# TODO fix this")
    assert not UNFINISHED.search("# TODO: drop once Python 3.11 is out of support")
