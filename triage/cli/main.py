"""The command `triage`: sections of the help, options that every command shares, and nothing that loads before it is needed."""

from __future__ import annotations

import importlib

import click

from triage.cli.ending import Ending
from triage.cli.environment import named_in_environment

# Each command's line of help stands here too, so that the list needs none of their modules.
SECTIONS: dict[str, dict[str, str]] = {
    "Every day": {
        "classify": "Say which crashes happened, how often, and how that is known.",
        "explain": "Show why an incident got its class.",
        "report": "Write the postmortem: a page, Markdown, or a file for CI.",
    },
    "Evidence": {
        "boots": "List every boot: start, ready, end and how it ended.",
        "outages": "List every outage: a run of failing probes.",
        "dump": "Say which rank held up the others, by flight-recorder dumps.",
        "unknown": "Cluster the incidents that no rule named, and draft rules.",
        "bundle": "Pack the evidence of incidents, redacted, for others to read.",
        "caches": "List caches of compiled code by boot; archive, then remove.",
    },
    "Memory": {
        "history": "Ask the history what was recorded, correct it, hand it out.",
        "counts": "Count the incidents on record by class, week, host ...",
        "watch": "Follow growing logs and tell of incidents as they end.",
        "probe": "Ask an engine whether it answers; one JSON line.",
        "fleet": "Compare hosts: which of them carry most of a class?",
    },
    "Mitigations": {
        "mitigation": "Register a change as a hypothesis; check, claim, withdraw it.",
        "ledger": "Say where each mitigation stands, and on what evidence.",
        "drift": "Compare what was asked for with what was booted.",
        "exposure": "Say what a quiet time tells of a change.",
        "power": "Say what a test that passes can tell.",
        "rate": "Say how often each class comes, with exact intervals.",
    },
    "Trials": {
        "trial": "Plan runs, add them, say what they show and what not.",
    },
    "Knowledge": {
        "rules": "List, show, check and test the rules.",
        "diff": "Say whose verdict changed between two sets of rules.",
        "doctor": "Say whether triage is well, and what optional parts would give.",
        "model": "Learn from labelled incidents; name what no rule named.",
    },
}
COMMANDS = [name for section in SECTIONS.values() for name in section]


class Sections(Ending):
    """A group that lists its commands by section and imports a command's module only when it is named or listed."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return COMMANDS

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"triage.cli.{cmd_name}"), cmd_name)
        named_in_environment(command, (f"TRIAGE_{cmd_name}",))
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from triage import __version__

        click.echo(f"triage {__version__}")
        ctx.exit()


@click.command(cls=Sections, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version and exit.")
def main() -> None:
    """Say which crash it was, how often each kind comes, and why.

    Reads what an outage of a vLLM, SGLang or TensorRT-LLM server leaves behind: probe logs, engine output,
    flight-recorder dumps and kernel logs.

    \b
    Examples:
      triage classify logs/
      docker logs -t vllm 2>&1 | triage classify -
      triage explain 3fa2b1c0 logs/
    """

