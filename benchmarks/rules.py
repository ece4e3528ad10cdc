"""What more rules cost: one log classified with 50 rules, with ours, and with ours and made-up ones to 800.

    python -m benchmarks.rules build/bench/clean-500.log --rounds 5

The fifty are those that hit a line of the log at all, so that all three do the same work behind the scanner, and as many more of ours. A made-up rule
has the longest word of one of ours, reversed, and a number of its own.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Collection
from itertools import cycle, islice
from pathlib import Path

import msgspec

from benchmarks.measure import interleaved, table
from triage.knowledge.load import Knowledge, load
from triage.knowledge.schema import Signature
from triage.knowledge.table import RuleTable
from triage.pipeline import classify

FEW, MANY = 50, 800
SAMPLE = 20_000_000  # bytes of the log in which rules are tried
WORD = re.compile(r"[A-Za-z_]{6,}")


def only(knowledge: Knowledge, wanted: Collection[str]) -> Knowledge:
    """The rules of these ids alone."""
    classes = {n: msgspec.structs.replace(c, signatures=tuple(s for s in c.signatures if s.id in wanted)) for n, c in knowledge.classes.items()}
    engines = {n: msgspec.structs.replace(e, lines=tuple(line for line in e.lines if line.id in wanted)) for n, e in knowledge.engines.items()}
    echoes = tuple(echo for echo in knowledge.echoes if echo.id in wanted)
    trouble = msgspec.structs.replace(knowledge.trouble, lines=tuple(line for line in knowledge.trouble.lines if line.id in wanted))
    return msgspec.structs.replace(knowledge, classes=classes, engines=engines, echoes=echoes, trouble=trouble)


def few(log: Path) -> Knowledge:
    """The rules that hit the log, and others of ours up to fifty."""
    known = load()
    rules = RuleTable(known)
    with log.open("rb") as file:
        hit = {rules[index].id for _, index in rules.scanner.scan(file.read(SAMPLE))}
    wanted = [*sorted(hit), *(rule.id for rule in rules.rules if rule.id not in hit)][: max(FEW, len(hit))]
    return only(known, set(wanted))


def many() -> Knowledge:
    """Ours and made-up ones up to eight hundred, in a class of their own."""
    known = load()
    ours = [signature for fault in known.classes.values() for signature in fault.signatures]
    missing = MANY - len(RuleTable(known).rules)
    made = tuple(_made(number, signature) for number, signature in enumerate(islice(cycle(ours), missing)))
    fault = msgspec.structs.replace(next(iter(known.classes.values())), id="made-up", signatures=made)
    return msgspec.structs.replace(known, classes={**known.classes, fault.id: fault})


def _made(number: int, signature: Signature) -> Signature:
    word = max(WORD.findall(signature.pattern), key=len, default="signature")[::-1]
    return msgspec.structs.replace(signature, id=f"made-up/{number}", pattern=rf"{word}{number:03}.{{0,40}}(?:failed|error) \d+", scan="")


SETS: dict[str, Callable[[Path], Knowledge]] = {"few": few, "ours": lambda _: load(), "many": lambda _: many()}


def main() -> None:
    """Measure and print; or, with --set, classify once with one of the three sets of rules."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("log", type=Path)
    ask.add_argument("--rounds", type=int, default=5)
    ask.add_argument("--set", choices=list(SETS))
    given = ask.parse_args()
    if given.set:
        found = classify([given.log], knowledge=SETS[given.set](given.log))
        print(given.set, len(found.verdicts))
        return
    counts = {name: len(RuleTable(make(given.log)).rules) for name, make in SETS.items()}
    commands = {f"{counts[name]} rules": [sys.executable, "-m", "benchmarks.rules", str(given.log), "--set", name] for name in SETS}
    with tempfile.TemporaryDirectory() as folder:
        runs = interleaved(commands, given.rounds, Path(folder))
        if any(run.code for done in runs.values() for run in done):
            sys.exit("a run failed, so its time says nothing")
        print(table(runs, next(iter(commands))))


if __name__ == "__main__":
    main()
