"""Every option of every command is taken from TRIAGE_<COMMAND>_<OPTION>, as the README says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from triage.cli.main import main

LOGS = Path(__file__).resolve().parents[2] / "fixtures" / "oom-then-cublas" / "logs"


def commands(of: click.Command = main, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(of, click.Group):
        yield path, of
        return
    for name in of.list_commands(click.Context(of)):
        below = of.get_command(click.Context(of), name)
        assert below is not None
        yield from commands(below, (*path, name))


EVERY = [(path, option) for path, command in commands() for option in command.params if isinstance(option, click.Option)]


@pytest.mark.parametrize(("path", "option"), EVERY, ids=[f"{' '.join(path)} {option.opts[0]}" for path, option in EVERY])
def test_an_option_has_the_variable_that_is_named_like_it(path: tuple[str, ...], option: click.Option) -> None:
    word = next(o for o in option.opts if o.startswith("--"))[2:]
    wanted = "_".join(("TRIAGE", *path, word)).upper().replace("-", "_")
    assert wanted in (option.envvar or ())


def told(*args: str, **environment: str) -> str:
    return CliRunner(env=environment).invoke(main, [*args, str(LOGS)], catch_exceptions=False).stdout


def test_the_variable_of_the_readme_works_and_the_option_stands_above_it() -> None:
    assert json.loads(told("classify", TRIAGE_CLASSIFY_FORMAT="json"))["schema"] == "triage/1"
    assert told("classify", "--format", "csv", TRIAGE_CLASSIFY_FORMAT="json").startswith("id,class")


def test_options_that_may_come_several_times_take_several_words() -> None:
    assert json.loads(told("classify", "--format", "json", TRIAGE_CLASSIFY_CLASS="triton-fault cublas-fault"))["incidents"] == []


def test_a_group_that_stands_for_its_list_gives_it_its_name() -> None:
    assert json.loads(told("boots", TRIAGE_BOOTS_FORMAT="json"))
    assert json.loads(told("boots", TRIAGE_BOOTS_LIST_FORMAT="json"))


def test_a_bad_value_there_is_refused_like_on_the_command_line() -> None:
    result = CliRunner(env={"TRIAGE_CLASSIFY_TZ": "Nope/Zone"}).invoke(main, ["classify", str(LOGS)])
    assert (result.exit_code, "'Nope/Zone'" in result.stderr) == (2, True)
