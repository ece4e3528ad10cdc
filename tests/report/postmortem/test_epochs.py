"""Epochs: boots in a row with the same settings, and what changed, with no secret in it."""

from __future__ import annotations

from tests.report.postmortem.made import START, say
from triage.model import Boot, Instant
from triage.report.postmortem.epochs import epochs
from triage.report.postmortem.parts import Epoch


def boot(number: int, config: dict[str, str], *, version: str = "0.27", source: str = "vllm.log") -> Boot:
    return Boot(id=f"b{number}", source=source, engine="vllm", version=version, start=Instant.sharp(START + number * 3600), config=config)


def of(*boots: Boot) -> list[Epoch]:
    return epochs(boots, (), START + 86400, say())


def test_the_same_settings_are_one_epoch() -> None:
    (only,) = of(boot(0, {"tp": "8"}), boot(1, {"tp": "8"}), boot(2, {"tp": "8"}))
    assert (only.boots, only.changes, only.end) == (3, (), START + 86400)


def test_a_change_begins_an_epoch_and_is_named_with_both_values() -> None:
    first, second = of(boot(0, {"gpu_memory_utilization": "0.95"}), boot(1, {"gpu_memory_utilization": "0.94"}))
    assert first.end == second.start
    assert second.changes == ("gpu_memory_utilization: 0.95 → 0.94",)


def test_going_back_is_a_change_again() -> None:
    assert [epoch.changes for epoch in of(boot(0, {"x": "1"}), boot(1, {"x": "2"}), boot(2, {"x": "1"}))] == [(), ("x: 1 → 2",), ("x: 2 → 1",)]


def test_what_stands_within_one_long_setting_is_compared_piece_by_piece() -> None:
    old, new = "{'tp': 8, 'max_num_seqs': 64}", "{'tp': 8, 'max_num_seqs': 32, 'enforce_eager': True}"
    assert of(boot(0, {"args": old}), boot(1, {"args": new}))[1].changes == ("max_num_seqs: 64 → 32", "enforce_eager: not set → True")


def test_another_version_is_a_change() -> None:
    assert of(boot(0, {"x": "1"}), boot(1, {"x": "1"}, version="0.31"))[1].changes == ("engine version: 0.27 → 0.31",)


def test_a_boot_without_its_banner_says_nothing_of_its_settings() -> None:
    first, blind, third = of(boot(0, {"x": "1"}), boot(1, {}), boot(2, {"x": "1"}))
    assert (first.observed, blind.observed, third.observed) == (True, False, True)
    assert blind.changes == third.changes == ()


def test_engines_have_epochs_of_their_own() -> None:
    assert len(of(boot(0, {"x": "1"}), boot(1, {"x": "2"}, source="other.log"), boot(2, {"x": "1"}))) == 2


def test_no_secret_stands_in_a_change() -> None:
    old = {"vault_token": "hunter2", "args": "{'api_key': 'sk-aaaaaaaaaaaaaaaaaaaa'}"}
    new = {"vault_token": "hunter3", "args": "{'api_key': 'sk-bbbbbbbbbbbbbbbbbbbb'}"}
    told = " ".join(of(boot(0, old), boot(1, new))[1].changes)
    assert "vault_token" in told
    assert not [word for word in ("hunter", "sk-a", "sk-b") if word in told]


def test_a_great_many_changes_are_counted() -> None:
    changes = of(boot(0, {f"k{n}": "1" for n in range(40)}), boot(1, {f"k{n}": "2" for n in range(40)}))[1].changes
    assert changes[-1] == "and 28 more"
    assert len(changes) == 13
