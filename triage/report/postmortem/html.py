"""Writes a postmortem as one HTML page that holds all it needs: no request to anywhere, nothing that runs but our own script."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triage.report.postmortem.given import Mitigation, Trial
from triage.report.postmortem.ladder import ladder
from triage.report.postmortem.palette import variables
from triage.report.postmortem.parts import Postmortem
from triage.report.postmortem.plots import plots_of
from triage.report.postmortem.say import Say

PAGE = Path(__file__).parent / "page"
FEW = 60  # incidents up to which print shows every card in full
SECTIONS = (
    ("raster", "When"), ("deaths", "Time to death"), ("classes", "Classes"), ("timeline", "Timeline"), ("cards", "Each class"), ("growth", "Rate"),
    ("hours", "Hours"), ("ledger", "Mitigations"), ("trials", "Trials"), ("epochs", "Configuration"), ("limits", "What cannot be said"),
    ("people", "For people"), ("incidents", "Incidents"),
)  # fmt: skip
BLANKS = (
    ("Trigger", "What set it off, as far as people know."),
    ("Lessons", "What went well, what went wrong, what was known at the time."),
    ("Where we got lucky", "What would have made it worse."),
    ("Actions", "What is done, by whom, by when."),
)
_CODE = re.compile(r"`([^`]+)`")
_COUNTED = re.compile(r"((?:\d[\d,]* )?[^\s-]\S*-\S*)")


def as_html(
    of: Postmortem,
    say: Say,
    *,
    mitigations: Sequence[Mitigation] | None = None,
    trials: Sequence[Trial] | None = None,
    redacting: bool = True,
    version: str = "",
) -> str:
    """The page. Raises ModuleNotFoundError without jinja2 (the extra `pages`)."""
    from markupsafe import Markup

    style, script = Markup(variables() + _read("page.css")), Markup(_read("page.js"))
    plots = plots_of(of, mitigations or (), say)
    ladders = [plot for number, trial in enumerate(trials or (), 1) if (plot := ladder(trial, number, say))]
    shown = {**plots, "ledger": of.mitigations, "trials": of.trials}
    sections = [(anchor, name) for anchor, name in SECTIONS if shown.get(anchor, "always") is not None]
    return str(
        _template().render(
            of=of, **plots, ladders=ladders, sections=sections, blanks=BLANKS, few=len(of.cards) <= FEW, redacting=redacting, version=version,
            style=style, script=script, style_hash=_hash(style), script_hash=_hash(script), prose=_prose, whole=_whole_words,
        )
    )  # fmt: skip


def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(PAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("page.html")


def _read(name: str) -> str:
    """One of our files as it stands in the page."""
    return (PAGE / name).read_text(encoding="utf-8").strip()


def _hash(content: str) -> str:
    """What the page's own policy knows its style sheet and script by (CSP level 2, 'sha256-…')."""
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _prose(text: str) -> Any:
    """A sentence of the rules with its `code` set as code; everything in it escaped."""
    from markupsafe import Markup, escape

    pieces = _CODE.split(text)
    return Markup("").join(Markup("<code>{}</code>").format(piece) if number % 2 else escape(piece) for number, piece in enumerate(pieces))


def _whole_words(text: str) -> Any:
    """A headline whose words with hyphens in them are not broken, nor parted from the count before them."""
    from markupsafe import Markup, escape

    parts = _COUNTED.split(text)
    return Markup("").join(Markup('<span class="whole">{}</span>').format(part) if at % 2 else escape(part) for at, part in enumerate(parts))
