"""Our pages tell the truth: marked blocks hold what their commands print, links lead somewhere, the rule in CONTRIBUTING.md is a rule."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import msgspec
import pytest

from docs.output import BLOCK, PAGES, ROOT, fenced, printed
from triage.cli.main import main
from triage.knowledge.load import load
from triage.knowledge.schema import FaultClass

BLOCKS = [(page, block) for page in PAGES for block in BLOCK.finditer(page.read_text(encoding="utf-8"))]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
WRITTEN = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md", *PAGES]


def label(page: Path, block: re.Match[str]) -> str:
    return f"{page.name}: {block['command']}"


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[label(*case) for case in BLOCKS])
def test_a_marked_block_holds_what_its_command_prints(page: Path, block: re.Match[str]) -> None:
    assert block["shown"] == fenced(printed(block["command"])), "run `make docs`"


def test_the_readme_shows_the_story_of_the_demo() -> None:
    assert "triage classify fixtures/outage-weeks" in {block["command"] for page, block in BLOCKS if page.name == "README.md"}


def test_every_marker_is_part_of_a_block() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        openings = re.findall(r"^<!-- output: ", text, re.MULTILINE)
        assert len(openings) == len(BLOCK.findall(text)), page.name


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]


def test_the_readme_names_every_class_with_its_family() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([a-z-]+) \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    known = {fault.id: fault.family for fault in load().classes.values()}
    assert {name: family for name, family in rows if name in known} == known


def test_the_readme_names_every_command() -> None:
    rows = re.findall(r"^\| `triage ([a-z-]+) ", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(main.list_commands(click.Context(main)))


def test_the_class_in_contributing_is_one_that_loads() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    fault = msgspec.convert(tomllib.loads(example), FaultClass)
    for signature in fault.signatures:
        assert all(re.search(signature.pattern, sample) for sample in signature.samples)
        assert not any(re.search(signature.pattern, near) for near in signature.near_misses)
