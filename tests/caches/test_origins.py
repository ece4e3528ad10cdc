"""Which boot built a cache: by its log, by the times of its files, and not at all where neither decides."""

from __future__ import annotations

from pathlib import Path

from tests.caches.night import BEGAN, HASH, lay, log, sparse, text
from triage.caches.discover import discover
from triage.caches.origins import origins
from triage.caches.records import Origin
from triage.knowledge.load import load
from triage.pipeline import classify

KNOWN = load()


def told(folder: Path, *logs: Path) -> dict[str, Origin]:
    """The origin of each cache below `folder`, by its path from there."""
    caches = discover([str(folder)], KNOWN.caches.kinds).caches
    found = origins(caches, classify(list(logs), knowledge=KNOWN).boots if logs else (), KNOWN.caches.kinds)
    return {str(Path(path).relative_to(folder.resolve())): origin for path, origin in found.items()}


def compiled(home: Path, at: float) -> Path:
    return sparse(home / f"torch_compile_cache/{HASH}/rank_0_0/backbone/a.so", 10, at)


def test_each_cache_of_the_night_has_its_own_boot(tmp_path: Path) -> None:
    logs = sorted(lay(tmp_path).glob("b*/vllm.log"))
    boots = {log.parent.name: classify(log, knowledge=KNOWN).boots[0].id for log in logs}
    found = told(tmp_path, *logs)
    assert len(found) == 63
    assert {path: origin.built for path, origin in found.items()} == {path: (boots[path.split("/")[0]],) for path in found}
    assert {origin.by for path, origin in found.items() if HASH in path} == {"log and time"}
    assert {origin.by for path, origin in found.items() if HASH not in path} == {"time"}


def test_a_log_that_names_the_folder_needs_no_times(tmp_path: Path) -> None:
    folder = compiled(tmp_path, at=1.0).parent
    file = text(tmp_path / "vllm.log", log(BEGAN, path=str(folder.resolve())), BEGAN + 1500)
    (origin,) = told(tmp_path, file).values()
    assert (len(origin.built), origin.by) == (1, "log")
    assert [line.split("] ")[1][:20] for _, line in origin.lines] == ["Using cache director", "Cache the graph of s"]


def test_the_path_of_a_container_is_told_by_its_end(tmp_path: Path) -> None:
    compiled(tmp_path, at=1.0)
    (origin,) = told(tmp_path, text(tmp_path / "vllm.log", log(BEGAN), BEGAN + 1500)).values()
    assert (len(origin.built), origin.by) == (1, "log")


def test_a_later_boot_that_loads_it_is_a_reader(tmp_path: Path) -> None:
    compiled(tmp_path, at=BEGAN + 95)
    later = log(BEGAN + 7200).replace("Cache the graph of shape None for later use", "Directly load the compiled graph for shape None from the cache")
    (origin,) = told(tmp_path, text(tmp_path / "vllm.log", log(BEGAN) + later, BEGAN + 9000)).values()
    assert (len(origin.built), len(origin.read), origin.by) == (1, 1, "log")
    assert origin.built != origin.read


def test_several_folders_of_one_hash_and_no_fitting_time_are_of_nobody(tmp_path: Path) -> None:
    compiled(tmp_path / "one", at=1.0)
    compiled(tmp_path / "two", at=2.0)
    found = told(tmp_path, text(tmp_path / "vllm.log", log(BEGAN), BEGAN + 1500))
    assert [(origin.built, origin.by) for origin in found.values()] == [((), ""), ((), "")]


def test_boots_that_lived_at_the_same_time_are_all_named(tmp_path: Path) -> None:
    text(tmp_path / "deep_gemm/cache/kernel.a.0123abcd/kernel.cu", "", BEGAN + 100)
    one, other = (text(tmp_path / name, log(BEGAN + later), BEGAN + 1600) for name, later in (("one.log", 0), ("other.log", 30)))
    (origin,) = told(tmp_path, one, other).values()
    assert (len(origin.built), origin.by) == (2, "time")


def test_without_logs_nothing_is_said(tmp_path: Path) -> None:
    compiled(tmp_path, at=BEGAN)
    assert list(told(tmp_path).values()) == [Origin()]
