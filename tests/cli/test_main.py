"""The help lists every command by section, with one line each that the command itself would give."""

from __future__ import annotations

import importlib

import pytest
from click.testing import CliRunner

from triage.cli.main import COMMANDS, SECTIONS, main


def test_help_shows_every_section_and_command() -> None:
    shown = CliRunner().invoke(main, ["--help"]).stdout
    for title, commands in SECTIONS.items():
        assert f"{title}:" in shown
        assert all(f"  {name} " in shown and line in shown for name, line in commands.items())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0
    assert f"triage {name}" in result.stdout
    assert getattr(importlib.import_module(f"triage.cli.{name}"), name).help


def test_an_unknown_command_is_refused_with_two() -> None:
    assert CliRunner().invoke(main, ["clasify"]).exit_code == 2
