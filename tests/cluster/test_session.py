"""Sources read by a Ray cluster: the same answer, also when workers die, and one clear line where there is no cluster to be used."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.sources.remote.servers import Web, web_server
from triage.cli.main import main
from triage.cluster import Cluster, ClusterError, tasks
from triage.knowledge.load import load

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("default")

FIXTURES = Path(__file__).parents[2] / "fixtures"
LOGS = FIXTURES / "outage-weeks" / "logs"


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster of two machines, `head` and `gpu-7`, which are both this one."""
    from ray.cluster_utils import Cluster as Machines

    machines = Machines(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False, "node_name": "head"})
    machines.add_node(num_cpus=1, node_name="gpu-7")
    machines.wait_for_nodes()
    yield machines.address
    machines.shutdown()


def triage(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(main, arguments, prog_name="triage")


def same(one: Result, other: Result) -> bool:
    return (one.exit_code, one.stdout, one.stderr) == (other.exit_code, other.stdout, other.stderr)


@pytest.mark.parametrize("form", ["json", "table"])
def test_the_answer_is_byte_for_byte_that_of_one_process(cluster: str, form: str) -> None:
    scenarios = [str(path / "logs") for path in sorted(FIXTURES.iterdir()) if (path / "logs").is_dir()]
    assert len(scenarios) > 10
    wanted = ["classify", *scenarios, "--format", form]
    assert same(triage(*wanted, "--backend", "ray", "--ray-address", cluster), triage(*wanted))


def test_a_worker_killed_in_the_middle_changes_nothing(cluster: str) -> None:
    with web_server() as web:
        web.files |= {f"/{path.name}": path.read_bytes() for path in (LOGS / "vllm.log", LOGS / "probe.log.1", LOGS / "kernel.log")}
        web.gate = threading.Event()
        urls = [f"{web.url}{path}" for path in web.files]
        killed: list[int] = []
        killer = threading.Thread(target=lambda: killed.extend(_kill_readers(web)))
        killer.start()
        through_ray = triage("classify", *urls, "--format", "json", "--backend", "ray", "--ray-address", cluster)
        killer.join()
        here = triage("classify", *urls, "--format", "json")
    assert killed
    assert len([asked for path, asked in web.asked if path == "/vllm.log" and asked == "bytes=65536-"]) >= 3  # killed, again, and here
    assert same(through_ray, here)


def _kill_readers(web: Web) -> list[int]:
    """Kill the workers of this process's cluster that read, once one of them waits in the middle of a file; then let all go on."""
    try:
        assert web.waiting.wait(120)
        pids = [pid for pid in _children(os.getpid()) if b"triage read" in _command(pid)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return pids
    finally:
        assert web.gate is not None
        web.gate.set()


def _children(parent: int) -> list[int]:
    """The processes below one, by /proc."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int(re.sub(r".*\)", "", (entry / "stat").read_text(errors="replace"), flags=re.DOTALL).split()[1])
            except OSError:
                continue

    def is_below(pid: int) -> bool:
        return pid in parents and (parents[pid] == parent or is_below(parents[pid]))

    return [pid for pid in parents if is_below(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_path_on_a_machine_is_read_there_and_named_after_it(cluster: str) -> None:
    done = triage("classify", f"node://gpu-7{LOGS}", "--backend", "ray", "--ray-address", cluster, "--format", "json")
    here = triage("classify", str(LOGS), "--format", "json")
    assert done.exit_code == here.exit_code == 0
    assert f"node://gpu-7{LOGS}/vllm.log" in done.stdout
    counts = [re.findall(r'"class":\s*"[a-z-]+",\s*"family":\s*"[a-z-]+",\s*"count":\s*\d+', each.stdout) for each in (done, here)]
    assert counts[0] == counts[1] != []
    assert re.findall(r'"line":\s*\d+', done.stdout) == re.findall(r'"line":\s*\d+', here.stdout)


def test_a_machine_that_the_cluster_has_not_is_named_with_those_it_has(cluster: str) -> None:
    done = triage("classify", "node://gpu-9/var/log", str(LOGS), "--backend", "ray", "--ray-address", cluster)
    assert done.exit_code == 3
    assert done.stderr.startswith("triage: node://gpu-9/var/log: the cluster has no machine of that name (it has ")
    assert "collective-hang" in done.stdout


def test_a_path_that_is_not_there_is_told_by_its_machine(cluster: str) -> None:
    done = triage("classify", "node://gpu-7/no/such", "--backend", "ray", "--ray-address", cluster)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "node://gpu-7/no/such: no such file or folder" in done.stderr


def test_a_machine_with_other_code_is_refused_in_one_line(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tasks.versions()
    monkeypatch.setattr("triage.cluster.session.own_versions", lambda: own | {"code": "0123456789ab"})
    done = triage("classify", str(LOGS), "--backend", "ray", "--ray-address", cluster)
    assert (done.exit_code, done.stdout) == (2, "")
    assert re.fullmatch(rf"triage: \S+ has code {own['code']}, and here is 0123456789ab: install the same on all machines\n", done.stderr)


def test_a_cluster_that_nobody_answers_for_is_refused_in_one_line() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        done = triage("classify", str(LOGS), "--backend", "ray", "--ray-address", address)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"triage: no Ray cluster answers at {address}: Connection refused\n"


@pytest.mark.parametrize("address", ["gpu-1:six", "ray://gpu-1:six"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(ClusterError, match="is no address of a Ray cluster"):
        Cluster(address, load()).__enter__()


def test_without_the_extra_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = triage("classify", str(LOGS), "--backend", "ray")
    assert (done.exit_code, done.stderr) == (2, "triage: --backend ray needs Ray: pip install 'crash-triage[ray]'\n")


def test_an_address_alone_is_a_mistake() -> None:
    done = triage("classify", str(LOGS), "--ray-address", "auto")
    assert done.exit_code == 2
    assert "--ray-address goes with --backend ray" in done.stderr
