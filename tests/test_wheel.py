"""What a user installs: the package with its rules and its types, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of this checkout unpacked in it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_every_rule_file_is_shipped(installed: Path) -> None:
    shipped, rules = installed / "triage" / "_rules", ROOT / "rules"
    assert {path.relative_to(shipped) for path in shipped.rglob("*.toml")} == {path.relative_to(rules) for path in rules.rglob("*.toml")}


def test_the_healthy_lines_are_shipped_for_who_checks_rules_of_ones_own(installed: Path) -> None:
    assert (installed / "triage" / "_rules" / "healthy.txt").read_bytes() == (ROOT / "rules" / "healthy.txt").read_bytes()


def test_the_parts_of_the_page_are_shipped(installed: Path) -> None:
    page = installed / "triage" / "report" / "postmortem" / "page"
    assert {path.name for path in page.iterdir()} == {"page.html", "page.css", "page.js"}


def test_nothing_but_the_package_is_shipped(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if path.suffix != ".dist-info"} == {"triage"}
    assert (installed / "triage" / "py.typed").is_file()


def test_an_installed_triage_uses_the_rules_it_carries(installed: Path, tmp_path: Path) -> None:
    ask = "from triage.knowledge.load import builtin_rules, load; load(); print(builtin_rules())"
    environment = os.environ | {"PYTHONPATH": str(installed), "TRIAGE_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ask], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert Path(done.stdout.strip()) == (installed / "triage" / "_rules").resolve()
