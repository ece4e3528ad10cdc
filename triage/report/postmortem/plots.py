"""All plots of a postmortem by name, in the order in which they are shown; None where the evidence has nothing to draw."""

from __future__ import annotations

from collections.abc import Sequence

from triage.report.postmortem.deaths import deaths
from triage.report.postmortem.given import Mitigation
from triage.report.postmortem.growth import growth
from triage.report.postmortem.hours import hours
from triage.report.postmortem.parts import Postmortem
from triage.report.postmortem.raster import raster
from triage.report.postmortem.say import Say
from triage.report.postmortem.svg import Plot


def plots_of(of: Postmortem, mitigations: Sequence[Mitigation], say: Say) -> dict[str, Plot | None]:
    return {"raster": raster(of, mitigations, say), "deaths": deaths(of), "growth": growth(of), "hours": hours(of)}
