"""Feeds a probe log to its parser a line at a time: every line counts there, so plain ones are cut without ceremony."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from triage.knowledge.schema import Probes
from triage.model import Place, Probe, Problem
from triage.parsers import probe
from triage.parsers.options import Options
from triage.sources.pieces import Piece, lines_of

LINES_TRIED = 50
BATCH = 64


def read_probes(read: Iterator[Piece], name: str, options: Options, rules: Probes) -> tuple[tuple[Probe, ...], list[Problem]]:
    """The probes of one log, and a word about lines in it that are none. Raises ValueError like `probe_log`."""
    log = probe_log(read, options, rules)
    return log.probes, _unknown_lines(name, log)


def probe_log(read: Iterator[Piece], options: Options, rules: Probes) -> probe.ProbeLog:
    """The probes of one log and the lines that are none. Raises ValueError for a `probe_format` that is no usable regex."""
    return probe.parse(_rows(read), format=options.probe_format, stamp=options.probe_stamp, tz=options.tz, year=options.year, rules=rules)


def _rows(read: Iterator[Piece]) -> Iterator[probe.Row | probe.Batch]:
    for piece in read:
        yield from _batches(piece) if _is_bare(piece) else _enveloped_rows(piece)


def _is_bare(piece: Piece) -> bool:
    """Whether lines begin with no more than a stamp, which the probe parser reads faster itself."""
    first = islice(lines_of(piece), LINES_TRIED)
    return piece.origins.are_raw and not piece.overlap and not any(line.stream or line.host or line.unit for line in first)


def _batches(piece: Piece) -> Iterator[probe.Batch]:
    texts, sizes = _texts(piece.data)
    offset = piece.base
    for start in range(0, len(texts), BATCH):
        some = sizes[start : start + BATCH]
        yield probe.Batch(texts[start : start + BATCH], some, Place(piece.source, piece.file, offset, piece.first_line + start))
        offset += sum(some)


def _texts(data: bytes) -> tuple[list[str], list[int]]:
    """The lines and how many bytes each takes with its newline. Nearly all logs are ASCII, of which a byte is a character."""
    if data.isascii() and b"\r" not in data:
        texts = data.decode("ascii").removesuffix("\n").split("\n")
        return texts, [len(text) + 1 for text in texts]
    lines = data.removesuffix(b"\n").split(b"\n")
    return [line.decode("utf-8", "replace").rstrip("\r") for line in lines], [len(line) + 1 for line in lines]


def _enveloped_rows(piece: Piece) -> Iterator[probe.Row]:
    for line in lines_of(piece):
        if line.text.strip():
            yield probe.Row(line.text, line.outer, piece.place(line))


def _unknown_lines(name: str, log: probe.ProbeLog) -> list[Problem]:
    if not log.unknown:
        return []
    sample = log.unknown_samples[0].text[:80] if log.unknown_samples else ""
    what = f"{log.unknown} lines are no probe that triage knows, such as {sample!r} (--probe-format reads your own)"
    return [Problem(name, what, lost=False)]
