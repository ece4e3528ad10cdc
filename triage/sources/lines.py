"""A line of a log, freed of its envelope: its text, when and where it was written, and by whom."""

from __future__ import annotations

import msgspec

from triage.expressions import compiled_later
from triage.model import Instant

from .clock import Clock
from .envelopes import LONGEST, Envelope, inside, opened

LONGEST_TEXT = 16384  # bytes of a line that are looked at
KEPT_HEAD = 512  # of them, those that are kept from the beginning of a longer line: they say who speaks

# Control characters, and those that turn the direction of text or are invisible; a tab may stay.
_UNSEEN = compiled_later("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_PASTED_COLOUR = compiled_later(r"\[\d{1,2}(?:;\d{1,3}){0,4}m(?!\])")  # the escape character got lost in a browser


class Line(msgspec.Struct, frozen=True):
    """A line without its envelope. `start` and `end` are offsets in the data of the piece it was asked from.

    They lie outside that data for lines of the pieces before and after. `outer` is the envelope's stamp. `stream` tells engines apart
    that share a source: a compose service, pod and container, a unit. `rank` is what a launcher's prefix says.
    """

    text: str
    outer: Instant | None
    stream: str
    host: str
    unit: str
    pid: int | None
    start: int
    end: int
    rank: int | None = None
    invocation: str = ""


def read_line(data: bytes, begin: int, end: int, at: int, layout: frozenset[str], clock: Clock, *, lead: bytes = b"", shift: int = 0) -> Line:
    """The line `data[begin:end]`, and of it the segment (what a progress bar overwrote ends in a carriage return) that holds `at`.

    `lead`: how the line begins, where `begin` is not its beginning. `shift` is added to the offsets in the result.
    """
    last = end
    while last > begin and data[last - 1] == 13:
        last -= 1
    at = max(begin, min(at, last - 1))
    start = data.rfind(b"\r", begin, at) + 1 or begin
    stop = data.find(b"\r", at, last)
    envelope = opened((lead or data[begin : begin + LONGEST]).decode("latin-1"), layout)
    first = start + envelope.length if start == begin and not lead else start
    text = _cut(data, min(first, last), last if stop < 0 else stop, at)
    return Line(
        text=clean(text),
        outer=_outer(envelope, clock),
        stream=envelope.stream,
        host=envelope.host,
        unit=envelope.unit,
        pid=envelope.pid,
        start=start + shift,
        end=(end if stop < 0 else stop) + shift,
        rank=envelope.rank,
        invocation=envelope.invocation,
    )


def read_text(raw: bytes, layout: frozenset[str]) -> tuple[str, str]:
    """The text of a whole line without carriage returns, as `read_line` gives it, and the unit that wrote it; no stamp is read."""
    said, begin = inside(raw[:LONGEST].decode("latin-1"), layout)
    return clean(_cut(raw, begin, len(raw), 0)), said.get("unit", "")


def clean(raw: bytes) -> str:
    """Text that is safe to show: UTF-8 with what is none replaced, and `?` for control characters."""
    text = raw.decode("utf-8", "replace")
    if "[" in text:
        text = _PASTED_COLOUR.sub("", text)
    return text if text.isprintable() else _UNSEEN.sub("?", text)


def _cut(data: bytes, start: int, end: int, at: int) -> bytes:
    if end - start <= LONGEST_TEXT:
        return data[start:end]
    room = LONGEST_TEXT - KEPT_HEAD
    left = min(max(at - room // 2, start), end - room)
    if left <= start + KEPT_HEAD:
        return data[start : start + LONGEST_TEXT]
    return data[start : start + KEPT_HEAD] + " … ".encode() + data[left : left + room]


def _outer(envelope: Envelope, clock: Clock) -> Instant | None:
    if envelope.epoch is not None:
        return Instant.sharp(envelope.epoch / 1e6)
    return clock.read(envelope.stamp, "outer stamp") if envelope.stamp else None
