"""Unknown incidents with the same best line are one cluster; how lines are compared that are not quite the same can be chosen."""

from __future__ import annotations

import pytest

from tests.verdict.story import T0, outage
from triage.model import Event, Incident, Instant, Outage, Place, Verdict
from triage.verdict.unknown import Cluster, Likeness, clusters


def verdict(message: str = "", *, name: str = "unclassified", at: float = 0.0, failed: Outage | None = None, family: str = "-") -> Verdict:
    place = Place("vllm.log", "vllm.log", round(at))
    lines = (Event(kind="trouble", rule="trouble/words", place=place, text=message, data={"message": message}),) if message else ()
    incident = Incident(id=f"{message[:3]}{at}", engine="vllm", onset=Instant.sharp(T0 + at), outage=failed)
    return Verdict(incident=incident, fault_class=name, family=family, fault=True, best_lines=lines)  # type: ignore[arg-type]


def sizes(found: list[Cluster]) -> list[int]:
    return [len(cluster.members) for cluster in found]


def test_what_differs_in_volatile_parts_is_one_cluster_with_its_first_and_last_time() -> None:
    (found,) = clusters([verdict("slot 9 of 'kv' broke", at=50), verdict("slot 17 of 'a pool' broke", at=10)])
    assert found.mask == "slot <num> of '<str>' broke"
    assert found.first == Instant.sharp(T0 + 10)
    assert found.last == Instant.sharp(T0 + 50)
    assert found.example is not None


def test_the_biggest_cluster_comes_first_and_what_has_a_class_is_no_matter() -> None:
    given = [verdict("seat was taken back"), verdict("slot 1 broke"), verdict("slot 2 broke"), verdict("slot 3 broke", name="cublas-fault")]
    assert [cluster.mask for cluster in clusters(given)] == ["slot <num> broke", "seat was taken back"]
    assert sizes(clusters(given)) == [2, 1]


def test_a_cluster_has_one_name_whatever_else_was_read() -> None:
    (alone,) = clusters([verdict("slot 1 broke")])
    assert alone.id in {cluster.id for cluster in clusters([verdict("slot 2 broke"), verdict("seat was taken back")])}


@pytest.mark.parametrize(("likeness", "count"), [("exact", 2), ("words", 1)])
def test_masks_that_share_most_words_are_joined_unless_told_otherwise(likeness: Likeness, count: int) -> None:
    given = [verdict("the page table walker lost its root"), verdict("the page table walker has lost its root")]
    assert len(clusters(given, likeness)) == count


def test_masks_that_share_few_words_are_not_joined() -> None:
    assert len(clusters([verdict("the page table walker lost its root"), verdict("the licence server lost its seat")])) == 2


def test_incidents_without_a_line_are_told_apart_by_what_the_probes_saw() -> None:
    given = [verdict(failed=outage("rr", 0, None)), verdict(failed=outage("tt", 50, None)), verdict(failed=outage("rrr", 90, None)), verdict()]
    assert [cluster.mask for cluster in clusters(given)] == [
        "no line was found; refused at the first failed probe",
        "no line was found",
        "no line was found; a timeout at the first failed probe",
    ]


def test_a_cluster_is_of_the_family_that_most_of_it_is() -> None:
    (found,) = clusters([verdict("slot 1 broke", family="hang"), verdict("slot 2 broke", family="instant"), verdict("slot 3 broke", family="hang")])
    assert found.family == "hang"


def test_text_likeness_joins_words_that_are_spelt_nearly_alike() -> None:
    pytest.importorskip("sklearn")
    given = [verdict("the page-table walker lost its root"), verdict("the page-tables walker has lost its roots"), verdict("a licence is gone")]
    assert sizes(clusters(given, "text")) == [2, 1]
