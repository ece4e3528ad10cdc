"""Asks a model about incidents: it names what the rules left unclassified, and of what they named differently it says so in a hint."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from triage.knowledge.load import Knowledge
from triage.learn.calibration import is_name
from triage.learn.examples import example
from triage.learn.model_file import Model
from triage.learn.order import mixed_up
from triage.model import UNCLASSIFIED, Findings, Opinion, Problem, Verdict
from triage.report.words import chance, clean

NO_ORDER = "its lines are in no order of time or of an engine's life: the model was not asked about it"


def with_opinions(findings: Findings, model: Model, known: Knowledge) -> Findings:
    """The findings with what the model says of each incident. Verdicts need their best and last lines: `judged(..., lines_of_all=True)`.

    Nothing is asked about a log whose lines are in no order, and that is said among the problems.
    """
    mixed = mixed_up(findings.boots)
    verdicts = tuple(v if v.incident.source in mixed else heard(v, model, known) for v in findings.verdicts)
    told = tuple(Problem(source, NO_ORDER, lost=False) for source in sorted(mixed & {v.incident.source for v in findings.verdicts}))
    return msgspec.structs.replace(findings, verdicts=verdicts, problems=(*findings.problems, *told))


def heard(verdict: Verdict, model: Model, known: Knowledge) -> Verdict:
    """A verdict as it is once the model was heard: another class only where there was none and no root was cited.

    That it counts as a fault stays: where the rules say that something died, a model does not take it off the list.
    """
    found = opinion(verdict, model)
    if found is None or found.fault_class not in known.classes or not verdict.fault:
        return verdict
    if verdict.fault_class == UNCLASSIFIED:
        family = known.classes[found.fault_class].family
        return msgspec.structs.replace(verdict, fault_class=found.fault_class, family=family, by="model", opinion=found)
    if found.fault_class == verdict.fault_class:
        return verdict
    return msgspec.structs.replace(verdict, opinion=found, hints=(*verdict.hints, doubt(verdict, found)))


def opinion(verdict: Verdict, model: Model) -> Opinion | None:
    """What the model says of an incident; None where it is not sure enough."""
    calibration, asked = model.card.calibration, example(verdict, "")
    answer = model.classifier.answer(asked)
    if not calibration.enough or not is_name(answer, calibration.probability, calibration.likeness) or answer.fault_class not in model.named:
        return None
    like = answer.exemplar
    return Opinion(
        fault_class=answer.fault_class, probability=round(answer.probability, 4), likeness=round(answer.likeness, 4),
        like=like.line if like else "", incident=like.incident if like else "",
        spoke=tuple(model.classifier.spoke(asked, answer.fault_class)), model=model.digest,
    )  # fmt: skip


def doubt(verdict: Verdict, found: Opinion) -> str:
    """The hint that the model would have named something else."""
    return (
        f"the model takes this for {found.fault_class} ({chance(found.probability)}; it is like {clean(found.incident, 60)}, which is labelled so), "
        f"the rules for {verdict.fault_class}: the rules' word stands; look at the root before you trust either"
    )


def mismatches(model: Model, known: Knowledge) -> list[str]:
    """What has changed since the model was trained and limits it, in sentences."""
    card = model.card
    unknown = [name for name in card.classes if name not in known.classes]
    other = f"trained under rules {card.rules}, these are {known.version}: what those left unclassified may have a name now"
    said = [other] if card.rules != known.version else []
    said += [f"it knows classes that these rules do not ({', '.join(unknown)}): it names none of them"] if unknown else []
    if not card.calibration.enough:
        said.append("too few held-out incidents to show that its names would be right: it names nothing until it has learnt from more")
    return said


def share(verdicts: Sequence[Verdict]) -> tuple[int, float, float]:
    """How many incidents the model named, and the least and the greatest probability with which."""
    chances = [v.opinion.probability for v in verdicts if v.by == "model" and v.opinion]
    return len(chances), min(chances, default=0.0), max(chances, default=0.0)
