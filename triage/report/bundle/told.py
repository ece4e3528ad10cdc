"""How a bundle tells of what it was made from: redacted, and without the folders above the logs, so that it does not depend on where they lay."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from triage.model import Findings, Verdict
from triage.report.redact import Redactor, knowing
from triage.sources.paths import STDIN

_OF_PATHS = frozenset({"file", "source", "because", "reason", "directory"})  # keys of triage/1 whose texts name files


class Teller:
    """Redacts for one bundle. `text` is for what a log says, `path` for names of files and for texts of ours that name some."""

    def __init__(self, redactor: Redactor, findings: Findings) -> None:
        self.redactor = knowing(redactor, findings)
        self._above = _above(findings)

    def text(self, text: str) -> str:
        return self.redactor.text(text)

    def path(self, text: str) -> str:
        return self.redactor.text(self._above.sub("", text) if self._above else text)

    def document(self, value: Any, key: str = "") -> Any:
        """A JSON value of triage/1, redacted."""
        if isinstance(value, dict):
            return {name: self.document(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [self.document(one, key) for one in value]
        if not isinstance(value, str):
            return value
        return self.redactor.host(value) if key == "host" else self.path(value) if key in _OF_PATHS else self.text(value)


def _above(findings: Findings) -> re.Pattern[str] | None:
    """What finds the folder that all logs and dumps lie below, however it was given: whole, from here, or by its last name as sources have it."""
    folders = [os.path.dirname(file) for source in findings.sources for file in source.files if file != STDIN]
    folders += [os.path.dirname(file) for verdict in findings.verdicts for file in _cited_files(verdict) if file != STDIN]
    folders += [os.path.dirname(dump.directory) for verdict in findings.verdicts if (dump := verdict.incident.dump)]
    try:
        common = os.path.commonpath(folders) if folders else ""
    except ValueError:  # some are given from here and some from the root
        common = ""
    forms = [re.escape(form) for form in (common, os.path.basename(common)) if form.strip("/")]
    here = r"\./" if any(folder.startswith("./") or folder == "." for folder in folders) else ""
    if not forms:
        return re.compile(rf"(?<![\w./-]){here}") if here else None
    return re.compile(rf"(?<![\w./-])(?:{here})?(?:{'|'.join(forms)})/")


def _cited_files(verdict: Verdict) -> Iterator[str]:
    yield from (event.place.file for event in (*verdict.consequences, *verdict.best_lines))
    if verdict.root is not None:
        yield verdict.root.place.file
