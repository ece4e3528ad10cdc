"""Envelopes come off, nested ones too, and tell what they say; what an engine writes itself stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from triage.sources.envelopes import FORMS, LONGEST, NEARLY_ALL, SHORT_ISO, Envelope, layout_of, opened
from triage.sources.stamps import Stamp

STAMP = Stamp(2026, 11, 1, 9, 43, 0, 0.25, "Z")
SECOND = Stamp(None, 11, 1, 9, 43, 0)

COMMON = {
    "docker -t": ("2026-11-01T09:43:00.25Z ", {"stamp": STAMP}),
    "cri": ("2026-11-01T09:43:00.25Z stderr F ", {"stamp": STAMP}),
    "kubectl": ("[pod/vllm-0/engine] ", {"stream": "vllm-0/engine"}),
    "kubectl with stamps": ("[pod/vllm-0/engine] 2026-11-01T09:43:00.25Z ", {"stream": "vllm-0/engine", "stamp": STAMP}),
    "journald short": ("Nov 01 09:43:00 gpu7 vllm[123]: ", {"stamp": SECOND, "host": "gpu7", "unit": "vllm", "stream": "vllm", "pid": 123}),
    "syslog, kernel": ("Nov  1 09:43:00 gpu7 kernel: ", {"stamp": SECOND, "host": "gpu7", "unit": "kernel", "stream": "kernel"}),
    "short-full": (
        "Sun 2026-11-01 09:43:00 UTC gpu7 vllm[123]: ",
        {"stamp": Stamp(2026, 11, 1, 9, 43, 0, None, "UTC"), "host": "gpu7", "unit": "vllm", "stream": "vllm", "pid": 123},
    ),
    "rfc 5424": ("<165>1 2026-11-01T09:43:00.25Z gpu7 vllm 123 - - ", {"stamp": STAMP, "host": "gpu7", "unit": "vllm", "stream": "vllm", "pid": 123}),
    "rfc 5424, sparse": ('<165>1 - gpu7 - - - [a b="c"] ', {"host": "gpu7"}),
    "rfc 3164": ("<34>Nov 01 09:43:00 gpu7 vllm: ", {"stamp": SECOND, "host": "gpu7", "unit": "vllm", "stream": "vllm"}),
    "ray": ("(RayWorkerWrapper pid=12, ip=10.0.0.1) ", {"pid": 12, "host": "10.0.0.1"}),
    "ray on this node": ("(RayWorkerWrapper pid=12) ", {"pid": 12}),
    "ray actor with a rank": ("(PolicyWorker[rank=8] pid=30) ", {"pid": 30, "rank": 8}),
    "torch": ("[rank3]: ", {"rank": 3}),
    "torchrun": ("[default3]:", {"rank": 3}),
    "torchrun over torch": ("[default3]:[rank11]: ", {"rank": 11}),
    "mpirun": ("[1,3]<stderr>: ", {"rank": 3}),
    "buildkite": ("[2026-11-01T09:43:00.25Z] ", {"stamp": STAMP}),
}
DOUBTFUL = {
    "compose": ("vllm-1  | ", {"stream": "vllm-1"}),
    "compose v1": ("vllm_1     | ", {"stream": "vllm_1"}),
    "compose over docker -t": ("vllm-1  | 2026-11-01T09:43:00.25Z ", {"stream": "vllm-1", "stamp": STAMP}),
    "srun": (" 3: ", {"rank": 3}),
    "margin": ("  | ", {}),
    "margin over buildkite": ("  | [2026-11-01T09:43:00.25Z] ", {"stamp": STAMP}),
    "google cloud": ("INFO 2026-11-01T09:43:00.25Z [resource.labels.containerName: vllm] ", {"stamp": STAMP}),
    "table": ("2026-11-01 09:43:00.25 | ", {"stamp": Stamp(2026, 11, 1, 9, 43, 0, 0.25)}),
    "srun over torch": ("12: [rank31]: ", {"rank": 31}),
    "short-iso": (
        "2026-11-01T09:43:00+0000 gpu7 vllm[123]: ",
        {"stamp": Stamp(2026, 11, 1, 9, 43, 0, None, "+0000"), "host": "gpu7", "unit": "vllm", "stream": "vllm", "pid": 123},
    ),
}
TEXTS = [
    "(EngineCore_DP0 pid=301) ERROR 11-20 05:51:01 [core.py:844] fatal",
    "[E1120 12:34:56.1234 ProcessGroupNCCL.cpp:632] [PG 0] Watchdog caught",
    '  File "/opt/model.py", line 12, in forward',
    "Traceback (most recent call last):",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "[2025-11-06 16:46:01 DP0 TP3 EP3] Decode batch",
]

common = pytest.mark.parametrize(("prefix", "said"), COMMON.values(), ids=COMMON)
doubtful = pytest.mark.parametrize(("prefix", "said"), DOUBTFUL.values(), ids=DOUBTFUL)
texts = pytest.mark.parametrize("text", TEXTS)


def expected(prefix: str, said: dict[str, object]) -> Envelope:
    return Envelope(length=len(prefix), **said)  # type: ignore[arg-type]


@common
@texts
def test_envelopes_that_no_text_looks_like(prefix: str, said: dict[str, object], text: str) -> None:
    assert opened(prefix + text, frozenset()) == expected(prefix, said)


@doubtful
@texts
def test_envelopes_that_text_may_look_like_count_where_the_head_has_them(prefix: str, said: dict[str, object], text: str) -> None:
    layout = layout_of("".join(f"{prefix}{line}\n" for line in TEXTS).encode())
    assert opened(prefix + text, layout) == expected(prefix, said)
    assert opened(text, layout) == Envelope()


@texts
def test_a_line_that_has_none_is_tolerated(text: str) -> None:
    assert opened(text, frozenset()) == Envelope()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("2026-11-01T09:43:00.25Z Process EngineCore: stopped", "Process EngineCore: stopped"),
        ("2026-11-01T09:43:00.25Z 2026-11-01T09:42:59.9Z its own stamp", "2026-11-01T09:42:59.9Z its own stamp"),
        ("12: a list of things", "12: a list of things"),
        ("name | value", "name | value"),
        ("(Worker_DP0_TP3_EP3 pid=3) x", "(Worker_DP0_TP3_EP3 pid=3) x"),
        ("(VllmWorkerProcess pid=3) x", "(VllmWorkerProcess pid=3) x"),
        ("(VllmWorker rank=0 pid=3) x", "(VllmWorker rank=0 pid=3) x"),
        ("(SomeOther pid=3) x", "(SomeOther pid=3) x"),
        ("(HttpServer pid=3) (Worker pid=4) x", "(Worker pid=4) x"),
        ("(EngineCore_DP0 pid=1) (RayWorkerWrapper pid=2) x", "(EngineCore_DP0 pid=1) (RayWorkerWrapper pid=2) x"),
        ("[rank0]:[E1120 12:34:56.1 f.cpp:1] x", "[E1120 12:34:56.1 f.cpp:1] x"),
        ("[rank0]:   File x", "  File x"),
        ("see [rank0]: x", "see [rank0]: x"),
        ("2026-11-01 09:43:00,123 INFO exited: vllm", "2026-11-01 09:43:00,123 INFO exited: vllm"),
    ],
)
def test_what_is_left(line: str, text: str) -> None:
    assert line[opened(line, frozenset()).length :] == text


def test_an_exit_that_compose_tells_of_belongs_to_the_service() -> None:
    layout = layout_of(b"vllm-1  | a\nredis-1 | b\n")
    told = opened("vllm-1 exited with code 137", layout)
    assert (told.length, told.stream) == (0, "vllm-1")


@pytest.mark.parametrize(
    ("head", "layout"),
    [
        (b"", set()),
        (b"\n\n\n", set()),
        (b"plain\ntext\n", set()),
        (b"0: a\n1: b\n 2: c\n", {"srun"}),
        (b"10: a\nplain\nplain\nplain\n", set()),
        (b"vllm-1 | a\n", {"compose", "compose exit"}),
        (b"\xc2\xa0  | a\n", {"margin"}),
        (b"2026-11-01T09:43:00+0000 gpu7 vllm[1]: a\n  further\n  lines\n", {"journald short-iso"}),
        (b"2026-11-01T09:43:00.1Z a\n" * 5, set()),
        (b"2026-11-01T09:43:00.1Z CUDA error: an illegal memory access\n2026-11-01T09:43:00.2Z (APIServer pid=1) INFO a\n", set()),
        (b"2026-11-01T09:43:00.1Z srun: error: node-1: task 3: Killed\n" * 5, set()),
        (b"2026-11-01T09:43:00+0000 fe80:: vllm[1]: a\n", {"journald short-iso"}),
    ],
)
def test_the_layout_is_what_a_third_of_the_head_is_written_in(head: bytes, layout: set[str]) -> None:
    assert layout_of(head) == layout


HEADS = [*(prefix for prefix, _ in (*COMMON.values(), *DOUBTFUL.values())), "10: ", "2026-11-01T09:43:00Z", "vllm-1 |", "\xa0| ", "  ", ""]


@given(st.lists(st.tuples(st.sampled_from(HEADS), st.sampled_from([*TEXTS, "a | b", ""]), st.integers(1, 20)), max_size=3))
@example([(DOUBTFUL["short-iso"][0], "a", 9), (COMMON["docker -t"][0], "a", 1)])
@example([(COMMON["docker -t"][0], "a", 1), (DOUBTFUL["short-iso"][0], "a", 8)])
@example([(DOUBTFUL["short-iso"][0], "a", 10), (COMMON["docker -t"][0], "a", 2), ("", "a", 8)])
@example([("  | ", "a", 1), ("\xa0| ", "a", 5)])
@example([("  | ", "a", 5), ("", "a", 10)])
def test_the_layout_is_what_counting_all_lines_gives(blocks: list[tuple[str, str, int]]) -> None:
    lines = [line for prefix, text, count in blocks for line in [prefix + text] * count]
    seen = [line for line in lines if line.encode("latin-1").strip()]
    written = {form.name: [line for line in seen if line[0] in form.begins and form.pattern.match(line)] for form in FORMS}
    stamped = [line for line in seen if re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+0000)", line)]
    named = len(written[SHORT_ISO]) >= NEARLY_ALL * len(stamped)
    layout = {form.name for form in FORMS if not form.common and form.name != "compose exit" and seen and 3 * len(written[form.name]) >= len(seen)}
    layout -= set() if named else {SHORT_ISO}
    assert layout_of("\n".join(lines).encode("latin-1")) == layout | ({"compose exit"} if "compose" in layout else set())


printable = st.text(st.characters(codec="ascii", min_codepoint=33), max_size=80).filter(lambda text: opened(text, frozenset()) == Envelope())


@given(st.lists(st.sampled_from(["docker -t", "kubectl", "torchrun", "torch", "mpirun", "ray"]), unique=True, max_size=4), printable)
def test_nested_envelopes_give_the_text_back(names: list[str], text: str) -> None:
    line = "".join(COMMON[name][0] for name in names) + "= " + text
    told = opened(line, frozenset())
    assert line[told.length :] == "= " + text
    assert (told.stamp is not None) == ("docker -t" in names)
    assert bool(told.stream) == ("kubectl" in names)


@given(st.binary(max_size=200), st.sets(st.sampled_from(["compose", "compose exit", "srun", "journald short-iso"])))
def test_any_bytes_can_be_opened(noise: bytes, layout: set[str]) -> None:
    line = noise.decode("latin-1")[:LONGEST]
    assert 0 <= opened(line, frozenset(layout)).length <= len(line)
    layout_of(noise)


@given(st.data())
def test_what_a_form_is_looked_for_by_is_in_each_line_that_it_matches(draw: st.DataObject) -> None:
    form = draw.draw(st.sampled_from(FORMS))
    line = draw.draw(st.from_regex(re.compile(form.pattern.pattern, form.pattern.flags)))
    assert form.pattern.match(line) is None or form.holds in line
