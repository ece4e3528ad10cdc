"""What the commands of `triage model` print: what a model learnt, how well it did on what it had not seen, and why it says what it says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from triage.learn.calibration import LEAST_NAMED, PRECISION, Calibration, Held, Measured, given_names
from triage.learn.examples import BACKGROUND, Example
from triage.learn.model_file import Card, Model
from triage.learn.suggest import Suggestion
from triage.learn.train import LEAST_EPISODES, LEAST_INCIDENTS
from triage.report import words
from triage.report.counts import seen_at
from triage.report.fitting import columns, fitted_table, wrapped

SHOWN = 10
TOO_FEW = "too few incidents or episodes to hold some back"
HELD_OUT = "held out, later and on other hosts"


def card_text(card: Card, digest: str) -> str:
    """A model by what it says of itself."""
    people = f", {card.people:,} of them labelled by people" if card.people else ""
    lines = [
        words.clean(f"model {digest}, trained {card.trained} by triage {card.triage} under rules {card.rules}"),
        f"from {words.clean(card.source)}: {words.number(card.incidents, 'incident')} on {words.number(card.hosts, 'host')}{people}",
        "",
        fitted_table(
            ("class", "incidents", "episodes", "named"),
            [(s.fault_class, s.incidents, s.episodes, "yes" if s.enough else f"no: not enough labels for {s.fault_class}")
             for s in sorted(card.support, key=lambda s: (-s.incidents, s.fault_class))],
            "simple", (("class", 16),), right=("incidents", "episodes"),
        ),
        f"a class is named from {LEAST_INCIDENTS} incidents in {LEAST_EPISODES} episodes on; what comes within an hour on one host is one episode",
        *held_out(card.held_out, card.calibration),
    ]  # fmt: skip
    return _fit(lines)


def held_out(figures: Measured, calibration: Calibration, which: str = HELD_OUT) -> Iterator[str]:
    """What a model did on incidents, in sentences. `which` says what they are: those that it had not learnt from, unless it says otherwise."""
    if not figures.asked:
        yield f"not measured: {TOO_FEW}"
        return
    yield (
        f"{which}: {words.number(figures.asked, 'incident')} asked, {figures.named:,} named, {figures.right:,} rightly"
        + (f" (precision {figures.precision:.3f})" if figures.precision is not None else "")
        + f"; calibration error {figures.error:.3f}"
    )
    if calibration.enough:
        yield f"it names a class from a probability of {calibration.probability:.2f} and a likeness of {calibration.likeness:.2f} on, else nothing"
    else:
        yield (
            f"it names nothing: of held-out incidents fewer than {LEAST_NAMED} were sure enough to be named, "
            f"or fewer than {PRECISION:.0%} of those rightly"
        )


def evaluated(
    held: Sequence[Held], calibration: Calibration, figures: Measured, classes: Collection[str], style: str = "simple", which: str = HELD_OUT
) -> str:
    """The figures of each class, and of all. `classes`: those with enough labels to be named."""
    given, rows = given_names(held, calibration, classes), []
    for name in sorted({h.example.label for h in held} - {BACKGROUND}):
        own = sum(h.example.label == name for h in held)
        named = [h for h in given if h.answer.fault_class == name]
        right = sum(h.example.label == name for h in named)
        rows.append((name, own, len(named), right, f"{right / len(named):.3f}" if named else "-", f"{right / own:.2f}"))
    headings = ("class", "asked", "so named", "rightly", "precision", "recall")
    table = fitted_table(headings, rows, style, (("class", 16),), right=headings[1:])
    return _fit([table, "", *held_out(figures, calibration, which)])


def explained(asked: Example, model: Model) -> str:
    """What a model says of one incident and why: classes with their probabilities, the features that spoke, the line it is like, what is lacking."""
    classifier, limits = model.classifier, model.card.calibration
    chances = classifier.probabilities(classifier.scores(asked))
    order = sorted(range(len(chances)), key=lambda i: -chances[i])[:3]
    answer = classifier.answer(asked)
    said = _said(answer.fault_class, model, answer.probability, answer.likeness)
    lines = [f"{asked.id}  the rules say {asked.judged}; model {model.digest} says {said}"]
    lines += [f"  {_name(classifier.classes[i]):24} {chances[i]:.3f}" for i in order]
    lines += ["", f"what spoke for {_name(answer.fault_class)}"]
    lines += [f"  {weight:+.3f}  {words.clean(_feature(name), 60)}" for name, weight in classifier.spoke(asked, answer.fault_class)] or ["  nothing"]
    if answer.exemplar is not None:
        like = f"likeness {answer.likeness:.2f}, {limits.likeness:.2f} is needed"
        lines += ["", f"most like it ({like}): {words.clean(answer.exemplar.incident, 60)}, labelled {answer.exemplar.fault_class}"]
        lines.append(f"  {words.clean(answer.exemplar.line, 160)}")
    lines += ["", "its lines, masked"] + [f"  {words.clean(line, 160)}" for line in asked.lines] if asked.lines else ["", "no line of it was kept"]
    return _fit(lines)


def suggested(found: Sequence[Suggestion], total: int) -> str:
    """Which incidents to label first, and how."""
    if not found:
        none = ", none with a line to tell it by" if total else ""
        return f"nothing to label: {words.number(total, 'unclassified incident')} without a label{none}"
    rows = [
        (s.entry.id, _seen(s), len(s.others), s.guess or "-", f"{s.probability:.2f}" if s.guess else "-", words.clean(s.line, 120)) for s in found
    ]
    give = (("line", 24), ("seen", 0), ("line", 12), ("guess", 12), ("guess", 0))
    table = fitted_table(("id", "seen", "alike", "guess", "sure", "line"), rows, "simple", give, right=("alike", "sure"))
    more = "triage history relabel ID CLASS --reason '...', then triage model train"
    without = f"{words.number(total, 'unclassified incident')} without a label; alike: others that the label would speak for"
    return _fit([table, "", without, f"label one: {more}"])


def _said(name: str, model: Model, probability: float, like: float) -> str:
    limits = model.card.calibration
    if name == BACKGROUND:
        return "nothing: its lines are such as stand in any log"
    enough = {s.fault_class: s.enough for s in model.card.support}
    if not limits.enough:
        return f"nothing: it was not shown that its names are right (it would say {name})"
    if not enough.get(name):
        return f"nothing: there were not enough labels for {name}"
    lacks = [f"a probability of {probability:.2f}, {limits.probability:.2f} is needed"] if probability < limits.probability else []
    lacks += [f"a likeness of {like:.2f}, {limits.likeness:.2f} is needed"] if like < limits.likeness else []
    return f"nothing ({name} has {' and '.join(lacks)})" if lacks else name


def _name(name: str) -> str:
    return "nothing that is known" if name == BACKGROUND else name


def _feature(name: str) -> str:
    return f"letters '{name[1:]}'" if name.startswith("~") else name


def _seen(suggestion: Suggestion) -> str:
    seen = seen_at(suggestion.entry.verdict)
    return words.minute(seen.earliest) if seen else "-"


def _fit(lines: Iterable[str]) -> str:
    return "\n".join(line if "\n" in line else wrapped(line, columns()) for line in lines)
