"""Each option can be set in the environment, under the name that it and its command have for people: TRIAGE_CLASSIFY_FORMAT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click


def named_in_environment(command: click.Command, prefixes: Sequence[str]) -> None:
    """Give each option of a command, and of those below it, its variable under each prefix, beside those that it has."""
    for option in _options(command):
        variables = [_variable(prefix, option) for prefix in prefixes]
        option.envvar = list(dict.fromkeys((*_given(option), *variables)))
    if isinstance(command, click.Group):
        standard = getattr(command, "standard", None)  # the command that runs where none is named goes by the group's name, too
        for name, below in command.commands.items():
            longer = [f"{prefix}_{name}" for prefix in prefixes]
            named_in_environment(below, longer + (list(prefixes) if name == standard else []))


def _options(command: click.Command) -> Iterator[click.Option]:
    return (parameter for parameter in command.params if isinstance(parameter, click.Option))


def _variable(prefix: str, option: click.Option) -> str:
    word = max(option.opts, key=len).lstrip("-")
    return f"{prefix}_{word}".upper().replace("-", "_")


def _given(option: click.Option) -> Iterable[str]:
    if option.envvar is None:
        return ()
    return (option.envvar,) if isinstance(option.envvar, str) else option.envvar
