"""Puts lines together into attempts: a dated line, and the undated ones that belong to it (curl's error, a traceback, wget's talk)."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from triage.model import How, Instant, Probe, Seconds
from triage.parsers.probe.bulk import Bulk, Known, Shape, Times
from triage.parsers.probe.lines import Reader, Said
from triage.parsers.probe.records import Answer, Attempt, Batch, Row
from triage.parsers.probe.settle import Stamped, reach
from triage.parsers.probe.shapes import NothingSaidError, is_metric
from triage.parsers.probe.symbols import GOOD, UNDECIDED, Symbols

LONGEST_LINE = 8192
LONGEST_TEXT = 1024
LONGEST_WAIT: Seconds = 600.0
SHORTEST_WAIT: Seconds = 2.0
SAMPLES = 20
_WAITING = 1000

_CONTINUES = re.compile(
    r"\s|Traceback |During handling |The above exception |curl: \(|wget: |[\w.]*(?:Error|Exception|Timeout|Disconnected|Refused)\b(?:[:(]|$)"
)
_CONCLUDES = 'msg="Probe failed"'


class Assembler:
    """Takes the rows of one log in order.

    Results: `good` probes that took the short way, all other `attempts`, `unknown` (how many lines nobody understood), `samples` of those.
    """

    def __init__(self, reader: Reader, symbols: Symbols, bulk: Bulk, stamped: Stamped) -> None:
        self.good: list[Probe] = []
        self.attempts: list[Attempt] = []
        self.unknown = 0
        self.samples: list[Row] = []
        self._reader = reader
        self._symbols = symbols
        self._bulk = bulk
        self._stamped = stamped
        self._before: Seconds | None = None
        self._open: Row | None = None
        self._waiting: list[tuple[Row, Answer, str]] = []

    def add(self, rows: Iterable[Row | Batch]) -> None:
        """Take lines. Most are good probes of a shape that is known: for those as little as possible is done here."""
        for row in rows:
            if isinstance(row, Row):
                self._add_row(row)
            elif (known := self._bulk.all_known(row.texts)) is not None:
                self._add_good(*known)
            else:
                for each in row.rows():
                    self._add_row(each)

    def _add_row(self, row: Row) -> None:
        found = self._bulk.known(row.text)
        if found is None or row.at is not None or found[1][0] is None:
            self._take(row, found)
        else:
            self._add_good(found[0], [found[1]])

    def _add_good(self, shape: Shape, lines: Iterable[Times]) -> None:
        """Take good probes of one shape, which have stamps."""
        answer, symbol = shape.answer, shape.symbol
        at_end = answer.at_end or self._stamped == "end"
        for stamp, end, duration in lines:
            if stamp is None:
                continue
            if self._open is not None or self._waiting:
                self._settle(stamp)
            self._before = stamp
            if end is None and duration and not at_end:
                at = Instant(stamp, stamp + duration, "inner stamp")
            else:
                at = reach(stamp, end, duration, at_end, "inner stamp")
            self.good.append(Probe(at=at, symbol=symbol, target=answer.target, text=answer.evidence))

    def finish(self) -> None:
        """Settle what is still open after the last line."""
        self._settle(None)

    def _settle(self, stamp: Seconds | None) -> None:
        self._close()
        self._release(stamp)

    def _take(self, row: Row, known: Known | None) -> None:
        if known is None or (row.at is None and known[1][0] is None):
            self._take_strange(row)
            return
        shape, (stamp, end, duration) = known
        start, until, how = _times(stamp, shape.zoned, end, row.at)
        self._settle(start)
        self._before = start
        answer = shape.answer
        at = reach(start, until, duration, answer.at_end or self._stamped == "end", how)
        self.good.append(Probe(at=at, symbol=shape.symbol, target=answer.target, text=answer.evidence))

    def _take_strange(self, row: Row) -> None:
        text = row.text[:LONGEST_LINE].rstrip()
        if not text:
            return
        try:
            said = self._reader.read(text, None if row.at is None else row.at.middle)
        except NothingSaidError:
            return
        symbol = None if said.answer is None else self._symbols.of(said.answer)
        if said.stamp is None and (row.at is None or _CONTINUES.match(text)):
            self._take_undated(row, text, said.answer, symbol)
        else:
            self._take_dated(row, text, said, symbol or "")

    def _take_dated(self, row: Row, text: str, said: Said, symbol: str) -> None:
        answer = said.answer or Answer()
        stamp, until, how = _times(said.stamp, said.zoned, answer.end, row.at)
        if _CONCLUDES in text and self._concluded(stamp, answer):
            return
        self._close()
        if self._waiting and (symbol or None) in UNDECIDED:
            _, late, _ = self._waiting.pop()
            answer = answer.joined(late)
            symbol = self._symbols.of(answer) or ""
        elif symbol in GOOD:
            self._bulk.learn(row.text, said.stamp, said.zoned, answer, symbol)
        self._release(stamp)
        self.attempts.append(Attempt(stamp, until, how, symbol, answer, "" if symbol in GOOD else text[:LONGEST_TEXT], row.place))
        self._before, self._open = stamp, row

    def _concluded(self, stamp: Seconds, answer: Answer) -> bool:
        """Whether an exporter's closing line was joined with the error line before it, which is the same attempt."""
        last = self.attempts[-1] if self._open is not None else None
        if last is None or last.symbol in GOOD or last.answer.target != answer.target or not 0 <= stamp - last.stamp <= LONGEST_WAIT:
            return False
        self._join(answer)
        return True

    def _take_undated(self, row: Row, text: str, answer: Answer | None, symbol: str | None) -> None:
        if answer is not None and self._open is not None and is_metric(text):
            self._join(answer)
        elif symbol is None or answer is None:
            if not (_CONTINUES.match(text) and (self._open is not None or self._waiting)):
                self._count_unknown(row)
        elif self._open is not None and (self.attempts[-1].symbol or None) in UNDECIDED:
            self._join(answer)
        else:
            if len(self._waiting) >= _WAITING:
                self._release(None)
            self._waiting.append((row, answer, symbol))

    def _join(self, answer: Answer) -> None:
        last = self.attempts[-1]
        joined = last.answer.joined(answer)
        symbol = self._symbols.of(joined) or ""
        text = "" if symbol in GOOD else "\n".join(filter(None, (last.text, answer.evidence)))[:LONGEST_TEXT]
        self.attempts[-1] = msgspec.structs.replace(last, answer=joined, symbol=symbol, text=text)

    def _close(self) -> None:
        """Drop the last dated line where it told nothing of an attempt."""
        if self._open is not None and not self.attempts[-1].symbol:
            self.attempts.pop()
            self._count_unknown(self._open)
        self._open = None

    def _release(self, following: Seconds | None) -> None:
        """Date the undated results that no dated line claimed: between the stamps around them."""
        for row, answer, symbol in self._waiting:
            own = None if row.at is None else row.at.earliest
            stamp = self._before if own is None else own
            if stamp is None:
                self._count_unknown(row)
                continue
            how: How = "carried" if own is None else "outer stamp"
            until = following if own is None and following is not None and following > stamp else None
            self.attempts.append(Attempt(stamp, until, how, symbol, answer, row.text[:LONGEST_TEXT], row.place))
        self._waiting.clear()

    def _count_unknown(self, row: Row) -> None:
        self.unknown += 1
        if len(self.samples) < SAMPLES:
            self.samples.append(row)


def _times(stamp: Seconds | None, zoned: bool, end: Seconds | None, outer: Instant | None) -> tuple[Seconds, Seconds | None, How]:
    """Start, end where it is known, and the method. A stamp in the text and a later one around it are the attempt's two ends.

    Both are often whole seconds, so less than two seconds between them mean nothing.
    """
    if outer is None:
        return stamp or 0.0, end, "inner stamp"
    if stamp is None:
        return outer.earliest, end, "outer stamp"
    wait = outer.latest - stamp
    if 0 <= wait <= LONGEST_WAIT:
        return stamp, outer.latest if end is None and wait >= SHORTEST_WAIT else end, "inner stamp"
    return (stamp, end, "inner stamp") if zoned else (outer.earliest, None, "outer stamp")
