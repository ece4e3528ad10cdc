"""Drafts an upstream issue in plain words: what happened, versions, configuration, time to death, evidence, what was ruled out; the rest is blank."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from triage.knowledge.load import Knowledge
from triage.model import Event, Verdict
from triage.report import words
from triage.report.bundle.told import Teller
from triage.verdict import facts
from triage.verdict.whynot import why_not

LONGEST_TITLE = 110
LONGEST_VALUE = 120
LONGEST_LINE = 1000
LONGEST_REASON = 200
CONSEQUENCES_SHOWN = 6
FRAMES_SHOWN = 12
ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}
VERSIONS = ("torch", "nccl_version", "driver_version", "cuda", "python", "flashinfer", "triton", "sgl_kernel")
# What the boot lines say of one process, or all at once: boot.json has it in full.
_LEFT_OUT = frozenset({"config", "rank", "dp_rank", "pp_rank", "tp_rank", "group", "pid", "version", "host", "port", *VERSIONS})
_LINK = re.compile(r"://|\bwww\.", re.IGNORECASE)
_PLAIN = re.compile(r"[^\w .,:;()/=+'-]+")
_NAMED_CLASS = re.compile(r"`([a-z]+(?:-[a-z]+)+)`")

BLANKS = """## How to reproduce

<!-- The command, the load, how often it comes. If it cannot be forced, say for how long it ran without. -->

## What was tried

<!-- One change a line: what, for how long it was in force, and what was seen. -->
"""


def drafts(
    verdicts: Sequence[Verdict],
    knowledge: Knowledge,
    tell: Teller,
    settings: Mapping[str, Mapping[str, str]],
    every: Sequence[Verdict] = (),
) -> str:
    """One draft for each class among the incidents, in Markdown. `settings` has the configuration of each boot by its id, redacted.

    `every` are all incidents that were read: of them it is told how often the class came.
    """
    by_class: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_class.setdefault(verdict.fault_class, []).append(verdict)
    return "\n---\n\n".join("".join(f"{line}\n" for line in _lines(same, knowledge, tell, settings, every or verdicts)) for same in by_class.values())


def _lines(
    same: Sequence[Verdict], knowledge: Knowledge, tell: Teller, settings: Mapping[str, Mapping[str, str]], every: Sequence[Verdict]
) -> Iterator[str]:
    first = same[0]
    boot = first.incident.boot
    config = settings.get(boot.id, {}) if boot else {}
    yield from (f"# {title(first, knowledge, tell)}", "")
    yield from _what(same, knowledge, tell, every)
    yield from _versions(same, config)
    yield from _configuration(config)
    yield from _time_to_death(same)
    yield from _evidence(first, tell)
    yield from _ruled_out(first, knowledge, tell)
    yield from BLANKS.splitlines()


def title(verdict: Verdict, knowledge: Knowledge, tell: Teller) -> str:
    """Engine and version, then the error as the engine puts it, or the class where nothing says why; plain letters only."""
    known = knowledge.classes.get(verdict.fault_class)
    said = _message(tell.text(verdict.root.text)) if verdict.root else known.title if known else "died, and nothing says why"
    text = " ".join(_LINK.sub(" ", _PLAIN.sub(" ", f"{_engine(verdict)}: {said}")).split())
    return text if len(text) <= LONGEST_TITLE else text[:LONGEST_TITLE].rpartition(" ")[0] + " ..."


def _engine(verdict: Verdict) -> str:
    boot = verdict.incident.boot
    name = ENGINES.get(verdict.incident.engine, verdict.incident.engine or "inference engine")
    return f"{name} {_PLAIN.sub('', boot.version)}".strip() if boot else name


def _message(text: str) -> str:
    """What a line says behind its process, level, stamp and place in the code."""
    return re.sub(r"^(?:\([^)]{1,80}\) )?(?:\[?[EWIF]?(?:[A-Z]{4,8} )?\d[\d:. T-]{4,30}\S{0,20}\s)?(?:\S{0,60}\.(?:py|cpp|cc|cu):\d+\]\s)?", "", text)


def _what(same: Sequence[Verdict], knowledge: Knowledge, tell: Teller, every: Sequence[Verdict]) -> Iterator[str]:
    first, known = same[0], knowledge.classes.get(same[0].fault_class)
    yield from ("## What happened", "")
    if known:
        yield f"{known.title}. {' '.join(known.meaning.split())}"
    else:
        yield "The engine died or stopped answering, and nothing that was read says why."
    yield ""
    yield f"It came {_how_often(same, [v for v in every if v.fault_class == first.fault_class])}."
    yield from (f"- {line}" for line in _where(first, tell))
    yield ""


def _how_often(same: Sequence[Verdict], came: Sequence[Verdict]) -> str:
    """How often the class came in all that was read, and which of them the draft is of."""
    seen = [began for v in came if (began := v.incident.onset or v.incident.dead)]
    first = same[0].incident.onset or same[0].incident.dead
    at = f"at {words.full(first).partition(',')[0]}" if first else "without a date"
    if len(came) == 1:
        return f"once in what was read, {at}"
    times = sorted(instant.earliest for instant in seen)
    between = f", from {words.minutes(times[0], times[-1])} UTC" if len(times) > 1 else ""
    which = "the first" if len(same) == len(came) else f"the one {at}" if len(same) == 1 else f"the first of {len(same)} of them, {at}"
    return f"{len(came)} times in what was read{between}. What follows is of {which}"


def _where(verdict: Verdict, tell: Teller) -> Iterator[str]:
    found, of = verdict.facts, verdict.incident
    yield f"phase: {of.phase}"
    if found.step_line is not None:
        yield f"step: {facts.words(found)}"
    if found.frame:
        yield f"frame of the engine's code: {_code(tell.path(found.frame))}"
    if found.rank is not None:
        yield f"rank: {found.rank}"
    if of.outage is not None:
        yield f"health probes: the first one that failed was {words.outage_words(of.outage)} ({words.number(of.outage.failed, 'failed probe')})"
    yield f"flight-recorder dump: {of.dump_state} ({tell.path(words.clean(of.dump_reason))})"
    if of.dump is not None:
        for suspect in of.dump.suspects:
            who = f"rank {suspect.rank}" if suspect.rank >= 0 else "no one rank"
            yield f"the dumps point at {who} ({suspect.strength}): {tell.path(words.clean(suspect.reason))}"


def _versions(same: Sequence[Verdict], config: Mapping[str, str]) -> Iterator[str]:
    engines = list(dict.fromkeys(_engine(v) for v in same))
    yield from ("## Versions", "", f"- engine: {', '.join(engines)}")
    yield from (f"- {name}: {_code(config[name])}" for name in VERSIONS if config.get(name))
    missing = [name for name in ("torch", "driver_version") if not config.get(name)]
    if missing:
        yield f"- not in the boot's lines: {', '.join(missing)}"
    yield ""


def _configuration(config: Mapping[str, str]) -> Iterator[str]:
    yield from ("## Configuration", "")
    told = [f"{name}={value}" for name, value in sorted(config.items()) if name not in _LEFT_OUT and (name == "args" or len(value) <= LONGEST_VALUE)]
    if not told:
        yield from ("Not observed: the lines of this boot are not in what was read.", "")
        return
    yield from ("As the engine itself told at boot:", "", *_fenced(told), "")


def _time_to_death(same: Sequence[Verdict]) -> Iterator[str]:
    yield from ("## Time to death", "")
    spans = [span for v in same if (span := v.incident.time_to_death)]
    if not spans:
        yield from ("Not known: nothing tells both when it began and when it ended.", "")
        return
    middle = [(span.low + span.high) / 2 for span in spans]
    several = f", median of {len(spans)}; {min(s.low for s in spans):.0f} to {max(s.high for s in spans):.0f} s" if len(spans) > 1 else ""
    said = words.length(median(middle)) if len(spans) > 1 else words.span(spans[0])
    began = same[0].incident.onset_from or "first sign"
    yield f"{said}{several}: from the {spans[0].since} ({began}) to the first death mark, exit or refused probe."
    timeout = same[0].incident.timeout
    if timeout and same[0].family == "hang":
        yield f"The timeout in force was {words.length(timeout)}."
    yield ""


def _evidence(verdict: Verdict, tell: Teller) -> Iterator[str]:
    yield from ("## Evidence", "")
    if verdict.root is not None:
        yield from ("The first fault:", "", *_fenced(_cited([verdict.root], tell)), "")
        if verdict.root.frames:
            yield from ("Its traceback, innermost frame last:", "", *_fenced(tell.path(f) for f in verdict.root.frames[-FRAMES_SHOWN:]), "")
    elif verdict.best_lines:
        yield from ("No line says why. These look like trouble and stand nearest to the end:", "", *_fenced(_cited(verdict.best_lines, tell)), "")
    else:
        yield from ("No line of any log says why.", "")
    if verdict.consequences:
        yield from ("What followed from it:", "", *_fenced(_cited(verdict.consequences[:CONSEQUENCES_SHOWN], tell)), "")
    yield from ("The attached bundle has the lines around these, the verdict, the boot's configuration and what the ranks recorded.", "")


def _ruled_out(verdict: Verdict, knowledge: Knowledge, tell: Teller) -> Iterator[str]:
    yield from ("## What was ruled out, and by what", "")
    for answer in verdict.forks:
        says = "says nothing" if answer.answer == "unknown" else f"speaks for: {answer.answer}"
        yield f"- {answer.fork} {says} ({tell.path(words.clean(answer.because))})"
    for name in _alike(verdict, knowledge):
        yield from (f"- not {name}: {_short(tell.path(words.clean(reason.text)))}" for reason in why_not(verdict, name, knowledge)[:2])
    if verdict.runner_up:
        yield f"- {verdict.runner_up} came second: {tell.path(words.clean(verdict.runner_up_lost))}"
    yield from (f"- speaks against the verdict: {tell.path(words.clean(conflict))}" for conflict in verdict.conflicts)
    yield from (f"- not known: {tell.path(words.clean(missing))}" for missing in verdict.missing)
    yield ""


def _short(reason: str) -> str:
    """A reason without the list in brackets at its end, where that is long."""
    return reason if len(reason) <= LONGEST_REASON else reason.partition(" (")[0]


def _alike(verdict: Verdict, knowledge: Knowledge) -> list[str]:
    """Classes that the rule of this one says it may be taken for."""
    known = knowledge.classes.get(verdict.fault_class)
    named = [name for line in (known.not_to_be_confused_with if known else ()) for name in _NAMED_CLASS.findall(line)]
    return [name for name in dict.fromkeys(named) if name in knowledge.classes and name not in (verdict.fault_class, verdict.runner_up)]


def _cited(events: Iterable[Event], tell: Teller) -> Iterator[str]:
    for event in events:
        yield f"{tell.path(event.place.file)}:{event.place.line or '?'}: {tell.text(event.text.strip())[:LONGEST_LINE]}"


def _fenced(lines: Iterable[str]) -> list[str]:
    """Lines as a block of code; its fence is longer than any row of backticks in it, so that nothing in a log ends it."""
    shown = [words.clean(line) for line in lines]
    longest = max((len(ticks) for line in shown for ticks in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *shown, fence]


def _code(text: str) -> str:
    """A word of a log inside a sentence."""
    return f"`{words.clean(text).replace('`', chr(39))}`"
