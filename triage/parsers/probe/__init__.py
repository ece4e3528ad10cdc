"""Reads what health probes leave behind: cron lines around curl, JSON lines, CSV, kubelet events, exporters, clients' errors, access logs.

Every row of such a log is one attempt, with a symbol for how it ended (`triage.model.Probe`)::

    2026-11-12T03:10:00Z 200 0
    2026-11-12T03:11:00Z 000 28
    2026-11-12T03:12:00+00:00 http=000 exit=7 time=0.001
    {"ts": "2026-11-12T03:13:00Z", "url": "http://gpu1:8000/health", "status": 503}
    Nov 12 03:14:00 node kubelet[812]: Liveness probe failed: Get "http://10.1.2.3:8000/health": context deadline exceeded

>>> log = parse([Row("2026-11-12T03:10:00Z 200 0"), Row("2026-11-12T03:11:00Z 000 28"), Row("2026-11-12T03:12:00Z 000 7")])
>>> "".join(probe.symbol for probe in log.probes)
'.tr'

What a 4xx means: something answered, so the engine's front is alive (`.`). 429 and 529 are alive and too busy (`s`); 499 is a proxy
saying that the client gave up waiting (`t`). 502, 503 and 504 follow rules/probes.toml. `f` is a failure of which the log does not
say the kind: it counts as an outage and speaks for no family.
"""

from __future__ import annotations

from collections.abc import Iterable

from triage.knowledge.load import load
from triage.knowledge.schema import Probes
from triage.parsers.probe.assemble import Assembler
from triage.parsers.probe.bulk import Bulk
from triage.parsers.probe.dates import DateReader
from triage.parsers.probe.lines import LineReader, Reader, UserFormat
from triage.parsers.probe.records import Batch, ProbeLog, Row
from triage.parsers.probe.settle import Stamped, settle
from triage.parsers.probe.sniff import looks_like_probe_log
from triage.parsers.probe.symbols import Symbols

__all__ = ["Batch", "ProbeLog", "Row", "looks_like_probe_log", "parse"]


def parse(
    rows: Iterable[Row | Batch],
    *,
    format: str | None = None,  # noqa: A002 - the word of the option it serves
    stamp: Stamped = "start",
    tz: str = "UTC",
    year: int | None = None,
    rules: Probes | None = None,
) -> ProbeLog:
    """All probes of one log, in order of their start.

    `format` is a regex of the user's own with the groups time, end, status, exit, error, target, ok, duration. `stamp` says whether a
    script dates the start or the end of an attempt; formats that are known to be written at the end stay so. `tz` is the zone of dates
    without one (IANA name or offset), `year` that of the first date without one. `rules` are those of rules/probes.toml.

    Raises ValueError for a format that is no usable regex and for an unknown time zone.
    """
    dates = DateReader(tz, year)
    reader: Reader = LineReader(dates) if format is None else UserFormat(format, dates)
    assembler = Assembler(reader, Symbols(load().probes if rules is None else rules), Bulk(dates), stamp)
    assembler.add(rows)
    assembler.finish()
    probes = settle(assembler.good, assembler.attempts, stamp)
    return ProbeLog(
        probes=probes,
        unknown=assembler.unknown,
        unknown_samples=tuple(assembler.samples),
        targets=tuple(sorted({probe.target for probe in probes})),
    )
