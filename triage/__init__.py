"""triage: which crash it was, how often each kind comes, and whether what was done about it did anything.

>>> import triage
>>> findings = triage.classify("fixtures/outage-weeks/logs")  # doctest: +SKIP
>>> findings.to_frame()[["class", "onset"]]  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

    from triage.model import Incident, Verdict
    from triage.pipeline import Named
    from triage.report.frame import Findings

__version__ = "0.1.0"
__all__ = ["Findings", "Incident", "Verdict", "classify", "to_frame"]


def classify(paths: Named | Sequence[Named], **options: Any) -> Findings:
    """What happened, by everything in `paths`, a path or several: see `triage.pipeline.classify` for the options and what it raises."""
    from triage.pipeline import classify as run
    from triage.report.frame import Findings
    from triage.report.numbers import numbered

    return Findings.of(numbered(run(paths, **options), counts=True))


def to_frame(findings: Findings) -> pandas.DataFrame:
    """One row an incident, with times as pandas timestamps (UTC)."""
    from triage.report.frame import to_frame as frame

    return frame(findings)


def __getattr__(name: str) -> Any:
    if name == "Findings":
        from triage.report import frame

        return frame.Findings
    if name in ("Incident", "Verdict"):
        from triage import model

        return getattr(model, name)
    raise AttributeError(f"module 'triage' has no attribute {name!r}")
