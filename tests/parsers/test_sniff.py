"""A log is told by what stands in it: a piece of one that no engine signed is still no probe log."""

from __future__ import annotations

from itertools import chain, repeat

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


ENGINE_LINE = "(EngineCore pid=7) INFO 11-20 05:51:01 [core.py:9] text"
KERNEL_LINE = "[ 7616.513186] NVRM: Xid (PCI:0000:41:00): 79, pid=10635, GPU has fallen off the bus."


def test_a_few_lines_are_enough_to_know_an_engine() -> None:
    lines = chain(repeat(ENGINE_LINE, 20), iter(lambda: pytest.fail("a log of an engine needs no more lines"), ""))
    assert sniff("x.log", b"text", lines) == "engine"


def test_an_engine_among_more_lines_of_the_kernel_is_the_kernels_log() -> None:
    assert sniff("x.log", b"text", [ENGINE_LINE] * 4 + [KERNEL_LINE] * 5) == "kernel"
    assert sniff("x.log", b"text", [ENGINE_LINE] * 5 + [KERNEL_LINE] * 4) == "engine"


def test_of_what_is_no_text_no_line_is_asked_for() -> None:
    assert sniff("x", bytes(range(256)), iter(lambda: pytest.fail("no line of it is needed"), "")) is None
