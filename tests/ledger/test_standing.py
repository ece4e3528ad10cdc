"""Where a mitigation stands: the machine, state by state, and what may never happen in it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ledgers import day, death, evidence, life, lives, mitigation, reducing, stand
from triage.ledger.book import Word
from triage.ledger.entry import Baseline, Falsifier
from triage.ledger.standing import STATUSES, standings

BEFORE = lives(*range(18))  # seventeen days, one boot a day, each ended by a death
FAULTS = [death(n + 0.999, boot=f"0@{n}") for n in range(17)]
CLAIMED = mitigation(17, ("claimed", 17))


def since(*edges: float, value: str | None = "0", **given: Any) -> list[Any]:
    return [*BEFORE, *lives(*edges, value=value, **given)]


def days(seconds: float) -> float:
    return seconds / 86400


def test_what_nobody_applied_is_proposed() -> None:
    found = stand(mitigation(17), since(17, 20, value="1"), FAULTS, 20)
    assert (found.status, found.progress and found.progress.clean) == ("proposed", 0.0)


def test_what_is_said_to_be_applied_is_claimed_until_a_boot_comes() -> None:
    assert stand(mitigation(17.5, ("claimed", 17.5)), since(17, 20, value="1"), FAULTS, 20).status == "claimed"


def test_without_it_in_any_boot_since_it_is_void_and_no_day_counts() -> None:
    found = stand(CLAIMED, since(17, 18, 23, value="1"), FAULTS, 23)
    assert (found.status, found.progress and found.progress.clean) == ("void", 0.0)
    assert found.reason == "the change never took effect: 2 boots since, the last of them 0@18, and none carries it"
    assert dict(found.accrual.left_out) == {"in boots without the change": 6 * 86400}


def test_a_quiet_time_shorter_than_needed_is_unverified() -> None:
    found = stand(CLAIMED, since(17, 20), FAULTS, 20)
    now = found.progress
    assert found.status == "unverified"
    assert now is not None
    assert now.needed is not None
    assert now.earliest is not None
    assert (days(now.clean), now.intervals) == (3.0, 3.0)
    assert days(now.needed) == pytest.approx(3.28, abs=0.01)
    assert (now.earliest - day(20)) == pytest.approx(now.needed - now.clean)


def test_long_enough_it_is_supported_and_a_recurrence_refutes_it_still() -> None:
    assert stand(CLAIMED, since(17, 21), FAULTS, 21).status == "supported"
    found = stand(CLAIMED, since(17, 29, 30), [*FAULTS, death(29, boot="0@17")], 30)
    assert (found.status, found.refuted_by and found.refuted_by.id) == ("refuted", "d29")
    assert found.progress is not None
    assert days(found.progress.clean) == 12.0


def test_the_first_recurrence_is_named() -> None:
    found = stand(CLAIMED, since(17, 18, 19, 20), [*FAULTS, death(18, boot="0@17"), death(19, boot="0@18")], 20)
    assert (found.status, found.refuted_by and found.refuted_by.id, len(found.recurrences)) == ("refuted", "d18", 2)


@pytest.mark.parametrize(
    "other",
    [
        {"of": "collective-hang"}, {"of": "external-stop"}, {"phase": "boot"}, {"boot": "elsewhere", "engine": 7},
    ],
)  # fmt: skip
def test_other_classes_stops_and_failed_starts_do_not_refute(other: dict[str, Any]) -> None:
    given = {"boot": "0@17", **other}
    found = stand(CLAIMED, since(17, 18, 19), [*FAULTS, death(18, given.pop("of", "cublas-fault"), **given)], 19)
    assert (found.status, found.recurrences) == ("unverified", ())


def test_any_death_refutes_where_that_is_the_falsifier_and_a_stop_only_literally() -> None:
    hang, stop = death(18, "collective-hang", boot="0@17"), death(18.5, "external-stop", boot="0@18")
    any_death = mitigation(17, ("claimed", 17), falsifier=Falsifier(kind="death"))
    literal = mitigation(17, ("claimed", 17), falsifier=Falsifier(kind="literal"))
    boots = since(17, 18, 18.5, 19)
    assert stand(any_death, boots, [*FAULTS, hang], 19).status == "refuted"
    assert stand(any_death, boots, [*FAULTS, stop], 19).status == "unverified"
    assert stand(literal, boots, [*FAULTS, stop], 19).status == "refuted"


def test_a_falsifier_by_text_looks_at_the_lines() -> None:
    told = mitigation(17, ("claimed", 17), falsifier=Falsifier(kind="text", text="cublas_status"))
    found = death(18, "unclassified", boot="0@17", texts=("RuntimeError: CUBLAS_STATUS_INTERNAL_ERROR",))
    assert stand(told, since(17, 18, 19), [*FAULTS, found], 19).status == "refuted"
    assert stand(told, since(17, 18, 19), [*FAULTS, death(18, boot="0@17", texts=("else",))], 19).status == "unverified"


def test_before_its_instant_and_on_other_hosts_a_falsifier_says_nothing() -> None:
    told = mitigation(17, ("claimed", 17), falsifier=Falsifier(classes=("cublas-fault",), after=day(19), hosts=("gpu-a",)))
    boots = since(17, 18, 20)
    assert stand(told, boots, [*FAULTS, death(18, boot="0@17", host="gpu-a")], 20).status == "unverified"
    assert stand(told, boots, [*FAULTS, death(19.5, boot="0@18", host="gpu-b")], 20).status == "unverified"
    assert stand(told, boots, [*FAULTS, death(19.5, boot="0@18", host="gpu-a")], 20).status == "refuted"


def test_a_log_that_names_no_host_may_be_that_of_any_and_another_host_is_none() -> None:
    here = mitigation(17, ("claimed", 17), hosts=("gpu-a",))
    assert stand(here, since(17, 21), FAULTS, 21).status == "supported"
    elsewhere = [*lives(*range(18), host="gpu-b"), life(17, 21, "0", host="gpu-b")]
    assert stand(here, elsewhere, FAULTS, 21).status == "claimed"


def test_a_recurrence_in_a_boot_without_the_change_does_not_refute() -> None:
    boots = [*BEFORE, life(17, 18, "0"), life(18, 19, "1"), life(19, 20, "0")]
    found = stand(CLAIMED, boots, [*FAULTS, death(19, boot="0@18")], 20)
    assert (found.status, found.recurrences) == ("unverified", ())
    assert dict(found.accrual.left_out) == {"in boots without the change": 86400.0}


def test_a_last_boot_without_the_change_pauses_it() -> None:
    found = stand(CLAIMED, [*BEFORE, life(17, 18, "0"), life(18, 19, "1")], FAULTS, 19)
    assert (found.status, found.reason) == ("paused", "boot 0@18 does not carry it")


def test_days_before_it_was_registered_do_not_count() -> None:
    found = stand(mitigation(23, ("claimed", 23)), since(17, 24), FAULTS, 24)
    assert found.progress is not None
    assert (found.status, days(found.progress.clean)) == ("unverified", 1.0)
    assert dict(found.accrual.left_out) == {"before it was registered (post hoc)": 6 * 86400}


def test_gaps_idle_time_and_pauses_are_subtracted_once() -> None:
    told = mitigation(17, ("claimed", 17), ("paused", 18), ("resumed", 19))
    found = standings([told], evidence(since(17, 22), FAULTS, 22, gaps=((day(18.5), day(19.5)),)))[0]
    assert found.progress is not None
    assert days(found.progress.clean) == 3.5
    assert dict(found.accrual.left_out) == {"paused": 86400.0, "not seen by any log or probe": 43200.0}


def test_somebody_says_it_is_paused() -> None:
    assert stand(mitigation(17, ("claimed", 17), ("paused", 18)), since(17, 22), FAULTS, 22).status == "paused"


def test_another_change_from_the_first_boot_on_confounds_it() -> None:
    boots = [*lives(*range(18), nccl_version="2.27.7"), life(17, 23, "0", nccl_version="2.28.9")]
    found = stand(CLAIMED, boots, FAULTS, 23)
    assert (found.status, found.reason) == ("confounded", "nccl_version 2.27.7 -> 2.28.9")
    assert found.progress is not None
    assert found.progress.clean == 0.0


def test_another_change_later_stops_the_clock() -> None:
    boots = [*lives(*range(18), driver_version="580"), life(17, 19, "0", driver_version="580"), life(19, 30, "0", driver_version="590")]
    found = stand(CLAIMED, boots, FAULTS, 30)
    assert found.progress is not None
    assert (found.status, days(found.progress.clean)) == ("confounded", 2.0)
    assert found.accrual.confounded == (day(19), ("driver_version 580 -> 590",))


def test_a_word_about_another_change_stops_it_too() -> None:
    found = stand(mitigation(17, ("claimed", 17), ("confounded", 18)), since(17, 30), FAULTS, 30)
    assert found.progress is not None
    assert (found.status, days(found.progress.clean)) == ("confounded", 1.0)


def test_what_was_supported_before_something_else_changed_stays_so() -> None:
    assert stand(mitigation(17, ("claimed", 17), ("confounded", 25)), since(17, 30), FAULTS, 30).status == "supported"


def test_two_against_one_class_from_the_same_boot_share_their_evidence() -> None:
    other = mitigation(17, ("claimed", 17), name="n", changes=("VLLM_Z=1",))
    boots = [*BEFORE, life(17, 30, "0", VLLM_Z="1")]
    found = stand(CLAIMED, boots, FAULTS, 30, other)
    assert (found.status, found.jointly) == ("supported", ("n",))


def test_a_second_one_later_stops_the_clock_of_the_first() -> None:
    other = mitigation(19, ("claimed", 19), name="n", changes=("VLLM_Z=1",))
    boots = [*BEFORE, life(17, 19, "0"), life(19, 30, "0", VLLM_Z="1")]
    found = stand(CLAIMED, boots, FAULTS, 30, other)
    assert found.progress is not None
    assert days(found.progress.clean) == 2.0
    assert found.accrual.confounded == (day(19), ("n took effect",))


def test_withdrawal_opens_a_control_period() -> None:
    told = mitigation(17, ("claimed", 17), ("withdrawn", 19))
    found = stand(told, [*since(17, 19), *lives(19, 19.5, 23)], [*FAULTS, death(19.4, boot="0@19")], 23)
    assert (found.status, found.control and found.control.events) == ("withdrawn", 1)
    assert found.control is not None
    assert found.control.first_after is not None
    assert (days(found.control.seconds), days(found.control.first_after)) == pytest.approx((4.0, 0.4))


def test_a_withdrawal_dated_back_before_the_recurrence_does_not_undo_it() -> None:
    told = mitigation(17, ("claimed", 17), ("withdrawn", 17.5, 19.0))
    assert stand(told, since(17, 18, 20), [*FAULTS, death(18, boot="0@17")], 20).status == "refuted"


def test_what_no_boot_line_tells_runs_on_somebodys_word() -> None:
    hidden = [*lives(*range(18), value=None), life(17, 20, None)]
    found = stand(mitigation(17, ("claimed", 17.5)), hidden, FAULTS, 20)
    assert found.progress is not None
    assert (found.status, found.observable, days(found.progress.clean)) == ("unverified", False, 2.5)
    assert stand(mitigation(17), hidden, FAULTS, 20).status == "proposed"


def test_a_death_that_nobody_could_name_may_be_the_one() -> None:
    found = stand(CLAIMED, since(17, 20, 30), [*FAULTS, death(20, "unclassified", boot="0@17")], 30)
    assert (found.status, found.unnamed) == ("unverified", 1)


def test_what_was_in_place_before_the_first_crash_changes_nothing() -> None:
    boots = lives(*range(18), value="0")
    found = stand(mitigation(17), boots, FAULTS[1:], 18)
    assert (found.status, len(found.earlier)) == ("void", 16)
    assert "before the first such death" in found.reason


def test_without_a_rate_there_is_no_progress_and_one_may_be_stated() -> None:
    assert stand(CLAIMED, since(17, 30), [], 30).progress is None
    stated = mitigation(17, ("claimed", 17), baseline=Baseline(17, 17 * 86400.0))
    assert stand(stated, lives(17, 30, value="0"), [], 30).progress is not None


def test_a_rate_that_rests_on_one_event_needs_nineteen_intervals() -> None:
    stated = mitigation(17, ("claimed", 17), baseline=Baseline(1, 86400.0))
    assert stand(stated, since(17, 35), [], 35).status == "unverified"
    assert stand(stated, since(17, 37), [], 37).status == "supported"


def test_longer_than_it_was_quiet_by_itself_where_the_rate_does_not_explain_that() -> None:
    times = [0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1, 2.4, 2.7, 3.0, 9.0, 9.3, 9.6]
    boots = [*lives(0, *times, 10), life(10, 30, "0")]
    own = [death(at, boot=f"0@{edge:g}") for at, edge in zip(times, [0, *times], strict=False)]
    told = mitigation(10, ("claimed", 10))
    found = stand(told, boots, own, 15.9)
    assert found.before is not None
    assert days(found.before.bar) == pytest.approx(6.0)
    assert found.status == "unverified"
    assert stand(told, boots, own, 30).status == "supported"


def test_a_quiet_time_across_an_upgrade_is_not_one_with_nothing_changed() -> None:
    boots = [*lives(0, 4, nccl_version="2.27"), *lives(4, 9, 10, nccl_version="2.28"), life(10, 12, "0", nccl_version="2.28")]
    found = stand(mitigation(10, ("claimed", 10)), boots, [death(8.9, boot="0@4")], 12)
    assert found.before is not None
    assert found.before.quiet is not None
    assert days(found.before.quiet.seconds) == pytest.approx(4.9)


def test_reduces_is_supported_refuted_or_open_by_both_e_values() -> None:
    told = mitigation(17, ("claimed", 17), **reducing(0.1))
    assert stand(told, since(17, 20, 22), [*FAULTS, death(20, boot="0@17")], 22).status == "unverified"
    assert stand(told, since(17, 20, 30), [*FAULTS, death(20, boot="0@17")], 30).status == "supported"
    again = [death(17 + n + 0.99, boot=f"0@{17 + n}") for n in range(3)]
    found = stand(told, since(17, 18, 19, 20), [*FAULTS, *again], 20)
    assert (found.status, found.refuted_by and found.refuted_by.id) == ("refuted", "d19.99")


def test_one_engine_of_ten_is_held_against_the_rate_of_one() -> None:
    """Ten engines die once a day between them; a change on one of them that stays quiet for four days says next to nothing."""
    boots = [one for n in range(10) for one in lives(0, n + 0.5, 17 if n == 0 else 21, engine=n)] + [life(17, 21, "0", engine=0)]
    own = [death(n + 0.5, boot=f"{n}@0", engine=n) for n in range(10)]
    found = stand(mitigation(17, ("claimed", 17)), boots, own, 21)
    assert found.progress is not None
    assert (found.status, days(found.progress.clean)) == ("unverified", 4.0)
    assert found.progress.intervals == pytest.approx(4 * 10 / 170)


def test_a_death_on_an_engine_without_the_change_does_not_refute_it() -> None:
    boots = [*lives(0, 17, engine=0), life(17, 21, "0", engine=0), *lives(0, 18, 21, engine=1)]
    assert stand(CLAIMED, boots, [death(18, boot="1@0", engine=1)], 21).recurrences == ()


def test_a_refutation_that_was_written_down_outlives_its_log() -> None:
    gone = Word(said="refuted", since=day(18), written=day(18), incident="abc")
    told = msgspec.structs.replace(CLAIMED, words=(*CLAIMED.words, gone))
    assert stand(told, since(20, 30), FAULTS, 30).status == "refuted"
    assert stand(told, since(20, 30), FAULTS, 30, dismissed=frozenset({"abc"})).status != "refuted"


@given(st.lists(st.floats(0.01, 60), max_size=6), st.floats(1, 60))
def test_supported_never_with_a_recurrence_and_never_early(gaps: list[float], until: float) -> None:
    times = [t for t in (17 + sum(gaps[: n + 1]) for n in range(len(gaps))) if t < 17 + until]
    boots = since(17, *times, 17 + until)
    own = [death(at, boot=f"0@{edge:g}") for at, edge in zip(times, [17.0, *times], strict=False)]
    found = stand(CLAIMED, boots, [*FAULTS, *own], 17 + until)
    assert found.status == ("refuted" if times else "supported" if until > 3.2759 else "unverified")


def test_no_status_ever_says_more_than_supported() -> None:
    assert {"fixed", "verified", "proven"}.isdisjoint(STATUSES)


UNTOLD = [life(0, 40, None, name="u")]
DIED = [*(death(at + 0.5, boot="u") for at in range(17)), death(20, boot="u")]


@pytest.mark.parametrize("again", [("claimed", 21), ("claimed", 18, 30)])
def test_saying_again_that_it_was_applied_takes_no_recurrence_back(again: Any) -> None:
    of = stand(mitigation(17, ("claimed", 17), again), UNTOLD, DIED, 30)
    assert (of.status, of.refuted_by and of.refuted_by.id) == ("refuted", "d20")


def test_what_no_boot_line_tells_counts_from_when_it_was_said_not_from_the_day_that_somebody_chose_afterwards() -> None:
    of = stand(mitigation(17, ("claimed", 21, 30)), UNTOLD, DIED, 30.5)
    assert of.status == "unverified"
    assert of.progress is not None
    assert of.progress.clean == pytest.approx(0.5 * 86400)
    assert dict(of.accrual.left_out)["before anybody said that it was applied (post hoc)"] == pytest.approx(9 * 86400)


def test_a_change_that_boot_lines_show_counts_whenever_it_is_said() -> None:
    of = stand(mitigation(17, ("claimed", 17, 19)), [*BEFORE, life(17, 20, "0")], FAULTS, 20)
    assert of.progress is not None
    assert of.progress.clean == pytest.approx(3 * 86400)


@pytest.mark.parametrize(
    "falsifier",
    [Falsifier(classes=("triton-fault",)), Falsifier(kind="text", text="zzz"), Falsifier(classes=("cublas-fault",), hosts=("gpu-b",))],
)
def test_its_own_fault_that_the_falsifier_leaves_out_keeps_it_from_being_supported(falsifier: Falsifier) -> None:
    again = death(19, boot="c", host="gpu-a")
    of = stand(mitigation(17, ("claimed", 17), falsifier=falsifier), [*BEFORE, life(17, 40, "0", name="c")], [*FAULTS, again], 40)
    assert (of.status, of.spared, of.others) == ("unverified", (again,), ())
    assert of.progress is not None
    assert of.progress.clean == pytest.approx(2 * 86400)
    assert of.progress.e_value == 0.0


def test_time_before_the_falsifiers_own_counts_neither_way() -> None:
    entry = mitigation(17, ("claimed", 17), falsifier=Falsifier(classes=("cublas-fault",), after=day(22)))
    of = stand(entry, [*BEFORE, life(17, 24, "0", name="c")], [*FAULTS, death(19, boot="c")], 24)
    assert (of.status, of.spared, of.others) == ("unverified", (), ())
    assert of.progress is not None
    assert of.progress.clean == pytest.approx(2 * 86400)


def test_the_control_begins_no_sooner_than_the_change() -> None:
    of = stand(mitigation(17, ("claimed", 17), ("withdrawn", 10, 20)), [*BEFORE, life(17, 20, "0"), life(20, 25, "1")], FAULTS, 25)
    assert of.control is not None
    assert (days(of.control.seconds), of.control.events) == (5.0, 0)


def test_evidence_that_begins_after_it_was_in_force_can_refute_and_not_support() -> None:
    boots, entry = [life(20, 40, "0", name="c")], mitigation(17, ("claimed", 17), baseline=Baseline(17, 17 * 86400.0))
    late = msgspec.structs.replace(evidence(boots, [], 40), start=day(20))
    (found,) = standings([entry], late)
    assert (found.status, found.late) == ("unverified", True)
    assert standings([entry], msgspec.structs.replace(late, start=day(17.02)))[0].status == "supported"
    again = msgspec.structs.replace(late, deaths=(death(30, boot="c"),))
    assert standings([entry], again)[0].status == "refuted"


def test_a_stated_rate_that_the_logs_speak_against_does_not_hold() -> None:
    entry = mitigation(17, ("claimed", 17), baseline=Baseline(40, 20 * 86400.0))
    boots = [life(0, 17, "1", name="b"), life(17, 30, "0")]
    for deaths, events in (([], None), ([death(5, boot="b")], 1)):
        found = stand(entry, boots, deaths, 30)
        assert (found.status, found.contradicted, found.before and found.before.events) == ("unverified", True, events)
    many = stand(entry, boots, [death(n + 0.5, boot="b") for n in range(17)] + [death(n + 0.7, boot="b") for n in range(10)], 30)
    assert (many.contradicted, many.before and many.before.stated) == (False, True)
