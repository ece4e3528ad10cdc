"""Generates labelled incidents from the rules' own samples: varied, reworded, cut, interleaved, with sources missing. For measuring, not a history.

A sample names its class only where it stands as its signature wants it (while booting, in a step, below certain frames). So each is
tried in several situations with the rules that are given, and only those in which they name its class become recipes.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import regex

from triage.knowledge.load import Knowledge, builtin_rules
from triage.knowledge.schema import FaultClass, Signature
from triage.knowledge.table import Rule, RuleTable
from triage.learn.lives import FRAMES, SITUATIONS, SPECIAL, Ends, Library, Line, as_log, spoken, stamp
from triage.learn.wording import Variation, reworded
from triage.model import Findings, Seconds
from triage.pipeline import gather, judged

BEGINNING: Seconds = 1_790_000_000.0  # 2026-09-21, a Monday
REWORDED = 0.4
HANG: Seconds = 420.0
PROBE_EVERY: Seconds = 60.0
MOST_SITUATIONS = 2  # of one sample
T = TypeVar("T")
_KERNEL = regex.compile(r"NVRM: |oom-kill|oom_reaper|Killed process|segfault at |traps: |Hardware Error|AER: |EDAC |mce: ")  # what a kernel says

_ENVELOPE = regex.compile(r"^\w{3} [ \d]\d [\d:]{8} \S+ kernel: ")  # syslog's, on samples that were taken with it


class Recipe(NamedTuple):
    """A sample of a class's signature, and the situation in which the rules name that class by it."""

    fault_class: str
    signature: str
    text: str
    situation: str
    engine: str
    frames: tuple[str, ...]
    family: str


class Made(NamedTuple):
    """A generated incident: its class, where and when (seconds since the epoch), its files, and whether its root was reworded."""

    name: str
    recipe: Recipe
    host: str
    at: Seconds
    files: dict[str, bytes]
    is_reworded: bool

    @property
    def fault_class(self) -> str:
        return self.recipe.fault_class


def recipes(known: Knowledge, *, per_signature: int = 20, only: Iterable[str] = ()) -> list[Recipe]:
    """What incidents can be made of: samples in the situations in which `known` names their class by them.

    `per_signature` bounds the samples of one signature that are tried, `only` the classes.
    """
    library, table, wanted = Library(known), RuleTable(known), set(only)
    found = []
    with tempfile.TemporaryDirectory(prefix="triage-learn-") as folder:
        for fault in known.classes.values():
            for signature in fault.signatures if not wanted or fault.id in wanted else ():
                if signature.role == "root":
                    for text in signature.samples[:per_signature]:
                        found += _situations(fault, signature, text, library, table, Path(folder))
    return found


def generated(known: Knowledge, made_of: Sequence[Recipe], count: int, *, seed: int = 1, hosts: int = 8) -> Iterator[Made]:
    """`count` incidents on `hosts` machines in order of time; some repeat within the hour, as loops do.

    Each class comes as often as any other, and of a class each text: none a second time before all have come.
    """
    rng, library = random.Random(seed), Library(known)
    by_class: dict[str, dict[str, list[Recipe]]] = {}
    for recipe in made_of:
        by_class.setdefault(recipe.fault_class, {}).setdefault(recipe.text, []).append(recipe)
    turns = in_turn(sorted(by_class), rng)
    texts = {name: in_turn(list(own), rng) for name, own in by_class.items()}
    noise = _noise(known)
    at, repeats, recipe, host = BEGINNING, 0, made_of[0], ""
    for number in range(count):
        if not repeats:
            name = next(turns)
            recipe = rng.choice(by_class[name][next(texts[name])])
            host, repeats = f"gpu-{rng.randint(1, hosts)}", rng.choice((0, 0, 0, 0, 1, 2))
            at += rng.uniform(2, 9) * 3600
        else:
            repeats -= 1
            at += rng.uniform(600, 1500)
        yield _made(f"{number:05d}", recipe, host, at, library, noise, rng)


def in_turn(items: Sequence[T], rng: random.Random) -> Iterator[T]:
    """The items without end, each time all of them in another order."""
    while items:
        yield from rng.sample(items, len(items))


def without(known: Knowledge, fault_class: str) -> Knowledge:
    """The rules without the signatures of one class: they know that there is such a class, and nothing of what it looks like."""
    bare = msgspec.structs.replace(known.classes[fault_class], signatures=())
    xids = tuple(xid for xid in known.xids.xids if xid.fault_class != fault_class)
    left = msgspec.structs.replace(known.xids, xids=xids)
    return msgspec.structs.replace(known, classes={**known.classes, fault_class: bare}, xids=left, version=f"{known.version}-{fault_class}")


def judge_files(files: dict[str, bytes], known: Knowledge, table: RuleTable, folder: Path) -> Findings:
    """What `triage classify` finds in these files, with the best lines of every incident. Raises NothingToReadError like it."""
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return judged(gather([str(folder)], known, table=table), known, lines_of_all=True)


def _situations(fault: FaultClass, signature: Signature, text: str, library: Library, table: RuleTable, folder: Path) -> list[Recipe]:
    found: list[Recipe] = []
    for situation in _ordered(fault, signature, text):
        recipe = Recipe(fault.id, signature.id, text, situation, _engine(text), _frames(signature, situation), fault.family)
        made = _made("recipe", recipe, "gpu-1", BEGINNING, library, (), random.Random(7), plain=True)
        verdicts = judge_files(made.files, table.knowledge, table, folder).verdicts
        if len(verdicts) == 1 and verdicts[0].fault_class == fault.id:
            found.append(recipe)
        if len(found) == MOST_SITUATIONS:
            break
    return found


def _ordered(fault: FaultClass, signature: Signature, text: str) -> list[str]:
    """The situations to try, the likeliest first."""
    if "kernel" in signature.sources:
        return ["kernel"] if signature.sources == ("kernel",) or _KERNEL.search(text) else ["serving-line"]
    if fault.id == "external-stop":
        return ["stop", "serving-line"]
    if fault.id == "saturation":
        return ["busy"]
    if not fault.fault:
        return ["mild", "late", "boot-line", "load-line", "tail", "capture-line"]
    first = ("boot", "boot-line", "load", "load-line") if fault.family == "boot" else ("serving", "serving-line")
    return [*first, *(s for s in SITUATIONS if s not in first and s not in ("kernel", "stop", "mild", "busy"))]


def _frames(signature: Signature, situation: str) -> tuple[str, ...]:
    own = FRAMES.get(situation.partition("-")[0], FRAMES["serving"])
    wanted = signature.when.frame
    fitting = [frame for frame in SPECIAL if wanted and regex.search(wanted, frame, regex.VERBOSE)]
    return (*own, *fitting[:1])


def _engine(text: str) -> str:
    if "[TRT-LLM]" in text or text.startswith("[TensorRT"):
        return "tensorrt_llm"
    return "sglang" if text.startswith("[20") else "vllm"


def _made(
    name: str, recipe: Recipe, host: str, at: Seconds, library: Library, noise: Sequence[str], rng: random.Random, *, plain: bool = False
) -> Made:
    change, in_kernel = not plain and rng.random() < REWORDED, recipe.situation == "kernel"
    text = _ENVELOPE.sub("", recipe.text) if in_kernel else recipe.text
    text = reworded(text, rng) if change else text
    root = [] if in_kernel else spoken(text, recipe.engine, recipe.situation, recipe.frames, rng.randint(0, 7))
    if not plain and not in_kernel and rng.random() < 0.25:  # another rank says it, too, and the lines mix
        root = [line for pair in zip(root, spoken(text, recipe.engine, recipe.situation, recipe.frames, 5), strict=True) for line in pair]
    hung, busy = recipe.family == "hang", recipe.situation == "busy"
    gap = rng.uniform(0.7, 1.5) * HANG if hung else 0.0
    ends = Ends() if plain or busy else Ends(headless=rng.random() < 0.15, cut=rng.random() < 0.15 and not in_kernel)
    around = [] if plain else rng.sample(noise, rng.randint(0, 4))
    lines, when = library.life(recipe.engine, recipe.situation, root, around, at, rng, gap=gap, ends=ends)
    files = {"engine.log": as_log(lines)}
    if in_kernel:
        files["kernel.log"] = as_log([Line(when, Variation(rng).of(text, "11-20 05:51:01"))], host)
    if busy or (recipe.situation.startswith(("serving", "kernel")) and (plain or rng.random() < 0.5)):
        files["probe.log"] = _busy_probes(when) if busy else _probes(lines[0].at, when, lines[-1].at, hung)
    return Made(name, recipe, host, when, files, change)


def _probes(first: Seconds, root: Seconds, last: Seconds, hung: bool) -> bytes:
    """One probe a minute: good until the root, then refused, or timing out from where a hang began."""
    down, end = root - HANG if hung else root, last + 4 * PROBE_EVERY
    begin = max(first, down - 10 * PROBE_EVERY)
    times = [begin + PROBE_EVERY * number for number in range(int((end + 3 * PROBE_EVERY - begin) / PROBE_EVERY))]
    return b"".join(_probe(at, "200 0" if at < down or at > end else "000 28" if hung else "000 7") for at in times)


def _busy_probes(when: Seconds) -> bytes:
    """Three probes that time out while tokens are made, and good ones around them."""
    return b"".join(_probe(when + PROBE_EVERY * step, "000 28" if 1 <= step <= 3 else "200 0") for step in range(-4, 8))


def _probe(at: Seconds, code: str) -> bytes:
    return f"{stamp(at)[:19]}Z http://gpu:8000/v1/completions {code} 0.410\n".encode()


def _noise(known: Knowledge) -> list[str]:
    """Lines that stand in logs beside a root and say nothing of it: echoes and teardown as the rules know them, and lines of healthy engines."""
    healthy = (builtin_rules() / "healthy.txt").read_text(encoding="utf-8").splitlines()
    lines = [line for line in healthy if line and not line.startswith("# ")] + [s.samples[0] for s in known.echoes if s.role == "context"]
    table = RuleTable(known)
    return [line for line in lines if not any(_turns_a_life(table[index]) for _, index in table.scanner.scan(line.encode()))]


def _turns_a_life(rule: Rule) -> bool:
    """Whether a line of this rule would make another incident of the one that it is put into: a root, or a step in the life of another engine."""
    return rule.is_telling or rule.kind in ("milestone", "progress")
