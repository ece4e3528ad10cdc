"""How instants, lengths, sizes and log lines are written for people; nothing from a log reaches a terminal uncleaned."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

from triage.model import Hint, Instant, Outage, Place, Seconds, Span, Verdict

SYMBOL_WORDS = {"r": "refused", "t": "timeout", "e": "5xx", "f": "failed", "?": "-"}
IDS_SHOWN = 4
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def iso(at: Seconds) -> str:
    """`at` in ISO 8601, UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def minute(at: Seconds) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def minutes(start: Seconds, end: Seconds) -> str:
    """From minute to minute; the year once where it is the same."""
    first, last = minute(start), minute(end)
    return f"{first} to {last[5:] if last[:5] == first[:5] else last}"


def short(instant: Instant | None) -> str:
    """Month, day and minute; the year stands in the header line."""
    return datetime.fromtimestamp(instant.earliest, UTC).strftime("%m-%d %H:%M") if instant else "-"


def day(instant: Instant | None) -> str:
    return datetime.fromtimestamp(instant.earliest, UTC).strftime("%m-%d") if instant else "-"


def year(instant: Instant) -> str:
    return datetime.fromtimestamp(instant.earliest, UTC).strftime("%Y")


def full(instant: Instant | None) -> str:
    """An instant as people need it in an explanation: the second, and how wide it is when it is not sharp."""
    if instant is None:
        return "not known"
    text = datetime.fromtimestamp(instant.earliest, UTC).strftime("%Y-%m-%d %H:%M:%S")
    width = instant.latest - instant.earliest
    return f"{text} UTC" + (f" (within {length(width)} after)" if width > 1.5 else "") + f", {instant.how}"


def length(seconds: Seconds) -> str:
    """How long something took to die or to time out: in seconds up to 1000 s, since timeouts are set in seconds and it is held against them."""
    if seconds < 10 and seconds != round(seconds):
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 1000 else stretch(seconds)


def stretch(seconds: Seconds) -> str:
    """A stretch of the calendar, such as a gap, an outage or a quiet time: in minutes from two minutes on, in hours from two hours on."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 2 * 86400:
        return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} d"


def span(value: Span | None) -> str:
    """A time to death: one figure when it is sharp, bounds when it is not."""
    if value is None:
        return "-"
    return length(value.seconds) if value.seconds is not None else f"{value.low:.0f}-{value.high:.0f} s"


def size(count: int) -> str:
    return next((f"{count / unit:.1f} {name}" for unit, name in _UNITS if count >= unit), f"{count} bytes")


def number(count: int, noun: str) -> str:
    """`1 file`, `2 files`, `2 crashes`, `2 entries`."""
    return f"{count:,} {noun if count == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


def chance(share: float) -> str:
    """A probability in per cent; never `100%`, for no model is that sure."""
    return "over 99%" if share >= 0.995 else f"{share:.0%}"


def by_model(verdict: Verdict) -> str:
    """That a model gave the class, and how sure it is; nothing where rules did. It must stand wherever such a class is told."""
    return f"named by a model ({chance(verdict.opinion.probability)} sure), not by a rule" if verdict.by == "model" and verdict.opinion else ""


def outage_words(outage: Outage | None) -> str:
    return SYMBOL_WORDS.get(outage.first, "-") if outage else "-"


def where(place: Place) -> str:
    """`file:line`, safe to show."""
    return f"{clean(place.file)}:{place.line}"


def in_common(hint: Hint) -> str:
    """What several incidents have in common, and which they are."""
    more = len(hint.incidents) - IDS_SHOWN
    return f"{clean(hint.text)} ({' '.join(hint.incidents[:IDS_SHOWN])}{f' and {more} more' if more > 0 else ''})"


def clean(text: str, width: int = 0) -> str:
    """`text` without control or direction-changing characters, cut to `width` columns where one is given."""
    shown = "".join(c if c == "\t" or not unicodedata.category(c).startswith("C") else "?" for c in text).replace("\t", " ")
    return shown if not width or len(shown) <= width else shown[: max(1, width - 1)] + "…"
