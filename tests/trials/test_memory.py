"""Margins from samples and from the text of an allocation that failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.model import Boot, Event, Incident, Instant, Place, SourceInfo, Verdict
from triage.parsers.gpu_memory import MemorySample
from triage.parsers.reading import Reading
from triage.trials.ladder import Ladder, Rung
from triage.trials.memory import BootLines, Memory, boot_lines, measured, mib

TOTAL = 1000.0
BOOT = Boot(id="b", source="s", engine="vllm", start=Instant.sharp(10), ready=Instant.sharp(50), end=Instant.sharp(100))


def reading(*samples: tuple[float, float], gpu: str = "0", free: bool = True) -> Reading:
    rows = tuple(MemorySample(Instant.sharp(at), gpu, used, TOTAL, TOTAL - used if free else None) for at, used in samples)
    return Reading(info=SourceInfo(name="m", kind="gpu_memory"), memory=rows)


def out_of_memory(wanted: str, free: str) -> Verdict:
    root = Event(kind="signature", rule="device-oom/allocator", place=Place("s", "s", 0), text="total capacity of 0.98 GiB of which", data={
        "wanted": wanted, "free": free, "gpu": "0"})  # fmt: skip
    return Verdict(incident=Incident(id="i", engine="vllm"), fault_class="device-oom", family="memory", fault=True, root=root)


LIFE = ((5.0, 4.0), (20.0, 400.0), (52.0, 700.0), (54.0, 702.0), (56.0, 701.0), (70.0, 950.0), (80.0, 940.0), (110.0, 4.0))


def test_rest_step_and_what_is_left() -> None:
    (one,) = measured([reading(*LIFE)], [BOOT], None, 60.0)
    assert (one.base, one.rest, one.own_rest, one.worst, one.step, one.free, one.margin) == (4, 701, 697, 950, 249, 50, 50)


def test_without_a_word_on_when_work_began_rest_is_not_known() -> None:
    (one,) = measured([reading(*LIFE)], [BOOT], None, None)
    assert (one.rest, one.step, one.margin) == (None, None, 50)


def test_what_is_left_follows_from_the_total() -> None:
    assert measured([reading(*LIFE, free=False)], [BOOT], None, 60.0)[0].free == 50


def test_samples_before_ready_and_after_the_end_do_not_count() -> None:
    (one,) = measured([reading((20.0, 999.0), (60.0, 800.0), (120.0, 990.0))], [BOOT], None, 55.0)
    assert one.worst == 800


def test_each_gpu_by_itself() -> None:
    both = measured([reading(*LIFE), reading((70.0, 990.0), gpu="1")], [BOOT], None, 60.0)
    assert [(one.gpu, one.margin) for one in both] == [("0", 50), ("1", 10)]


def test_a_failed_allocation_gives_an_upper_bound() -> None:
    (one,) = measured([reading(*LIFE)], [BOOT], out_of_memory("98.00 MiB", "40.00 MiB"), 60.0)
    assert (one.short, one.margin, one.free, one.step) == (58, -58, 40, None)


def test_a_failed_allocation_without_samples() -> None:
    (one,) = measured([], [], out_of_memory("1.00 GiB", "24.00 MiB"), None)
    assert (one.short, one.margin, one.samples) == (1000, -1000, 0)


def test_nothing_measured_is_nothing() -> None:
    assert measured([], [BOOT], None, None) == ()


@pytest.mark.parametrize(("text", "amount"), [("2.00 GiB", 2048), ("512 KiB", 0.5), ("1 TiB", 1048576), ("x", None), ("", None)])
def test_amounts(text: str, amount: float | None) -> None:
    assert mib(text) == amount


def rung(value: float, margin: float, *, build: str = "a", short: float | None = None) -> Rung:
    return Rung(build=build, setting="u", value=value, memory=Memory(gpu="0", free=margin, short=short), survived=0 if short else 1, ran=1)


def ladder(*rungs: Rung) -> Ladder:
    return Ladder(item="i", setting="u", builds=tuple(dict.fromkeys(r.build for r in rungs)), runs=(), rungs=rungs)


def test_a_rung_that_was_not_tried_on_every_build_is_not_chosen() -> None:
    assert ladder(rung(0.9, 500), rung(0.9, 500, build="b"), rung(0.95, 400)).highest_with(100) == 0.9


def test_a_rung_above_one_that_leaves_too_little_is_not_chosen() -> None:
    assert ladder(rung(0.90, 500), rung(0.92, 50), rung(0.94, 300)).highest_with(100) == 0.90


def test_a_rung_on_which_an_allocation_failed_is_not_chosen() -> None:
    assert ladder(rung(0.90, 500), rung(0.92, 500, short=10)).highest_with(100) == 0.90


@given(st.floats(0, 1000), st.floats(1, 1000), st.floats(0, 1))
def test_the_setting_for_a_margin_lies_between_its_rungs(less: float, gap: float, part: float) -> None:
    wanted = less + part * gap
    setting = ladder(rung(0.90, less + gap), rung(0.95, less)).setting_for("a", wanted)
    if less <= wanted <= less + gap:
        assert setting == pytest.approx(0.95 - 0.05 * (wanted - less) / gap, abs=1e-6)


def event(rank: int, **data: str) -> Event:
    return Event(kind="config", rule="r", place=Place("s", "s", 0), text="", rank=rank, data=data)


def test_boot_lines_of_several_ranks() -> None:
    first = (event(0, model_gib="5.4", avail_gb="40.0"), event(1, model_gib="5.5", avail_gb="39.0"))
    told = (*first, event(0, avail_gb="3.5"), event(1, avail_gb="2.5"))
    boot = Boot(id="b", source="s", engine="sglang", events=(*told, event(0, kv_cache_gib="6.6", graphs_gib="x")))
    assert boot_lines(boot) == BootLines(weights=5.5, kv_cache=6.6, free=2.5)


def test_a_boot_that_says_nothing_of_memory() -> None:
    assert boot_lines(BOOT).is_empty


def test_processes_are_added_up_where_only_they_were_sampled() -> None:
    rows = [(55.0, 11, 500.0), (55.0, 12, 100.0), (80.0, 11, 700.0), (80.0, 12, 100.0)]
    processes = tuple(MemorySample(Instant.sharp(at), "0", used, pid=pid) for at, pid, used in rows)
    only = Reading(info=SourceInfo(name="m", kind="gpu_memory"), memory=processes)
    (one,) = measured([only], [BOOT], None, 60.0)
    assert (one.rest, one.worst, one.step, one.free) == (600, 800, 200, None)
    (both,) = measured([only, reading(*LIFE)], [BOOT], None, 60.0)
    assert both.worst == 950  # the device's own samples tell more
