"""The records of the probe parser: a line as it comes in, what one line says, one attempt, and the whole log."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from triage.model import How, Instant, Place, Probe, Seconds

LONGEST_EVIDENCE = 2048


class Row(msgspec.Struct, frozen=True, gc=False):
    """One line without its envelope, the instant that the envelope gave, and where the line stands."""

    text: str
    at: Instant | None = None
    place: Place | None = None


class Batch(msgspec.Struct, frozen=True, gc=False):
    """Some lines of a file without envelopes, one after the other; `sizes` are their bytes with the newlines, `first` is where they begin."""

    texts: list[str]
    sizes: list[int]
    first: Place

    def rows(self) -> Iterator[Row]:
        """Each line that is not blank by itself."""
        offset = self.first.offset
        for number, (text, size) in enumerate(zip(self.texts, self.sizes, strict=True), self.first.line):
            if text and not text.isspace():
                yield Row(text, None, Place(self.first.source, self.first.file, offset, number))
            offset += size


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What one line says of an attempt, as far as it goes. `evidence` is what the rules in rules/probes.toml are tried on.

    `ok` is False where the line says that the attempt failed, and `answerless` where it says that no HTTP answer came (status 000).
    `at_end` marks formats whose stamp is written when the attempt is over, whatever the user said of his own.
    """

    start: Seconds | None = None
    end: Seconds | None = None
    evidence: str = ""
    ok: bool | None = None
    answerless: bool = False
    duration: Seconds | None = None
    timeout: Seconds | None = None
    target: str = ""
    at_end: bool = False

    def joined(self, other: Answer) -> Answer:
        """Both answers as one: this one's facts first, the other's where this one is silent."""
        return Answer(
            start=other.start if self.start is None else self.start,
            end=other.end if self.end is None else self.end,
            evidence=f"{self.evidence}\n{other.evidence}".strip("\n")[:LONGEST_EVIDENCE],
            ok=other.ok if self.ok is None else self.ok,
            answerless=self.answerless or other.answerless,
            duration=other.duration if self.duration is None else self.duration,
            timeout=other.timeout if self.timeout is None else self.timeout,
            target=self.target or other.target,
            at_end=self.at_end or other.at_end,
        )


class Attempt(msgspec.Struct, frozen=True):
    """One attempt with its symbol, before what the whole log tells (timeouts, targets) is applied. Times in seconds since the epoch."""

    stamp: Seconds
    until: Seconds | None
    how: How
    symbol: str
    answer: Answer
    text: str
    place: Place | None


class ProbeLog(msgspec.Struct, frozen=True, kw_only=True):
    """All probes of one log in order of their start, and the lines that nobody understood."""

    probes: tuple[Probe, ...] = ()
    unknown: int = 0
    unknown_samples: tuple[Row, ...] = ()
    targets: tuple[str, ...] = ()
