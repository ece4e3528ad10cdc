"""A log is told by what stands in it: a piece of one that no engine signed is still no probe log."""

from __future__ import annotations

import pytest

from triage.parsers.sniff import sniff

ENGINES = {
    "a crash of the interpreter": 'Fatal Python error: Aborted\n\nThread 0x7f (most recent call first):\n  File "/opt/x.py", line 3 in step',
    "an indented traceback": '    File "/opt/x.py", line 3, in forward\n    error\n    timeout',
    "a compiler": "ninja: error: loading 'build.ninja': no such file\nFAILED: step",
}
PROBES = {
    "a script that says error": "2026-11-12T03:00:00Z probe: error: timed out\n2026-11-12T03:01:00Z probe: ok",
    "words alone": "ok\nok\ntimeout\nrefused",
}


@pytest.mark.parametrize("text", ENGINES.values(), ids=ENGINES.keys())
def test_such_text_is_an_engines(text: str) -> None:
    assert sniff("x.log", text.encode(), text.splitlines()) == "engine"


@pytest.mark.parametrize("text", PROBES.values(), ids=PROBES.keys())
def test_such_text_is_a_probers(text: str) -> None:
    assert sniff("x.log", text.encode(), text.splitlines()) == "probe"
