"""`triage mitigation`: register a change as a hypothesis, and say what becomes of it."""

from __future__ import annotations

import importlib.util

import click

ELSEWHERE = {"check": "triage.cli.mitigation_check"}


class Lazy(click.Group):
    """A group whose larger commands live in modules of their own, which are imported when they are named or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        present = [name for name, module in ELSEWHERE.items() if importlib.util.find_spec(module)]
        return sorted({*super().list_commands(ctx), *present})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(importlib.import_module(ELSEWHERE[cmd_name]), cmd_name)
        return command


@click.group(cls=Lazy)
def mitigation() -> None:
    """Register a mitigation before it is judged, and say what becomes of it."""
