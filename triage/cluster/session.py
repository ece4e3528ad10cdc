"""A Ray cluster for the time of one command: the one at an address, or one of this machine alone."""

from __future__ import annotations

import contextlib
import io
import os
import socket
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from triage.cluster import tasks
from triage.cluster.tasks import versions as own_versions
from triage.knowledge.load import Knowledge
from triage.knowledge.table import RuleTable
from triage.model import Kind, Problem, Seconds
from triage.parsers.options import Options
from triage.parsers.reading import Reading, read_source
from triage.parsers.sending import unpacked
from triage.parsers.sorting import sort_files
from triage.pipeline import Part, read_dumps
from triage.sources.find import Source, find
from triage.sources.paths import is_pipe, path_of
from triage.sources.urls import NODE, is_url, scheme_of, told_addresses, without_secrets

EXTRA = "--backend ray needs Ray: pip install 'crash-triage[ray]'"
PATIENCE: Seconds = 5.0  # for a connection to the cluster
GREETING: Seconds = 60.0  # for a worker to start on each machine and say which versions it has
RETRIES = 4  # of a task whose worker was lost
SMALL_STORE = 128 << 20  # bytes of shared memory of our own cluster: what comes back is small
PORT = 6379  # Ray's own, where an address names none


class ClusterError(Exception):
    """No cluster can be used, and why, in one line."""


class Cluster:
    """Where sources are read. `address`: as `ray start` tells it, `auto`, or None for a cluster of our own. Raises ClusterError."""

    def __init__(self, address: str | None, known: Knowledge) -> None:
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        self._known = known
        self._table = RuleTable(known)

    def __enter__(self) -> Self:
        self._ray = _library()
        _check_reachable(self._address)
        with contextlib.ExitStack() as stack:
            for silence in (contextlib.redirect_stdout, contextlib.redirect_stderr):  # a thread of Ray's prints a word for each worker that is lost
                stack.enter_context(silence(io.StringIO()))
            stack.callback(self._ray.shutdown)
            _start(self._ray, self._address)
            self._nodes = {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}
            self._greet()
            self._rules = self._ray.put((own_versions()["code"] + self._known.version, self._known))
            self._end = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end.close()

    def part(self, paths: Sequence[str], kind: Kind | None, options: Options) -> Part:
        """What is at these paths: addresses are read by any machine, `node://HOST/PATH` by that one, all other paths by this one."""
        here = [path for path in paths if scheme_of(path) != NODE]
        found, problems = find(here, kind=kind) if here else ([], [])
        sources, dump_files, skipped = sort_files(found, here, kind)
        waiting = [self._reading(source, what, options, None, {}) for source, what in sources]
        dumps, lost = read_dumps(dump_files, options)
        problems += [*skipped, *lost]
        for host, inside in _by_host(paths).items():
            more, their_dumps = self._on_machine(host, inside, kind, options, problems)
            waiting += more
            dumps += their_dumps
        readings = [each for pending in waiting if (each := self._result(*pending, problems)) is not None]
        return Part(readings, dumps, problems)

    def _on_machine(
        self, host: str, paths: Sequence[str], kind: Kind | None, options: Options, problems: list[Problem]
    ) -> tuple[list[tuple[Source, Any]], list[Any]]:
        """Sources of one machine on their way, and its dumps; what is wrong goes to `problems`."""
        node = self._node(host)
        if node is None:
            hosts = ", ".join(sorted(str(each["NodeManagerHostname"]) for each in self._nodes.values()))
            problems += [Problem(f"{NODE}://{host}{path}", f"the cluster has no machine of that name (it has {hosts})") for path in paths]
            return [], []
        surveyed = self._get(self._submit(tasks.survey, node, host, list(paths), kind))
        if isinstance(surveyed, str):
            problems += [Problem(f"{NODE}://{host}{path}", surveyed) for path in paths]
            return [], []
        problems += surveyed.problems
        addresses = tasks.paths_on(host, [*surveyed.dumps, *(file for source, _ in surveyed.sources for file in source.files)])
        waiting = [self._reading(source, what, options, node, addresses) for source, what in surveyed.sources]
        dumps = self._get(self._submit(tasks.dumps, node, surveyed.dumps, options, addresses)) if surveyed.dumps else ([], [])
        if isinstance(dumps, str):
            problems += [Problem(file, dumps) for file in surveyed.dumps]
            return waiting, []
        problems += dumps[1]
        return waiting, dumps[0]

    def _reading(self, source: Source, kind: Kind, options: Options, node: str | None, addresses: dict[str, str]) -> tuple[Source, Any]:
        """A source on its way; one that only this process can read is read at once."""
        is_remote = all(is_url(path_of(file)) for file in source.files) or node is not None
        here = None if is_remote else self._here()
        if not is_remote and (here is None or any(map(is_pipe, source.files))):
            return source, read_source(source, kind, self._table, options)
        told = told_addresses(list(source.files)) | {name: addresses[name] for name in source.files if name in addresses}
        return source, self._submit(tasks.read, node or here, source, kind, self._rules, options, told)

    def _result(self, source: Source, pending: Any, problems: list[Problem]) -> Reading | None:
        if isinstance(pending, Reading):
            return pending
        got = self._get(pending)
        if isinstance(got, str):
            problems.append(Problem(source.name, got))
            return None
        read = unpacked(got, self._table)[0]
        return read if isinstance(read, Reading) else None

    def _submit(self, task: Any, node: str | None, *arguments: Any) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        strategy = "SPREAD" if node is None else NodeAffinitySchedulingStrategy(node, soft=False)
        run = self._ray.remote(max_retries=RETRIES, num_cpus=1, scheduling_strategy=strategy)(task)
        return run.options(name=f"triage {task.__name__}").remote(*arguments)

    def _get(self, pending: Any) -> Any:
        """What a task gives, or in words why it gives nothing."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(pending)
        except (errors.TaskUnschedulableError, errors.NodeDiedError):
            return "the machine that it lies on was lost"
        except (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.LocalRayletDiedError):
            return f"the worker that read it was lost, {RETRIES + 1} times in a row"
        except errors.ObjectLostError:
            return "what was read of it was lost with the machine that read it"

    def _here(self) -> str | None:
        """The machine of the cluster that this process runs on; None where it only talks to the cluster."""
        if self._ray.util.client.ray.is_connected():
            return None
        own: str = self._ray.get_runtime_context().get_node_id()
        return own

    def _node(self, host: str) -> str | None:
        names = ("NodeManagerHostname", "NodeManagerAddress", "NodeName")
        return next((id_ for id_, node in self._nodes.items() if host in map(node.get, names)), None)

    def _greet(self) -> None:
        """Ask every machine for its versions. Raises ClusterError where one has others, or does not answer."""
        own = own_versions()
        asked = {self._submit(tasks.versions, id_): node["NodeManagerHostname"] for id_, node in self._nodes.items()}
        done, silent = self._ray.wait(list(asked), num_returns=len(asked), timeout=GREETING)
        if silent:
            raise ClusterError(f"{asked[silent[0]]} gave no worker within {GREETING:.0f} s: are all CPUs of the cluster taken?")
        for answer in done:
            theirs = self._greeting(answer, asked[answer])
            if theirs != own:
                what = next(key for key in ("python", "triage", "code") if theirs.get(key) != own[key])
                raise ClusterError(f"{asked[answer]} has {what} {theirs.get(what)}, and here is {own[what]}: install the same on all machines")

    def _greeting(self, answer: Any, host: str) -> dict[str, str]:
        try:
            said: dict[str, str] = self._ray.get(answer)
        except Exception as error:
            if "ModuleNotFoundError" in f"{error!r} {error}":
                raise ClusterError(f"{host} has no triage: install the same version on all machines") from error
            raise ClusterError(f"{host} gave no worker: {type(error).__name__}") from error
        return said


def _by_host(paths: Sequence[str]) -> dict[str, list[str]]:
    """The paths of `node://HOST/PATH`, by host."""
    found: dict[str, list[str]] = {}
    for path in paths:
        if scheme_of(path) == NODE:
            host, slash, rest = path.partition("://")[2].partition("/")
            found.setdefault(host, []).append(slash + rest)
    return found


def _library() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.exceptions
        import ray.util
    except ImportError as error:
        raise ClusterError(EXTRA) from error
    return ray


def _start(ray: Any, address: str | None) -> None:
    """Connect to the cluster, or make one. Raises ClusterError."""
    quiet = {"log_to_driver": False, "configure_logging": False, "logging_level": "ERROR"}
    own = {"include_dashboard": False, "num_cpus": os.cpu_count(), "object_store_memory": SMALL_STORE}
    try:
        ray.init(address=address or "local", **quiet, **({} if address and address != "local" else own))
    except Exception as error:
        text = " ".join(str(error).split())
        why = "it runs other versions: " if "ersion mismatch" in text else ""
        raise ClusterError(f"the Ray cluster at {shown_address(address)} cannot be used: {why}{without_secrets(text)[:300]}") from error


def _check_reachable(address: str | None) -> None:
    """Ray itself waits for minutes. Raises ClusterError where nobody listens at `HOST:PORT` or `ray://HOST:PORT`."""
    if address in (None, "local", "auto"):
        return
    host, _, port = str(address).rpartition("://")[2].partition(":")
    try:
        socket.create_connection((host, int(port or PORT)), PATIENCE).close()
    except ValueError as error:
        raise ClusterError(f"{shown_address(address)} is no address of a Ray cluster: HOST:PORT, ray://HOST:PORT or auto") from error
    except OSError as error:
        raise ClusterError(f"no Ray cluster answers at {shown_address(address)}: {error.strerror or error}") from error


def shown_address(address: str | None) -> str:
    """An address without the name and password in it."""
    return without_secrets(address or "this machine")
