"""Measures the classifier: what it recovers of a class whose rules are gone, whether its probabilities hold, when it is silent, and what it costs.

    python -m benchmarks.learn                      # all of it: half an hour on two cores
    python -m benchmarks.learn --only silence cost
    python -m benchmarks.learn --cases DIR          # logs with a labels.tsv: no wrong name, with all rules and without those of each class
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from triage.knowledge.load import Knowledge, load
from triage.knowledge.table import RuleTable
from triage.learn.calibration import Held, measured
from triage.learn.examples import BACKGROUND, Example, example
from triage.learn.generate import Made, generated, judge_files, recipes, without
from triage.learn.model_file import Model, as_bytes, load_model
from triage.learn.opinions import opinion
from triage.learn.order import mixed_up
from triage.learn.strangers import strangers
from triage.learn.train import Trained, trained
from triage.model import UNCLASSIFIED, Opinion, Verdict
from triage.parsers.sorting import NothingToReadError

PARTS = ("left-out", "silence", "unseen", "cost", "cases")


class Judged(NamedTuple):
    """A generated incident as the rules judge it: the verdict, if there is an incident at all, and the classes whose signatures hit a line."""

    made: Made
    verdict: Verdict | None
    hit: frozenset[str]
    is_mixed_up: bool = False

    @property
    def shown(self) -> Example:
        assert self.verdict is not None
        return msgspec.structs.replace(example(self.verdict, self.made.fault_class, host=self.made.host), at=self.made.at, id=self.made.name)


def judge(made: Made, known: Knowledge, table: RuleTable, folder: Path) -> Judged:
    try:
        found = judge_files(made.files, known, table, folder)
    except NothingToReadError:
        return Judged(made, None, frozenset())
    hit = {e.fault for b in found.boots for e in b.events} | {e.fault for v in found.verdicts for e in v.incident.events}
    first = next((v for v in found.verdicts if v.fault), next(iter(found.verdicts), None))
    return Judged(made, first, frozenset(hit), first is not None and first.incident.source in mixed_up(found.boots))


def judge_all(every: Iterable[Made], known: Knowledge) -> list[Judged]:
    table = RuleTable(known)
    with tempfile.TemporaryDirectory() as folder:
        return [judge(made, known, table, Path(folder)) for made in every]


def again(judged: Sequence[Judged], known: Knowledge, name: str) -> list[Judged]:
    """As the rules without those of one class judge: only incidents in which one of its signatures hit, or that are of it, can differ."""
    table = RuleTable(known)
    with tempfile.TemporaryDirectory() as folder:
        return [judge(j.made, known, table, Path(folder)) if name in j.hit or j.made.fault_class == name else j for j in judged]


def said_of(j: Judged, model: Model) -> Opinion | None:
    """What a model says of it, as `classify --model` would ask."""
    return None if j.verdict is None or j.is_mixed_up else opinion(j.verdict, model)


def learn(judged: Sequence[Judged], known: Knowledge) -> Trained:
    return trained([j.shown for j in judged if j.verdict is not None], known, source="generated", at=0)


def as_model(made: Trained) -> Model:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(as_bytes(made.card, made.classifier))
        return load_model(Path(file.name))


def left_out(known: Knowledge, learnt: Sequence[Judged], asked: Sequence[Judged], names: Sequence[str], cases: Path | None) -> None:
    print("| class | incidents | unclassified | named | other root | hinted | recovered | precision |\n|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in names or sorted(set(known.classes) - {UNCLASSIFIED}):
        bare = without(known, name)
        model = as_model(learn(again(learnt, bare, name), bare))
        n: Counter[str] = Counter()
        for j in again(asked, bare, name):
            _count(n, j, name, model)
        found = n["named"] + n["hinted"] + n["still"]
        recovered = f"{found / n['all']:.2f}" if n["all"] else "-"
        precision = f"{n['right'] / (n['right'] + n['wrong']):.3f}" if n["right"] + n["wrong"] else "-"
        print(f"| `{name}` | {n['all']} | {n['unclassified']} | {n['named']} | {n['other']} | {n['hinted']} | {recovered} | {precision} |"
              + (f" still {n['still']}" if n["still"] else "") + (f" gone {n['gone']}" if n["gone"] else ""), flush=True)  # fmt: skip
        if cases is not None:
            on_cases(cases, bare, model, f"without {name}")


def _count(n: Counter[str], j: Judged, name: str, model: Model) -> None:
    mine = j.made.fault_class == name
    if j.verdict is None:
        n["gone"] += mine
        return
    said = said_of(j, model)
    hit = said is not None and said.fault_class == name and j.verdict.fault_class != name
    n["right" if mine else "wrong"] += hit
    if mine:
        place = "still" if j.verdict.fault_class == name else "unclassified" if j.verdict.fault_class == UNCLASSIFIED else "other"
        n["all"] += 1
        n[place] += 1
        n["named" if place == "unclassified" else "hinted"] += hit


def on_cases(folder: Path, known: Knowledge, model: Model, what: str) -> None:
    """Which names a model gives to real incidents that rules leave unclassified, and which of them are wrong by the labels."""
    table = RuleTable(known)
    rows = [line.split("\t") for line in (folder / "labels.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    asked, named, wrong = 0, [], []
    from triage.pipeline import gather, judged

    for case, label, also, *_ in rows:
        try:
            found = judged(gather([str(folder / f"{case}.log")], known, table=table), known, lines_of_all=True)
        except NothingToReadError:
            continue
        for verdict in found.verdicts:
            if verdict.fault_class == UNCLASSIFIED:
                asked += 1
                said = opinion(verdict, model)
                if said is not None:
                    named.append(f"{case} {said.fault_class} {said.probability:.2f}")
                    wrong += [f"{case}: {said.fault_class}, it is {label}"] if said.fault_class not in (label, *also.split(",")) else []
    print(f"cases, {what}: {asked} unclassified, {len(named)} named, wrong: {wrong or 'none'}  ({'; '.join(named)})", flush=True)


def silence(known: Knowledge, model: Model, asked: Sequence[Judged]) -> None:
    print("| what | logs | left unclassified | named | logs found to be in no order |\n|---|--:|--:|--:|--:|")
    made = [j.made for j in asked]
    for kind in ("nonsense", "other software", "mixed lines", "mixed lines, stamps kept", "mixed words"):
        found = judge_all(strangers(known, kind, 500, made=made), known)
        left = [j for j in found if j.verdict is not None and j.verdict.fault_class == UNCLASSIFIED]
        named = [j for j in left if said_of(j, model) is not None]
        print(f"| {kind} | {len(found)} | {len(left)} | {len(named)} | {sum(j.is_mixed_up for j in found)} |", flush=True)


def calibration(model: Model, asked: Sequence[Judged]) -> None:
    held = [Held(j.shown, model.classifier.answer(j.shown), True) for j in asked if j.verdict is not None]
    figures = measured(held, model.card.calibration, model.named)
    print(f"held out, generated with another seed: {figures.asked} asked, {figures.named} named, {figures.right} rightly; "
          f"expected calibration error {figures.error:.4f}")  # fmt: skip


def unseen(known: Knowledge, learnt: Sequence[Judged], asked: Sequence[Judged]) -> None:
    """Texts that were never learnt: every fifth sample is kept out of what is learnt, and only those are asked about."""
    texts = sorted({j.made.recipe.text for j in (*learnt, *asked)})
    kept = set(texts[::5])
    model = as_model(learn([j for j in learnt if j.made.recipe.text not in kept], known))
    calibration(model, [j for j in asked if j.made.recipe.text in kept])


def cost(known: Knowledge, learnt: Sequence[Judged], model: Model) -> None:
    examples = [j.shown for j in learnt if j.verdict is not None][:5000]
    began, used = time.perf_counter(), time.process_time()
    trained(examples, known, source="generated", at=0)
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"training on {len(examples)} incidents, calibration included: {wall:.1f} s ({cpu:.1f} s of one core), "
          f"{peak:.0f} MB at the peak (with the generated logs in memory)")  # fmt: skip
    verdicts = [j.verdict for j in learnt[:1000] if j.verdict is not None]
    began, used = time.perf_counter(), time.process_time()
    for verdict in verdicts:
        opinion(verdict, model)
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    print(f"asking: {1000 * wall / len(verdicts):.2f} ms an incident ({1000 * cpu / len(verdicts):.2f} ms of one core)")


def main() -> None:
    asked_for = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked_for.add_argument("--learn", type=int, default=5000, help="generated incidents to learn from")
    asked_for.add_argument("--ask", type=int, default=1500, help="generated incidents to ask about")
    asked_for.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    asked_for.add_argument("--classes", nargs="*", default=(), help="leave out only these")
    asked_for.add_argument("--cases", type=Path, help="a folder of labelled logs with labels.tsv")
    given = asked_for.parse_args()
    known = load()
    made_of = recipes(known)
    print(f"{len(made_of)} recipes of {len({r.text for r in made_of})} samples")
    learnt, asked = (judge_all(generated(known, made_of, count, seed=seed), known) for count, seed in ((given.learn, 1), (given.ask, 99)))
    made = learn(learnt, known)
    model = as_model(made)
    print(f"rules {known.version}; {sum(1 for e in made.held if e.example.label != BACKGROUND)} held out while training: {made.card.held_out}")
    calibration(model, asked)
    if "cost" in given.only:
        cost(known, learnt, model)
    if "silence" in given.only:
        silence(known, model, asked)
    if "unseen" in given.only:
        unseen(known, learnt, asked)
    if "cases" in given.only and given.cases is not None:
        on_cases(given.cases, known, model, "all rules")
    if "left-out" in given.only:
        left_out(known, learnt, asked, given.classes, given.cases)


if __name__ == "__main__":
    main()
