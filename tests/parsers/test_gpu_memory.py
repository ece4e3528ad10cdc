"""Samples of device memory in every form that nvidia-smi writes: with a heading or without, with units or without, its table."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.model import Instant
from triage.parsers.gpu_memory import Row, looks_like_gpu_memory, parse
from triage.parsers.sniff import sniff

TABLE = """Sat Oct 10 01:02:03 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.82.07              Driver Version: 580.82.07      CUDA Version: 13.0     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  NVIDIA L4                      On  |   00000000:31:00.0 Off |                    0 |
| N/A   43C    P0             70W /   72W |   21890MiB /  23034MiB |    100%      Default |
|   1  NVIDIA L4                      On  |   00000000:4B:00.0 Off |                    0 |
| N/A   40C    P8             12W /   72W |       4MiB /  23034MiB |      0%      Default |
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|    0   N/A  N/A            1421      C   VLLM::EngineCore                      21880MiB |
+-----------------------------------------------------------------------------------------+"""
HEADED = """timestamp, index, memory.total [MiB], memory.used [MiB], memory.free [MiB]
2026/10/10 01:02:03.500, 0, 23034 MiB, 21890 MiB, 1144 MiB
2026/10/10 01:02:03.502, 1, 23034 MiB, 4 MiB, 23030 MiB"""
FORMS = {
    "heading and units": HEADED,
    "heading, no units": HEADED.replace(" MiB", "").replace(" [MiB]", ""),
    "no heading": "\n".join(HEADED.splitlines()[1:]),
    "no heading, no units": "\n".join(HEADED.splitlines()[1:]).replace(" MiB", ""),
    "heading again and again": "\n".join(f"{HEADED.splitlines()[0]}\n{line}" for line in HEADED.splitlines()[1:]),
    "other columns between": HEADED.replace("index, ", "name, index, temperature.gpu, ").replace(", 0, ", ", NVIDIA L4, 0, 43, ").replace(
        ", 1, ", ", NVIDIA L4, 1, 40, "
    ),
}  # fmt: skip


def rows(text: str) -> list[Row]:
    return [Row(line) for line in text.splitlines()]


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS.keys())
def test_each_form_of_csv_says_the_same(text: str) -> None:
    log = parse(rows(text))
    assert [(s.gpu, s.used, s.total, s.free) for s in log.samples] == [("0", 21890, 23034, 1144), ("1", 4, 23034, 23030)]
    assert log.samples[0].at == Instant.sharp(1791594123.5, "inner stamp")
    assert not log.unread


@pytest.mark.parametrize("text", [TABLE, *FORMS.values()], ids=["table", *FORMS.keys()])
def test_its_content_tells_what_it_is(text: str) -> None:
    assert looks_like_gpu_memory(text.splitlines())
    assert sniff("x.log", text.encode(), text.splitlines()) == "gpu_memory"


def test_what_had_to_be_guessed_is_said() -> None:
    assert parse(rows(FORMS["no heading"])).assumption == "no heading: its columns were taken to be stamp, gpu, total, used, free"
    assert not parse(rows(HEADED)).assumption


def test_the_table_has_gpus_and_processes() -> None:
    samples = parse(rows(TABLE)).samples
    assert [(s.gpu, s.used, s.total, s.pid) for s in samples] == [("0", 21890, 23034, None), ("1", 4, 23034, None), ("0", 21880, None, 1421)]
    assert {s.at for s in samples} == {Instant.sharp(1791594123, "inner stamp")}


def test_processes_are_samples_of_their_own() -> None:
    text = "timestamp, gpu_uuid, pid, used_gpu_memory [MiB]\n2026/10/10 01:02:03.500, GPU-a1, 1421, 21880 MiB"
    assert [(s.gpu, s.used, s.pid) for s in parse(rows(text)).samples] == [("GPU-a1", 21880, 1421)]


def test_stamps_are_in_the_zone_that_was_asked_for() -> None:
    (first, _) = parse(rows(HEADED), ZoneInfo("Europe/Berlin")).samples
    assert first.at == Instant.sharp(1791594123.5 - 7200, "inner stamp")


def test_rows_that_say_nothing_are_counted() -> None:
    log = parse(rows(f"{HEADED}\n2026/10/10 01:02:05.500, 0, [N/A], [N/A], [N/A]\nUnable to determine the device handle"))
    assert (len(log.samples), log.unread, log.first_unread[:10]) == (2, 2, "2026/10/10")


@pytest.mark.parametrize(
    "text",
    [
        f"INFO 11-20 05:49:02 [api_server.py:1977] vLLM API server version 0.11.2\n{TABLE}",
        "2026-11-12T03:00:00Z http://10.0.0.1:8000/health 200 0 0.2\n2026-11-12T03:01:00Z http://10.0.0.1:8000/health 200 0 0.3",
        "time,target,status\n1,a,200\n2,a,200",
        "",
    ],
)
def test_other_logs_are_none(text: str) -> None:
    assert sniff("x.log", text.encode(), text.splitlines()) != "gpu_memory"


@given(st.text(max_size=300))
def test_whatever_a_file_holds_nothing_is_raised(text: str) -> None:
    log = parse(rows(text) + rows(HEADED.splitlines()[0]) + rows(text))
    assert all(sample.used >= 0 for sample in log.samples)


@given(st.integers(0, 90_000), st.integers(1, 90_000))
def test_what_is_in_use_and_what_is_left_make_up_the_total(used: int, free: int) -> None:
    (sample,) = parse(rows(f"memory.total [MiB], memory.free [MiB]\n{used + free} MiB, {free} MiB")).samples
    assert (sample.used, sample.free) == (used, free)


PARTS = ((1, 4), (2, 21000), (3, 20900))


@pytest.mark.parametrize("unit", [" MiB", ""])
@pytest.mark.parametrize("lacks", range(1, 8))
def test_a_row_that_was_cut_off_leaves_less_free_than_there_was_nowhere(unit: str, lacks: int) -> None:
    """nvidia-smi that is killed ends its file within a row, where what is left of a figure is another figure."""
    heading = "timestamp, index, memory.total [MiB], memory.used [MiB], memory.free [MiB]"
    rows = [f"2026/10/10 01:02:0{second}.000, 0, 23034{unit}, {used}{unit}, {22600 - used}{unit}" for second, used in PARTS]
    log = parse(Row(text) for text in [heading, *rows[:-1], rows[-1][:-lacks]])
    assert {(sample.used, sample.free) for sample in log.samples} <= {(4, 22596), (21000, 1600), (20900, 1700), (20900, None)}
    assert log.unread == 3 - len(log.samples)


def test_a_heading_that_comes_again_may_come_without_units() -> None:
    log = parse(Row(text) for text in ("index, memory.used [MiB]", "0, 5 MiB", "index, memory.used [MiB]", "0, 6"))
    assert [sample.used for sample in log.samples] == [5, 6]
