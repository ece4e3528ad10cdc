"""What the history keeps is what teaches: labels of people, verdicts with a root, and the lines that were there."""

from __future__ import annotations

from pathlib import Path

from tests.learn.made_examples import KINDS
from tests.lives import Life, log
from triage.history.labels import relabel
from triage.history.query import entries
from triage.history.store import open_store
from triage.knowledge.load import load
from triage.learn.examples import example
from triage.learn.labelled import from_store, meant, unlabelled
from triage.model import Verdict
from triage.pipeline import gather, judged
from triage.recording import record
from triage.rejudging import rejudge

OWN = KINDS["device-oom"][0].format(5, 6)
CUBLAS = "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(handle)`"


def two_lives(folder: Path) -> str:
    """One that dies of what no rule knows, and one that dies in cuBLAS."""
    own = Life(3).serves(2).worker(1, "ERROR", "pool.py:144", OWN).dies()
    return log(folder, own, Life(9).serves(2).raises(2, CUBLAS).dies())


def test_the_history_teaches_what_the_log_itself_would(tmp_path: Path) -> None:
    known, path = load(), two_lives(tmp_path)
    evidence = gather([path], known)
    seen = {v.incident.id: example(v, "").lines for v in judged(evidence, known, lines_of_all=True).verdicts}
    with open_store(tmp_path / "history.db", write=True) as store:
        record(store, evidence, known)
        kept = {e.id: example(e.verdict, "").lines for e in entries(store.db)}
        assert kept == seen
        assert any("page table walker gave up" in lines[0] for lines in kept.values())
        rejudge(store, known)
        record(store, gather([path], known), known)
        assert {e.id: example(e.verdict, "").lines for e in entries(store.db)} == seen


def test_verdicts_with_a_root_and_labels_of_people_teach_and_nothing_else(tmp_path: Path) -> None:
    known = load()
    with open_store(tmp_path / "history.db", write=True) as store:
        record(store, gather([two_lives(tmp_path)], known), known)
        assert [(e.label, e.person) for e in from_store(store).examples] == [("cublas-fault", False)]
        (open_one,) = unlabelled(store)
        with store.transaction() as db:
            relabel(db, open_one, fault_class="device-oom", family="memory", fault=True, reason="seen", at=1.0)
        assert [(e.label, e.judged, e.person) for e in from_store(store).examples] == [
            ("device-oom", "unclassified", True), ("cublas-fault", "cublas-fault", False),
        ]  # fmt: skip
        assert not unlabelled(store)


def test_a_label_of_a_whole_log_means_the_only_incident_or_the_one_that_has_it(tmp_path: Path) -> None:
    verdicts = judged(gather([two_lives(tmp_path)], load()), load()).verdicts
    assert [v.fault_class for v in verdicts] == ["unclassified", "cublas-fault"]

    def chosen(listed: list[Verdict], label: str) -> str | None:
        found = meant(listed, label)
        return found.fault_class if found else None

    assert chosen(list(verdicts[:1]), "device-oom") == "unclassified"
    assert chosen(list(verdicts), "cublas-fault") == "cublas-fault"
    assert chosen(list(verdicts), "device-oom") is None
    assert chosen([], "device-oom") is None
