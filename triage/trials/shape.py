"""Whether one step of the engine held the whole burst: by the engine's own account of its steps, else by what the client did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from triage.model import Verdict
from triage.trials.lines import Seen, Sought
from triage.trials.manifest import Client

State = Literal["forced", "arrived whole", "arrived in pieces", "unknown"]
ITERATION = Sought("step iteration", r"\bIteration\(\d+\): (?P<value>\d+) context requests, ", r"Iteration\(\d")
PREFILL = Sought("step prefill", r"\bPrefill batch\b.{0,40}?#new-seq: (?P<value>\d+)", r"Prefill batch.{0,40}#new-seq: \d")
RUNNING = Sought("running", r"\bRunning: (?P<value>\d+) reqs|#running-req: (?P<value>\d+)", r"Running: \d|#running-req: \d")
SOUGHT = (ITERATION, PREFILL, RUNNING)


class Shape(msgspec.Struct, frozen=True):
    """How a burst of `asked` requests met the engine, `held`: the most prompts that one step held, and what that is known from."""

    state: State
    asked: int
    held: int | None = None
    because: str = ""

    @property
    def is_whole(self) -> bool:
        return self.state in ("forced", "arrived whole")


def shape(asked: int, seen: Mapping[str, Seen], verdicts: tuple[Verdict, ...], booted: Mapping[str, str], client: Client | None) -> Shape:
    """The shape of one run. What the engine says of its steps stands over what the client meant to do."""
    held, because = _held(seen, verdicts)
    forced = client is not None and client.prompts_each >= asked
    told = f"one request carried {client.prompts_each} prompts" if client is not None and forced else ""
    if held is not None:
        if held < asked:
            return Shape("arrived in pieces", asked, held, because)
        return Shape("forced" if forced else "arrived whole", asked, held, f"{told}; {because}" if told else because)
    most = booted.get("max_num_seqs", "")
    if most.isdecimal() and int(most) < asked:
        return Shape("arrived in pieces", asked, None, f"the engine takes {most} requests at once (max_num_seqs)")
    if forced:
        return Shape("forced", asked, None, told)
    return Shape("unknown", asked, None, _nothing(seen))


def _held(seen: Mapping[str, Seen], verdicts: tuple[Verdict, ...]) -> tuple[int | None, str]:
    """The most prompts that one step held, and which line says so."""
    steps = [event for v in verdicts for event in v.incident.events if event.kind == "step"]
    dumped = [int(step.data["prefills"]) for step in steps if step.data.get("prefills", "").isdecimal()]
    logged = [(int(seen[one.name].largest or 0), one) for one in (ITERATION, PREFILL) if seen[one.name].count]
    best = max(logged, key=lambda pair: pair[0]) if logged else None
    if dumped and (best is None or max(dumped) >= best[0]):
        return max(dumped), f"the step that failed held {max(dumped)} prompts (scheduler dump)"
    if best is None:
        return None, ""
    where = "iteration lines" if best[1] is ITERATION else "prefill lines"
    return best[0], f"no step held more than {best[0]}, by {seen[best[1].name].count:,} {where}"


def _nothing(seen: Mapping[str, Seen]) -> str:
    running = seen[RUNNING.name].largest
    most = f"; up to {running:.0f} requests ran at once by the statistics, which say nothing of one step" if running else ""
    return f"no line tells what a step held{most} (--enable-logging-iteration-details does)"
