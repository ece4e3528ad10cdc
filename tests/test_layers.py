"""Who may import whom, what may be imported when, and how big a module or a function may grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "triage"
MODULES = sorted(PACKAGE.rglob("*.py"))

LONGEST_MODULE = 400
LONGEST_FUNCTION = 60

READING = {"model", "sources", "knowledge", "parsers"}
JUDGING = READING | {"timeline", "verdict", "history"}
INSIDE = JUDGING | {"ledger", "trials", "learn", "caches", "doctor", "fleet", "report"}
INSIDE |= {"workers", "pipeline", "cluster", "recording", "rejudging", "prober", "watching"}
FOR_ALL = {"expressions"}  # imports nothing of ours, and says nothing about logs
DOOR = "__init__"  # triage/__init__.py, what `import triage` gives

MAY_IMPORT: dict[str, set[str]] = {
    "expressions": set(),
    "model": set(),
    "sources": {"model"},
    "knowledge": {"model"},
    "parsers": {"model", "sources", "knowledge"},
    "timeline": {"model"},
    "verdict": {"model", "knowledge"},
    "history": {"model"},
    "ledger": JUDGING,
    "trials": JUDGING | {"ledger"},
    "caches": JUDGING | {"report"},
    "doctor": JUDGING | {"report", "__init__"},
    "learn": JUDGING | {"report", "pipeline", DOOR},
    "fleet": JUDGING,
    "report": JUDGING | {"fleet", "ledger", "trials"},
    "pipeline": JUDGING | {"report", "workers"},
    "workers": READING,
    "recording": JUDGING | {"pipeline"},
    "rejudging": JUDGING | {"recording"},
    "prober": {"model"},
    "watching": JUDGING | {"pipeline", "recording"},
    "cluster": READING | {"pipeline", DOOR},
    DOOR: INSIDE,
    "cli": INSIDE | {DOOR},
    "__main__": {"cli"},
}

# What may look further than its layer, each with its reason: the part of a layer, and the one module that it may import.
EXCEPTIONS: dict[str, str] = {
    "verdict.dumps": "triage.parsers.flight_recorder.records",  # blame is found in what the ranks recorded, and only those records say that
}

HEAVY = {
    "altair", "asyncio", "dataclasses", "duckdb", "fsspec", "importlib.metadata", "jinja2", "logging", "numpy", "pandas", "prometheus_client",
    "pydantic", "ray", "rich", "scipy", "skops", "sklearn", "tabulate", "vl_convert", "yaml",
}  # fmt: skip


def name_of(path: Path) -> str:
    """The dotted name inside the package: `sources.find`, `sources.__init__`, `__main__`."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported(node: ast.AST, path: Path) -> list[str]:
    """The absolute dotted names that an import statement may load; nothing for any other node."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        here = ("triage", *path.relative_to(PACKAGE).parts)
        base = ".".join([*here[: len(here) - node.level], node.module or ""]).strip(".") if node.level else node.module or ""
        return [f"{base}.{alias.name}" for alias in node.names]
    return []


def layer_of(dotted: str) -> str | None:
    """The layer that a dotted name of ours belongs to: `triage.sources.find` is `sources`; a name of the door itself is DOOR."""
    package, _, rest = dotted.partition(".")
    if package != "triage":
        return None
    first = rest.partition(".")[0]
    return first if first in MAY_IMPORT else DOOR


def run_on_import(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that takes part when a module is imported: no function bodies, nothing that only a type checker sees."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from run_on_import(ast.Module(child.orelse, []))
            continue
        yield child
        yield from run_on_import(child)


def is_heavy(dotted: str) -> bool:
    return any(dotted == name or dotted.startswith(f"{name}.") for name in HEAVY)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_follow_the_layers(path: Path) -> None:
    own = name_of(path).partition(".")[0]
    assert own in MAY_IMPORT, f"give triage/{own} a layer here and in docs/architecture.md"
    allowed = MAY_IMPORT[own] | FOR_ALL | {own}
    further = tuple(module for part, module in EXCEPTIONS.items() if f"{name_of(path)}.".startswith(f"{part}."))
    names = {name for node in ast.walk(tree_of(path)) for name in imported(node, path)}
    strangers = sorted(name for name in names if layer_of(name) not in allowed | {None} and not name.startswith(further or ("\0",)))
    assert not strangers, f"{own} may import only {sorted(allowed - {own}) or 'nothing of ours'}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_heavy_library_loads_with_a_module(path: Path) -> None:
    loaded = {name for node in run_on_import(tree_of(path)) for name in imported(node, path) if is_heavy(name)}
    assert not loaded, "import it in the function that needs it"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE
    functions = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = {node.name: (node.end_lineno or node.lineno) - node.lineno + 1 for node in functions}
    assert not {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(tree_of(path)), "a module opens with one line that says what it does"


def test_exceptions_name_modules_that_exist() -> None:
    names = [f"{name_of(path)}." for path in MODULES]
    assert all(any(name.startswith(f"{part}.") for name in names) for part in EXCEPTIONS)
    assert {module.removeprefix("triage.") + "." for module in EXCEPTIONS.values()} <= set(names)


def test_the_rules_see_each_form_of_import() -> None:
    source = """
from typing import TYPE_CHECKING
import triage.cli.main
from ..verdict import judge
from triage import classify
if TYPE_CHECKING:
    import pandas
try:
    from importlib import metadata
except ImportError:
    pass
def later():
    import numpy
"""
    path = PACKAGE / "sources" / "find.py"
    tree = ast.parse(source)
    names = [name for node in ast.walk(tree) for name in imported(node, path)]
    assert {layer_of(name) for name in names} == {None, "cli", "verdict", DOOR}
    assert [name for node in run_on_import(tree) for name in imported(node, path) if is_heavy(name)] == ["importlib.metadata"]
