"""Graph modes as pairs: which CUDA graphs run on pure decode batches and which on batches with a prefill, after everything that changed it at boot.

What the engine prints with its configuration is stale where a later line overrides it; what it then captured proves the mode in force.

>>> pair_of("FULL_DECODE_ONLY"), pair_of("[2, 1]")
(('FULL', 'NONE'), ('FULL', 'PIECEWISE'))
"""

from __future__ import annotations

import re

import msgspec

from triage.ledger.booted import Booted, setting
from triage.model import Event

PAIRS = {
    "NONE": ("NONE", "NONE"),
    "PIECEWISE": ("PIECEWISE", "PIECEWISE"),
    "FULL": ("FULL", "FULL"),
    "FULL_DECODE_ONLY": ("FULL", "NONE"),
    "FULL_AND_PIECEWISE": ("FULL", "PIECEWISE"),
}
CODES = {"0": "NONE", "1": "PIECEWISE", "2": "FULL", "2,0": "FULL_DECODE_ONLY", "2,1": "FULL_AND_PIECEWISE"}
# Which graphs a mode captures at boot: of a mode that is the same for both kinds of batches, one set serves both.
CAPTURED: dict[str, dict[str, str]] = {
    "NONE": {},
    "PIECEWISE": {"mixed prefill-decode": "PIECEWISE"},
    "FULL": {"mixed prefill-decode": "FULL"},
    "FULL_DECODE_ONLY": {"decode": "FULL"},
    "FULL_AND_PIECEWISE": {"decode": "FULL", "mixed prefill-decode": "PIECEWISE"},
}
_CAPTURE = re.compile(r"(?P<which>decode|mixed prefill-decode), (?P<mode>FULL|PIECEWISE)")


class Graphs(msgspec.Struct, frozen=True, kw_only=True):
    """The mode in force as its pair, the one that was printed first where that is another, and the lines that tell it, in order.

    `captured`: whether the lines in which graphs were captured show it, and not only what was said of it.
    """

    mode: str
    decode: str
    mixed: str
    printed: str = ""
    captured: bool = False
    lines: tuple[Event, ...] = ()


def pair_of(mode: object) -> tuple[str, str] | None:
    """The modes for decode and for mixed batches, by a name or by the numbers that some versions print."""
    name = name_of(mode)
    return PAIRS.get(name) if name else None


def name_of(mode: object) -> str:
    """The name of a mode; nothing for what is none."""
    text = str(mode).strip().removeprefix("CUDAGraphMode.").upper()
    return text if text in PAIRS else CODES.get(re.sub(r"[\[\]() ]", "", text), "")


def graphs(one: Booted) -> Graphs | None:
    """The graph modes that a boot ran with; None where none of its lines tells."""
    if one.boot.engine != "vllm":
        return _of_sglang(one)
    told = [(event, name) for event in one.boot.events if event.kind == "config" and (name := _said(event))]
    eager = setting(one, "enforce_eager")
    if eager is not None and eager.value in (True, "True") and eager.line is not None:
        told.append((eager.line, "NONE"))
    seen = _captures(one)
    captures, said = {which: mode for _, which, mode in seen}, told[-1][1] if told else ""
    name = said if said and captures.items() <= CAPTURED[said].items() else _mode_of_captures(captures, said) or said
    if not name:
        return None
    lines = [event for event, _ in _turns(told)] + [event for event, _, _ in seen]
    decode, mixed = PAIRS[name]
    printed = told[0][1] if told and told[0][1] != name else ""
    return Graphs(mode=name, decode=decode, mixed=mixed, printed=printed, captured=captures == CAPTURED[name] != {}, lines=tuple(lines))


def _said(event: Event) -> str:
    if "graphs_off" in event.data:
        return "NONE"
    return name_of(event.data.get("cudagraph_mode", ""))


def _turns(told: list[tuple[Event, str]]) -> list[tuple[Event, str]]:
    """The lines at which the mode changed: each rank repeats what it was told."""
    return [pair for before, pair in zip([None, *told], told, strict=False) if before is None or before[1] != pair[1]]


def _captures(one: Booted) -> list[tuple[Event, str, str]]:
    """The lines in which graphs were captured: which batches they are for, and their mode; each kind once."""
    found: dict[tuple[str, str], Event] = {}
    for event in one.boot.events:
        if event.kind == "milestone" and (seen := _CAPTURE.fullmatch(event.data.get("graphs", ""))):
            found.setdefault((seen["which"], seen["mode"]), event)
    return [(event, which, mode) for (which, mode), event in found.items()]


def _mode_of_captures(seen: dict[str, str], said: str) -> str:
    """The mode by what was captured, where that is not what was said; nothing where it leaves two possible."""
    decode, mixed = seen.get("decode", ""), seen.get("mixed prefill-decode", "")
    if decode == "FULL":
        return {"": "FULL_DECODE_ONLY", "PIECEWISE": "FULL_AND_PIECEWISE", "FULL": "FULL"}[mixed]
    if mixed == "PIECEWISE":
        return "PIECEWISE"
    return "FULL" if mixed == "FULL" and said == "FULL" else ""


def _of_sglang(one: Booted) -> Graphs | None:
    """SGLang only says whether it captures graphs for decode; what a prefill runs with cannot be told."""
    off = setting(one, "disable_cuda_graph")
    if off is None or off.line is None:
        return None
    is_off = off.value in (True, "True")
    return Graphs(mode="NONE" if is_off else "", decode="NONE" if is_off else "FULL", mixed="NONE" if is_off else "", lines=(off.line,))
