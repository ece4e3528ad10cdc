"""Kernel lines as structured data, and kernel logs as events."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.knowledge.load import builtin_rules, read_rule_file
from triage.knowledge.schema import Xid, Xids
from triage.model import Event, Place
from triage.parsers import kernel
from triage.parsers.kernel import OomKill, Segfault, UnitExit

XIDS = read_rule_file(builtin_rules() / "xid.toml", Xids)
BY_NUMBER = {entry.number: entry for entry in XIDS.xids}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[ 7616.483934] NVRM: Xid (PCI:0000:03:00): 45, pid=10635, Ch 00000001", (45, "0000:03:00", 10635, "Ch 00000001")),
        (
            "NVRM: Xid (PCI:0000:ca:00): 31, pid=1587, name=VLLM::Worker_TP, Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS",
            (31, "0000:ca:00", 1587, "Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS"),
        ),
        (
            "kernel: NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            (79, "0000:05:00", None, "GPU has fallen off the bus."),
        ),
        ("NVRM: Xid (PCI:0000:02:00): 79, pid=<unknown>, GPU has fallen off the bus.", (79, "0000:02:00", None, "GPU has fallen off the bus.")),
        ("NVRM: Xid (0000:03:00): 14, Channel 00000001", (14, "0000:03:00", None, "Channel 00000001")),
        ("NVRM: Xid (PCI:0000:3b:00.0): 79, GPU has fallen off the bus.", (79, "0000:3b:00.0", None, "GPU has fallen off the bus.")),
        ("NVRM: Xid (PCI:0000:41:00 GPU-I:05): 94, pid=99, Contained: SM", (94, "0000:41:00", 99, "Contained: SM")),
        ("NVRM: Xid (PCI:0000:b9:00): 94", (94, "0000:b9:00", None, "")),
    ],
)
def test_xid(text: str, expected: tuple[int, str, int | None, str]) -> None:
    assert kernel.xid(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-nvswitch3: SXid (PCI:0000:87:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "NVRM: GPU at PCI:0000:03:00: GPU-00000000-0000-0000-0000-000000000000",
        "NVRM: Xid (PCI:0000:66:00): abc, pid=2280",
        "INFO watching for Xid errors",
    ],
)
def test_lines_that_are_no_xid(text: str) -> None:
    assert kernel.xid(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Memory cgroup out of memory: Killed process 815 (VLLM::EngineCor) total-vm:412345678kB, anon-rss:128123456kB, file-rss:1234kB",
            OomKill(815, "VLLM::EngineCor", "cgroup", 128123456),
        ),
        ("[8123.1] Out of memory: Killed process 4417 (python3) total-vm:9kB, anon-rss:7kB, file-rss:0kB", OomKill(4417, "python3", "host", 7)),
        ("Out of memory: Kill process 4417 (python) score 912 or sacrifice child", OomKill(4417, "python", "host")),
        ("Out of memory (oom_kill_allocating_task): Killed process 12 (a (b)), UID 0", OomKill(12, "a (b)", "host")),
        ("Killed process 4417 (python) total-vm:9kB, anon-rss:7kB, file-rss:0kB", OomKill(4417, "python", "", 7)),
        (
            ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=4f.scope,mems_allowed=0-1,oom_memcg=/pod1,task_memcg=/pod1/4f,"
            "task=VLLM::Worker_TP,pid=816,uid=0"),
            OomKill(816, "VLLM::Worker_TP", "cgroup"),
        ),
        ("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,task=python3,pid=5,uid=0", OomKill(5, "python3", "host")),
        ("Warning SystemOOM node/gpu1 System OOM encountered, victim process: VLLM::EngineCor, pid: 4711", OomKill(4711, "VLLM::EngineCor", "host")),
        ("python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0", None),
        ("oom_reaper: reaped process 815 (python3), now anon-rss:0kB", None),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", None),
    ],
)
def test_oom_kill(text: str, expected: OomKill | None) -> None:
    assert kernel.oom_kill(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Nov 12 03:10:00 gpu1 kernel: python3[4417]: segfault at 18 ip 00007f2a41200018 sp 00007ffd1a2b3c40 error 4 in libc.so.6[7f2a+9a]",
            Segfault(4417, "python3", "segfault", "18", "libc.so.6"),
        ),
        ("[8123.118833] python3[4417]: segfault at 0 ip 00000000000000 sp 00007ffd1a2b3c4 error 14", Segfault(4417, "python3", "segfault", "0", "")),
        (
            "traps: VLLM::EngineCor[814] general protection fault ip:7f2a41200018 sp:7ffd1a2b3c40 error:0 in libc.so.6[7f2a41000000+195000]",
            Segfault(814, "VLLM::EngineCor", "general protection fault", "", "libc.so.6"),
        ),
        (
            "traps: pt_main_thread[9] trap invalid opcode ip:7f2a sp:7ffd error:0 in libfoo.so[7f+1]",
            Segfault(9, "pt_main_thread", "trap invalid opcode", "", "libfoo.so"),
        ),
        ("!!!!!!! Segfault encountered !!!!!!!", None),
        ("Segmentation fault (core dumped)", None),
    ],
)
def test_segfault(text: str, expected: Segfault | None) -> None:
    assert kernel.segfault(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("systemd[1]: vllm.service: Main process exited, code=killed, status=9/KILL", UnitExit("vllm.service", "killed", 9, "KILL")),
        ("vllm@0.service: Main process exited, code=exited, status=1/FAILURE", UnitExit("vllm@0.service", "exited", 1, "FAILURE")),
        ("systemd[1]: vllm.service: Failed with result 'oom-kill'.", None),
    ],
)
def test_unit_exit(text: str, expected: UnitExit | None) -> None:
    assert kernel.unit_exit(text) == expected


class TestCatalogue:
    def test_has_the_numbers_that_matter(self) -> None:
        wanted = "8 13 31 32 38 43 44 45 46 48 56 57 58 61 62 63 64 65 66 68 69 74 79 92 94 95 109 110 119 120 121 122 123 124 137 140 143 149 154"
        assert {int(number) for number in wanted.split()} <= BY_NUMBER.keys()
        assert len(BY_NUMBER) == len(XIDS.xids)

    @pytest.mark.parametrize("number", [46, 48, 62, 64, 74, 79, 94, 95, 109, 119, 120, 140, 143, 149])
    def test_hardware(self, number: int) -> None:
        assert (BY_NUMBER[number].role, BY_NUMBER[number].fault_class) == ("root", "gpu-hardware")

    @pytest.mark.parametrize("number", [13, 31])
    def test_application_faults(self, number: int) -> None:
        assert (BY_NUMBER[number].role, BY_NUMBER[number].fault_class) == ("root", "illegal-memory-access")

    @pytest.mark.parametrize("number", [43, 45, 154])
    def test_what_follows_a_fault(self, number: int) -> None:
        assert BY_NUMBER[number].role == "consequence"

    @pytest.mark.parametrize("number", [8, 32, 63, 92, 121, 122])
    def test_what_ends_nothing(self, number: int) -> None:
        assert BY_NUMBER[number].role == "context"

    def test_only_roots_and_hints_have_a_class(self) -> None:
        assert all(entry.fault_class for entry in XIDS.xids if entry.role == "root")
        assert all(entry.fault_class in ("", "gpu-hardware") for entry in XIDS.xids if entry.role != "root")


def enriched(text: str) -> Event:
    found = Event(kind="signature", rule="gpu/xid", role="root", fault="some-class", place=Place("kern.log", "kern.log", 0, 1), text=text)
    return kernel.enriched(found, BY_NUMBER)


def test_an_unknown_number_is_context() -> None:
    event = enriched("NVRM: Xid (PCI:0000:41:00): 777, pid=1, something new")
    assert (event.rule, event.role, event.fault) == ("gpu/xid", "context", "")


def test_the_catalogue_judges_an_xid_whatever_rule_found_it() -> None:
    event = enriched("NVRM: Xid (PCI:0000:03:00): 79, pid=77, name=python3, GPU has fallen off the bus.")
    assert (event.role, event.fault, event.pid, event.process) == ("root", "gpu-hardware", 77, "python3")
    assert (event.data["xid"], event.data["pci"]) == ("79", "0000:03:00")
    assert enriched("NVRM: Xid (PCI:0000:03:00): 63, pid=1, Row Remapper: New row marked for remapping").role == "context"


def test_a_cleanup_that_names_its_cause_is_judged_by_that() -> None:
    event = enriched("NVRM: Xid (PCI:0000:dc:00): 45, pid=77, name=python3, Ch 00000001 caused by previous Xid 149")
    assert (event.role, event.fault, event.data["xid"]) == ("root", "gpu-hardware", "45")
    assert enriched("NVRM: Xid (PCI:0000:dc:00): 45, pid=77, name=python3, Ch 00000001").role == "consequence"


def test_what_the_driver_calls_non_fatal_is_no_root() -> None:
    assert enriched("NVRM: Xid (PCI:0000:18:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08").role == "root"
    assert enriched("NVRM: Xid (PCI:0000:19:00): 149, NETIR_LINK_EVT Nonfatal XC0 i0 Link 08").role == "context"


def test_a_killed_process_is_named_and_other_lines_stay_as_they_are() -> None:
    event = enriched("Out of memory: Killed process 4417 (python3) total-vm:9kB, anon-rss:7kB")
    assert (event.pid, event.process, event.data["limit"], event.data["rss"], event.role) == (4417, "python3", "host", "7", "root")
    other = "usb 1-1: new high-speed USB device"
    assert enriched(other).data == {}


@given(st.text(max_size=300))
def test_any_text_is_read_without_raising(text: str) -> None:
    assert enriched(text).text == text


KERNEL_LOGS = {
    "dmesg": "[    3.689724] nvidia-nvlink: Nvlink Core is being initialized\n[ 7616.483934] NVRM: Xid (PCI:0000:03:00): 45, pid=1, Ch 1\n",
    "dmesg with levels": "<6>[    3.689724] usb 1-1: new high-speed USB device\n",
    "dmesg -T": "[Thu Nov 12 03:10:00 2026] NVRM: Xid (PCI:0000:03:00): 45, pid=1, Ch 1\n[Thu Nov 12 03:10:01 2026] pcieport 0000:40:01.1: AER: x\n",
    "dmesg -H": "[  +0.000844] nvidia 0000:03:00.0: AER: can't recover (no error_detected callback)\n",
    "dmesg -x": "kern  :warn  : 2026-11-12T03:10:00,285060+00:00 VFS: file-max limit 1000000 reached\n",
    "kmsg": "6,3964,206764307,-;nvidia-nvswitch2: open (major=510)\n",
    "Talos": (
        "10.0.0.7: kern: warning: [2026-11-12T03:10:00.51643656Z]: NVRM: Xid (PCI:0000:0b:00): 154, x\n"
        "10.0.0.7: kern: info: [2026-11-12T03:10:01Z]: y\n"
    ),
    "pasted with an indent": "     Nov 12 03:10:00 kernel: nvidia 0000:05:00.0: Enabling HDA controller\n     Nov 12 03:10:00 kernel: z\n",
    "syslog in another language": "nov. 12 03:10:00 gpu1 kernel: x\n11月 12 03:10:00 gpu1 kernel: y\n",
    "syslog": "Nov 12 03:10:00 gpu1 kernel: [ 7616.483934] NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n",
    "short-iso": "2026-11-12T03:10:00+0000 gpu1 kernel: python3[1]: segfault at 18 ip 0 sp 0 error 4\n",
    "without envelope": "NVRM: Xid (PCI:0000:03:00): 79, x\nOut of memory: Killed process 1 (python3) total-vm:1kB\nsystemd[1]: Reloading.\n",
}
OTHER_LOGS = {
    "nothing": "",
    "vllm": "INFO 11-12 03:10:00 [fused_moe.py:12] Using kernel: triton\nINFO 11-12 03:10:00 [core.py:94] Initializing a V1 LLM engine\n",
    "sglang": "[2026-11-12 03:10:00 TP0] Decode batch. #running-req: 1\n",
    "c10d": "[rank0]:[E1112 03:10:00.123456789 ProcessGroupNCCL.cpp:685] Watchdog caught collective operation timeout\n",
    "probes": "[Thu Nov 12 03:10:00 2026] OK\n[Thu Nov 12 03:11:00 2026] 000 7\n2026-11-12T03:10:00Z 200 0\n",
    "an engine log with one kernel line": "INFO 11-12 03:10:00 [core.py:94] up\n" * 5 + "[ 7616.483934] NVRM: Xid (PCI:0000:03:00): 79, x\n",
    "traceback": 'Traceback (most recent call last):\n  File "/app/kernel.py", line 1\nRuntimeError: CUDA error\n',
}


@pytest.mark.parametrize("name", KERNEL_LOGS)
def test_kernel_logs_are_known(name: str) -> None:
    assert kernel.looks_like_kernel_log(KERNEL_LOGS[name].splitlines())


@pytest.mark.parametrize("name", OTHER_LOGS)
def test_other_logs_are_not_taken_for_a_kernel_s(name: str) -> None:
    assert not kernel.looks_like_kernel_log(OTHER_LOGS[name].splitlines())


words = st.sampled_from(
    ["NVRM: Xid (PCI:", "0000:03:00", "): ", "79", ", pid=", "<unknown>", "Killed process ", "1", " (", ")", "[", "]: segfault at ", " ", "9" * 30]
)


@given(st.integers(0, 9999), st.integers(0, 2**31), st.text(alphabet="abcXYZ0189 :.()", max_size=40))
def test_xid_reads_back_what_the_driver_writes(number: int, pid: int, detail: str) -> None:
    found = kernel.xid(f"NVRM: Xid (PCI:0000:c1:00): {number}, pid={pid}, name=python3, {detail}")
    assert found == (number, "0000:c1:00", pid, detail.strip())


def test_meanings_are_our_own_words_and_end_with_a_stop() -> None:
    assert all(isinstance(entry, Xid) and entry.meaning.endswith(".") for entry in XIDS.xids)


@given(st.from_regex(re.compile(kernel._STAMPED.pattern)))
def test_what_looks_stamped_is_tried(text: str) -> None:
    assert kernel._STAMPED.match(text) is None or kernel._may_be_stamped(text)
