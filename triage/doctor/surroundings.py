"""What triage takes from its surroundings: TRIAGE_* variables, and the terminal, locale and zones it writes for."""

from __future__ import annotations

import locale
import os
import sys
from collections.abc import Collection, Iterator

from triage.doctor.findings import Finding, State
from triage.history.secrets import is_secret

OWN = ("TRIAGE_CACHE", "TRIAGE_SCANNER", "TRIAGE_STORE", "TRIAGE_LEDGER")
HEADER = "HEADER"  # of a request of the prober, which may hold a key
LONGEST = 60


def variables(known: Collection[str]) -> Iterator[Finding]:
    """Each TRIAGE_* variable that is set; `known` are those of the options. Values of what may be a secret are not told."""
    given = sorted(name for name in os.environ if name.startswith("TRIAGE_"))
    for name in given:
        value = "(set, not shown)" if is_secret(name) or HEADER in name else os.environ[name][:LONGEST]
        if name in known or name in OWN:
            yield Finding("variables", name, "ok", value or "(empty)")
        else:
            yield Finding("variables", name, "note", f"{value}: no option is called that, so it does nothing", f"see `--help`, or unset {name}")
    if not given:
        yield Finding("variables", "TRIAGE_*", "ok", "none is set")


def terminal() -> Iterator[Finding]:
    """Where the output goes, how wide and in which letters, and whether zones are known."""
    from triage.report.fitting import columns

    tty = sys.stdout is not None and sys.stdout.isatty()
    plain = "no colours (NO_COLOR)" if os.environ.get("NO_COLOR") else f"TERM={os.environ.get('TERM', 'not set')}"
    yield Finding("terminal", "stdout", "ok", f"{'a terminal' if tty else 'no terminal'}, {columns()} columns, {plain}")
    letters = getattr(sys.stdout, "encoding", None) or "not known"
    state: State = "ok" if letters.lower().replace("-", "") == "utf8" else "note"
    found = f"{letters}; file names {sys.getfilesystemencoding()}; locale {locale.setlocale(locale.LC_CTYPE)}"
    yield Finding("terminal", "letters", state, found, "" if state == "ok" else "letters that it lacks are shown as ?: set PYTHONUTF8=1")
    yield _zones()


def _zones() -> Finding:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo("Europe/Berlin")
    except ZoneInfoNotFoundError:
        return Finding("terminal", "time zones", "broken", "no zone is known: --tz takes offsets only", "pip install tzdata")
    return Finding("terminal", "time zones", "ok", f"known; TZ={os.environ.get('TZ', 'not set')} (reports are in UTC)")
