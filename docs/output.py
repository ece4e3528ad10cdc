"""Keeps the output shown in our pages true: each block marked with a command holds what that command prints.

A block in README.md or docs/*.md looks like this, and `python -m docs.output` (or `make docs`) rewrites what stands in it:

    <!-- output: triage classify fixtures/outage-weeks -->
    ```
    ...
    ```
    <!-- /output -->
"""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from docs import rule_pages
from triage.cli.main import main as triage

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = (0, 4, 5)  # it ran; drift, or a mitigation that cannot work; and nothing that could be told
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^<!-- output: (?P<command>.+?) -->\n(?P<shown>.*?)^<!-- /output -->$", re.MULTILINE | re.DOTALL)


def printed(command: str) -> str:
    """What `command` prints on stdout at the top of a checkout, on a terminal of 80 columns without colours.

    Raises ValueError where it is no `triage` command or ends with an exit code that is no answer.
    """
    program, *arguments = shlex.split(command)
    if program != "triage":
        raise ValueError(f"a marked block shows a triage command, not {command!r}")
    with contextlib.chdir(ROOT):
        result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(triage, arguments, prog_name="triage")
    if result.exit_code not in ANSWERS:
        raise ValueError(f"{command!r} ended with {result.exit_code}: {result.output[-500:]} {result.exception or ''}")
    return result.stdout


def fenced(text: str) -> str:
    """`text` as a code block, its lines without trailing blanks; the fence is longer than any in it."""
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall(r"^`{3,}", lines, re.MULTILINE)), 0)
    return f"{fence}\n{lines}\n{fence}\n"


def refreshed(page: str) -> str:
    """The text of a page with every marked block holding what its command prints now."""
    return BLOCK.sub(lambda block: f"<!-- output: {block['command']} -->\n{fenced(printed(block['command']))}<!-- /output -->", page)


def main() -> None:
    """Rewrite the pages whose blocks no longer hold what their commands print, and those of the rules that have changed."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = refreshed(text)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(f"rewrote {page.relative_to(ROOT)}")
    for page in rule_pages.rewritten():
        print(f"rewrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
