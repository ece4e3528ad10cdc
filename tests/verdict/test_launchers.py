"""What short logs of training jobs, launchers, schedulers and the kernel come out as, with the rules that are shipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.pipeline import classify

STEP = "{'loss': 1.2841, 'grad_norm': 0.81, 'epoch': 0.62}\n"
FAILED = """Traceback (most recent call last):
  File "/opt/job/train.py", line 90, in <module>
    main()
  File "/opt/job/train.py", line 41, in main
    step(batch)
"""
IGNORED = """Exception ignored in atexit callback: <function write_table at 0x7f97>
Traceback (most recent call last):
  File "/opt/venv/lib/python3.11/site-packages/deepspeed/ops/table.py", line 105, in put
    os.replace(self.path + ".tmp", self.path)
FileNotFoundError: [Errno 2] No such file or directory: '/root/.triton/table.tmp'
"""
SLURM = "slurmstepd-node7: error: *** JOB 811 ON node7 CANCELLED AT 2026-02-26T12:33:38"
XID = "NVRM: Xid (PCI:0000:41:00): "
LOGS = {
    # who ended it
    "a job cancelled after two lines": (f"Error: remote port forwarding failed\n{SLURM} ***\n", "external-stop", "CANCELLED"),
    "a time limit after a progress bar": (f" 22%|██▏  | 11/50 [1:57:05<6:54:42]{SLURM} DUE TO TIME LIMIT ***\n", "external-stop", "TIME LIMIT"),
    "a job ended by a signal, in slurmd's form": (
        "[2026-02-25T13:04:00.979] error: *** JOB 9 ON node0284 CANCELLED AT 2026-02-25T13:04:00 DUE to SIGNAL Terminated ***\n",
        "external-stop",
        "SIGNAL Terminated",
    ),
    "a handler speaks before the scheduler": (
        f"{STEP}Main process received SIGTERM, exiting\n{SLURM} DUE TO TIME LIMIT ***\n",
        "external-stop",
        "TIME LIMIT",
    ),
    "a node that went away": (
        (f"{STEP}srun: error: Node failure on node49\nsrun: Job step aborted: Waiting up to 62 seconds for job step to finish.\n"
        "slurmstepd: error: *** STEP 19.0 ON node17 CANCELLED AT 2026-03-06T03:17:51 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"),
        "worker-lost",
        "Node failure on node49",
    ),
    "SGLang that drains": (
        ("[2026-08-02 00:17:43] SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n"
        "[2026-08-02 00:17:43] Subprocess detokenizer (pid=313) crashed with exit code -15. Triggering SIGQUIT for cleanup...\n"
        "[2026-08-02 00:17:43] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n"),
        "external-stop",
        "SIGTERM received",
    ),
    # memory of the host
    "a job over its limit": (
        f"slurmstepd: error: Job 84 exceeded memory limit (10442128 > 10240000), being killed\n{SLURM} ***\n",
        "host-oom",
        "exceeded memory limit",
    ),
    "an oom-killer whose victim is cut off": (
        ("[ 3449.257924] python3 invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0\n"
        "[ 3449.257933] CPU: 0 PID: 405 Comm: python3 Not tainted 5.13.0 #1\n[ 3449.257938] Call Trace:\n"),
        "host-oom",
        "invoked oom-killer",
    ),
    "an oom-killer with its victim": (
        "[ 3449.257924] python3 invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0\n"
        + "".join(f"[ 3449.2580{n}] [    {n}]     0    {n}    4012     400    81920        0             0 task{n}\n" for n in range(10, 60))
        + "[ 3449.258099] Out of memory: Killed process 815 (python3) total-vm:98765432kB, anon-rss:63123456kB\n",
        "host-oom",
        "Killed process 815",
    ),
    # a process that is gone
    "DeepSpeed after SIGKILL": (
        ("[2026-04-14 13:11:27,879] [INFO] [launch.py:428:sigkill_handler] Killing subprocess 13266\n"
        "[2026-04-14 13:11:27,885] [ERROR] [launch.py:434:sigkill_handler] ['/usr/bin/python3', '-u', 'main.py'] exits with return code = -9\n"),
        "worker-lost",
        "return code = -9",
    ),
    "DeepSpeed after SIGSEGV": (
        "[2026-04-14 13:11:27,885] [ERROR] [launch.py:434:sigkill_handler] ['/usr/bin/python3', '-u', 'main.py'] exits with return code = -11\n",
        "native-crash",
        "return code = -11",
    ),
    "zsh": (f"{STEP}[1]    83815 segmentation fault  python train.py --batch_size 64\n", "native-crash", "segmentation fault"),
    "docker's own record": ('  "State": {\n    "Status": "exited",\n    "OOMKilled": false,\n    "ExitCode": 137,\n', "worker-lost", "137"),
    # an exception, and what only looks like one
    "a notebook that found no GPU": (
        (f"{FAILED}papermill.exceptions.PapermillExecutionError: \n---\n"
        f"{FAILED}NotImplementedError: Trainer cannot find any torch accelerator? You need a GPU.\n"),
        "start-refused",
        "You need a GPU",
    ),
    "an out-of-memory raised again for a replica": (
        (f"{FAILED}torch.OutOfMemoryError: Caught OutOfMemoryError in replica 0 on device 0.\nOriginal Traceback (most recent call last):\n"
        '  File "/opt/job/net.py", line 9, in forward\n    return self.head(x)\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB.\n"),
        "device-oom",
        "OutOfMemoryError",
    ),
    "a collective that another rank gave up": (
        (f"{FAILED}RuntimeError: NCCL communicator was aborted on rank 0.  Original reason for failure was: "
        "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=35582, OpType=ALLREDUCE, Timeout(ms)=1800000) "
        "ran for 1800366 milliseconds before timing out.\n"),
        "collective-hang",
        "Original reason",
    ),
    # the kernel
    "a segfault told twice, without a clock": (
        "kern  :warn  : 2026-01-21T04:41:44,285060+00:00 pt_main_thread[25]: segfault at 7f ip 7f7c sp 7f7d error 4 in libnccl.so.2[7f7c+d3d3]\n" * 2,
        "native-crash",
        "segfault",
    ),
    "a cleanup that names a hardware fault": (f"kernel: {XID}45, pid=18, Ch 00000001 caused by previous Xid 149\n" * 3, "gpu-hardware", "Xid 149"),
    "a context that could not be left after an application's fault": (
        (f"[ 7386.259769] {XID}13, pid=4417, name=python3, Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0): Out Of Range Address\n"
        f"[ 7391.118833] {XID}109, pid=4417, name=python3, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x4c003\n"),
        "illegal-memory-access",
        ": 13, pid",
    ),
    "a context that could not be left": (
        f"[ 7391.118833] {XID}109, pid=4417, name=python3, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x4c003\n",
        "gpu-hardware",
        ": 109, pid",
    ),
    # a cluster
    "a coordinator that went away, in Ray's own words": (
        ("(raylet, ip=10.0.0.9) [2026-02-25 13:04:14,805 C 157 212] (raylet) gcs_rpc_client.h:537:  Check failed: "
        "reconnected Failed to connect to GCS within 60 seconds\n"),
        "dependency-lost",
        "GCS",
    ),
    "a rank that nobody lets connect": (
        ("node7:525:535 [0] NCCL INFO Call to connect returned Connection refused, retrying\n"
        "node7:525:535 [0] include/socket.h:390 NCCL WARN Connect to 10.0.0.9<21724> failed : Connection refused\n"),
        "collective-error",
        "failed : Connection refused",
    ),
    "a driver and a library of two versions": (
        ("[ 7386.259769] NVRM: API mismatch: the client has the version 550.90.12, but\n"
        "               NVRM: this kernel module has the version 550.90.07.  Please\n"),
        "start-refused",
        "API mismatch",
    ),
}  # fmt: skip
QUIET = {
    "an exception that was ignored at the end": STEP + IGNORED,
    "two of them in one another": STEP
    + IGNORED.replace("Traceback (most", f"{IGNORED.split(chr(10), maxsplit=1)[0]}\nFileNotFoundError: Traceback (most"),
    "corrected errors of the bus": (
        "Sep 19 16:18:02 node7 kernel: [68183.61] pcieport 0000:00:03.1: AER: Correctable error message received from 0000:00:00.0\n"
        "Sep 19 16:18:02 node7 kernel: [68183.62] pcieport 0000:00:03.1: PCIe Bus Error: severity=Correctable, type=Data Link Layer\n"
    ),
    "a port of NCCL's own that was taken": "node7:525:535 [0] ras/client_support.cc:160 NCCL WARN Call to bind failed: Address already in use\n",
    "a machine without nvcc": "Failed to get device capability: nvcc not found and PyTorch is not built with CUDA support.\n",
}


@pytest.mark.parametrize("name", LOGS)
def test_a_log_and_the_line_that_is_cited(tmp_path: Path, name: str) -> None:
    text, fault, root = LOGS[name]
    log = tmp_path / "job.out"
    log.write_text(text, encoding="utf-8")
    (verdict,) = classify([str(log)]).verdicts
    assert verdict.fault_class == fault
    assert verdict.root is not None
    assert root in verdict.root.text


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_told_of_a_log_in_which_nothing_failed(tmp_path: Path, name: str) -> None:
    log = tmp_path / "job.out"
    log.write_text(QUIET[name], encoding="utf-8")
    assert classify([str(log)], kind="engine").verdicts == ()


LAUNCHERS = {
    "a wrapper": f"{FAILED}subprocess.CalledProcessError: Command '['/opt/bin/python', '-u', 'train.py']' returned non-zero exit status 1.\n",
    "DeepSpeed": "[2026-04-14 13:11:27,885] [ERROR] [launch.py:434:sigkill_handler] ['/usr/bin/python3', 'main.py'] exits with return code = 1\n",
    "Lightning": "[rank: 1] Child process with PID 4417 terminated with code 1. Forcefully terminating all other processes to avoid zombies\n",
    "Open MPI": "mpirun has exited due to process rank 0 with PID 0 on node node7 exiting improperly. There are three reasons this could occur:\n",
    "Horovod": "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by an exception on one of the ranks\n",
    "Slurm": "slurmstepd: error: *** STEP 811.0 ON node7 FAILED (non-zero exit code or other failure mode) ***\n",
}


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_log_that_tells_only_of_its_launcher_is_not_explained(tmp_path: Path, name: str) -> None:
    log = tmp_path / "job.out"
    log.write_text(f"{STEP}{LAUNCHERS[name]}", encoding="utf-8")
    (verdict,) = classify([str(log)]).verdicts
    assert (verdict.fault_class, verdict.root) == ("unclassified", None)
