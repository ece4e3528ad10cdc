"""Measures the classifier: what it recovers of a class whose rules are gone, whether its probabilities hold, when it is silent, and what it costs.

    python -m benchmarks.learn                  # all of it: a quarter of an hour of one core
    python -m benchmarks.learn --only silence cost
    python -m benchmarks.learn --cases DIR      # logs with a labels.tsv, too: which names are wrong, with all rules and without those of each class

All costs are processor time, user and system: the clock says little on a machine that others use, too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec

from triage.knowledge.load import Knowledge, load
from triage.knowledge.table import RuleTable
from triage.learn.calibration import Held, measured
from triage.learn.examples import BACKGROUND, Example, example
from triage.learn.generate import Made, generated, judge_files, recipes, without
from triage.learn.model_file import Model, as_bytes, read_model
from triage.learn.opinions import opinion
from triage.learn.order import mixed_up
from triage.learn.strangers import strangers
from triage.learn.train import Trained, trained
from triage.model import UNCLASSIFIED, Findings, Opinion, Verdict
from triage.parsers.sorting import NothingToReadError
from triage.pipeline import gather, judged

PARTS = ("left-out", "silence", "unseen", "cost", "cases")
LOGS = 500  # of each kind of strangers
RUNS = 5  # of a command whose cost is taken; the least counts


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
    first = next((v for v in found.verdicts if v.fault), next(iter(found.verdicts), None))
    return Judged(made, first, hits(found), first is not None and first.incident.source in mixed_up(found.boots))


def hits(found: Findings) -> frozenset[str]:
    """The classes whose signatures hit a line."""
    return frozenset({e.fault for b in found.boots for e in b.events} | {e.fault for v in found.verdicts for e in v.incident.events})


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
    return read_model(Path("generated"), as_bytes(made.card, made.classifier))


class Sets(NamedTuple):
    """What is learnt from and asked about when a class is left out; processes that are forked have it without being sent it."""

    known: Knowledge
    learnt: Sequence[Judged]
    asked: Sequence[Judged]
    real: Sequence[Case]


SETS: list[Sets] = []


def left_out(sets: Sets, names: Sequence[str], processes: int) -> None:
    SETS[:] = [sets]
    print("\n| class | incidents | unclassified | named | other root | hinted | still found | recovered | precision | no incident |"
          "\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")  # fmt: skip
    told = []
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("fork")) as pool:
        for row, said in pool.map(_leave_out, names or sorted(set(sets.known.classes) - {UNCLASSIFIED})):
            print(row, flush=True)
            told += [said] if said else []
    print("", *told, sep="\n")


def _leave_out(name: str) -> tuple[str, str]:
    """The row of one class, and what the model says of real logs."""
    known, learnt, asked, real = SETS[0]
    bare = without(known, name)
    model = as_model(learn(again(learnt, bare, name), bare))
    n: Counter[str] = Counter()
    for j in again(asked, bare, name):
        _count(n, j, name, model)
    found = n["named"] + n["hinted"] + n["still"]
    recovered = f"{found / n['all']:.2f}" if n["all"] else "-"
    precision = f"{n['right'] / (n['right'] + n['wrong']):.3f}" if n["right"] + n["wrong"] else "-"
    figures = (n["all"], n["unclassified"], n["named"], n["other"], n["hinted"], n["still"], recovered, precision, n["gone"])
    said = on_cases(again_real(real, bare, name), model, f"without {name}") if real else ""
    return f"| `{name}` | {' | '.join(map(str, figures))} |", said


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


class Case(NamedTuple):
    """A real log as the rules judge it, and which classes its label allows."""

    path: Path
    labels: frozenset[str]
    found: Findings | None

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return self.found.verdicts if self.found else ()


def cases(folder: Path, known: Knowledge) -> list[Case]:
    rows = [line.split("\t") for line in (folder / "labels.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    table = RuleTable(known)
    return [_case(folder / f"{name}.log", frozenset((label, *also.split(","))), known, table) for name, label, also, *_ in rows]


def _case(path: Path, labels: frozenset[str], known: Knowledge, table: RuleTable) -> Case:
    try:
        return Case(path, labels, judged(gather([str(path)], known, table=table), known, lines_of_all=True))
    except NothingToReadError:
        return Case(path, labels, None)


def again_real(real: Sequence[Case], known: Knowledge, name: str) -> list[Case]:
    """Real logs as the rules without those of one class judge: as `again`."""
    table = RuleTable(known)
    return [_case(c.path, c.labels, known, table) if c.found and name in hits(c.found) else c for c in real]


def on_cases(real: Sequence[Case], model: Model, what: str) -> str:
    """What a model says of real logs: names where rules left an incident unclassified, and hints where they named it otherwise; which are wrong."""
    said = [(c, v, found) for c in real for v in c.verdicts if (found := opinion(v, model)) is not None and found.fault_class != v.fault_class]
    left = sum(v.fault_class == UNCLASSIFIED for c in real for v in c.verdicts)
    names = [(c, found) for c, v, found in said if v.fault_class == UNCLASSIFIED]
    hints = [(c, found) for c, v, found in said if v.fault_class != UNCLASSIFIED and v.fault]
    return f"{len(real)} real logs, {what}: {left} incidents unclassified; {_right('named', names)}; {_right('hinted', hints)}"


def _right(word: str, given: Sequence[tuple[Case, Opinion]]) -> str:
    wrong = [f"{c.path.stem}: {found.fault_class} {found.probability:.2f}" for c, found in given if found.fault_class not in c.labels]
    return f"{word} {len(given)}, {len(wrong)} wrongly" + (f" ({', '.join(wrong)})" if wrong else "")


def silence(known: Knowledge, model: Model, asked: Sequence[Judged]) -> None:
    print("\n| what | logs | left unclassified | named | refused for want of order |\n|---|--:|--:|--:|--:|")
    made = [j.made for j in asked]
    for kind in ("nonsense", "other software", "mixed lines", "mixed lines, stamps kept", "mixed words"):
        found = judge_all(strangers(known, kind, min(LOGS, len(made)), made=made), known)
        left = [j for j in found if j.verdict is not None and j.verdict.fault_class == UNCLASSIFIED]
        named = [j for j in left if said_of(j, model) is not None]
        print(f"| {kind} | {len(found)} | {len(left)} | {len(named)} | {sum(j.is_mixed_up for j in found)} |", flush=True)


def calibration(model: Model, asked: Sequence[Judged], what: str) -> None:
    held = [Held(j.shown, model.classifier.answer(j.shown), True) for j in asked if j.verdict is not None]
    figures = measured(held, model.card.calibration, model.named)
    print(f"{what}: {figures.asked} asked, {figures.named} named or agreed with, {figures.right} of these rightly ({figures.precision or 0:.3f}); "
          f"expected calibration error {figures.error:.3f}", flush=True)  # fmt: skip


def unseen(known: Knowledge, learnt: Sequence[Judged], asked: Sequence[Judged]) -> None:
    """Texts that were never learnt: every fifth sample is kept out of what is learnt, and only those are asked about."""
    texts = sorted({j.made.recipe.text for j in (*learnt, *asked)})
    kept = set(texts[::5])
    model = as_model(learn([j for j in learnt if j.made.recipe.text not in kept], known))
    calibration(model, [j for j in asked if j.made.recipe.text in kept], "texts that were never learnt")


def cost(known: Knowledge, learnt: Sequence[Judged], model: Model, content: bytes) -> None:
    examples = [j.shown for j in learnt if j.verdict is not None]
    used = time.process_time()
    trained(examples, known, source="generated", at=0)
    used = time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"training on {len(examples)} incidents, calibration included: {used:.1f} s, {peak:.0f} MB at the peak (the generated logs among them)")
    verdicts = [j.verdict for j in learnt[:1000] if j.verdict is not None]
    used = time.process_time()
    for verdict in verdicts:
        opinion(verdict, model)
    print(f"asking: {1000 * (time.process_time() - used) / len(verdicts):.2f} ms an incident")
    with tempfile.TemporaryDirectory() as folder:
        log, file = Path(folder) / "engine.log", Path(folder) / "site.triage"
        log.write_bytes(learnt[0].made.files["engine.log"])
        file.write_bytes(content)
        without_it, with_it = (_least([str(log), *more]) for more in ((), ("--model", str(file))))
    print(f"one short log: `classify` {without_it:.2f} s, `classify --model` {with_it:.2f} s with a model of {len(content) / 1e6:.1f} MB", flush=True)


def _least(arguments: Sequence[str]) -> float:
    """The least processor time, of several runs, of `triage classify` with these arguments, in seconds."""
    costs = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "triage", "classify", *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(costs)


def main() -> None:
    asked_for = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked_for.add_argument("--learn", type=int, default=5000, help="generated incidents to learn from")
    asked_for.add_argument("--ask", type=int, default=1500, help="generated incidents to ask about")
    asked_for.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    asked_for.add_argument("--classes", nargs="*", default=(), help="leave out only these")
    asked_for.add_argument("--processes", type=int, default=2, help="in which classes are left out")
    asked_for.add_argument("--cases", type=Path, help="a folder of labelled logs with labels.tsv")
    given = asked_for.parse_args()
    known = load()
    made_of = recipes(known)
    print(f"{len(made_of)} recipes of {len({r.text for r in made_of})} samples")
    learnt, asked = (judge_all(generated(known, made_of, count, seed=seed), known) for count, seed in ((given.learn, 1), (given.ask, 99)))
    made = learn(learnt, known)
    content = as_bytes(made.card, made.classifier)
    model = as_model(made)
    held = made.card.held_out
    print(f"rules {known.version}; {sum(e.example.label != BACKGROUND for e in made.held)} held out while training: "
          f"{held.named} named, {held.right} of these rightly, expected calibration error {held.error:.3f}")  # fmt: skip
    calibration(model, asked, f"{len(learnt)} learnt, {len(asked)} of another seed asked about")
    if "cost" in given.only:
        cost(known, learnt, model, content)
    if "unseen" in given.only:
        unseen(known, learnt, asked)
    if "silence" in given.only:
        silence(known, model, asked)
    real = cases(given.cases, known) if "cases" in given.only and given.cases is not None else []
    if real:
        print(f"\n{on_cases(real, model, 'all rules')}", flush=True)
    if "left-out" in given.only:
        left_out(Sets(known, learnt, asked, real), given.classes, given.processes)


if __name__ == "__main__":
    main()
