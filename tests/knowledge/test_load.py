"""Rule files are checked on load, kept compiled, and extended or overridden by a folder of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from triage.cli.main import main
from triage.knowledge.load import RuleError, is_whole, load, load_folder

OWN_CLASS = """
class = "coffee-spill"
family = "hardware"
title = "Coffee in the chassis"
meaning = "A cup was poured over the board."
decides = "The board says so."

[[signature]]
id = "coffee-spill/board"
role = "root"
fatal = true
summary = "The board reports coffee."
pattern = '''BOARD: coffee at (?P<degrees>\\d+) C'''
samples = ["BOARD: coffee at 61 C"]
near_misses = ["BOARD: tea at 61 C"]
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_CACHE", str(tmp_path / "cache"))


def rules(tmp_path: Path, text: str, name: str = "faults/coffee-spill.toml") -> Path:
    file = tmp_path / "own" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return tmp_path / "own"


def test_our_own_rules_load_and_know_every_class_they_name() -> None:
    known = load()
    assert {"vllm", "sglang"} <= set(known.engines)
    named = {e for c in known.classes.values() for s in c.signatures for e in s.explains if "/" not in e and e != "*"}
    assert named <= set(known.classes)


def test_a_second_load_is_the_same_and_comes_from_the_cache(tmp_path: Path) -> None:
    first = load()
    assert list((tmp_path / "cache").glob("rules-*.msgpack"))
    assert load() == first


def test_a_folder_of_ones_own_adds_a_class(tmp_path: Path) -> None:
    known = load([rules(tmp_path, OWN_CLASS)])
    assert known.classes["coffee-spill"].signatures[0].fatal
    assert known.version != load().version


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (OWN_CLASS.replace('role = "root"', 'role = "boss"'), "role"),
        (OWN_CLASS.replace('summary = "The board reports coffee."', ""), "summary"),
        (OWN_CLASS.replace("fatal = true", "deadly = true"), "deadly"),
        ("class = ", "coffee-spill.toml"),
    ],
)
def test_a_mistake_names_the_file_and_the_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(RuleError, match=told) as error:
        load([rules(tmp_path, text)])
    assert "coffee-spill.toml" in str(error.value)


def test_two_rules_with_one_id_are_refused(tmp_path: Path) -> None:
    twice = OWN_CLASS.replace('class = "coffee-spill"', 'class = "tea-spill"')
    folder = rules(tmp_path, OWN_CLASS)
    rules(tmp_path, twice, "faults/tea-spill.toml")
    with pytest.raises(RuleError, match="coffee-spill/board"):
        load([folder])


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no such folder"):
        load([tmp_path / "nowhere"])


def test_a_folder_in_which_no_rule_is_read_is_refused_also_when_ours_are_kept_compiled(tmp_path: Path) -> None:
    load()
    for folder in (tmp_path / "empty", tmp_path / "misplaced"):
        folder.mkdir()
    (tmp_path / "misplaced" / "fan.toml").write_text(OWN_CLASS)
    for folder in (tmp_path / "empty", tmp_path / "misplaced"):
        with pytest.raises(RuleError, match="no rules in it"):
            load([folder])


def test_a_whole_set_of_rules_stands_instead_of_ours(tmp_path: Path) -> None:
    folder = rules(tmp_path, OWN_CLASS)
    rules(tmp_path, "", "forks.toml")
    assert (is_whole(folder), list(load_folder(folder).classes)) == (True, ["coffee-spill"])


def test_some_rules_are_added_to_ours(tmp_path: Path) -> None:
    folder = rules(tmp_path, OWN_CLASS)
    assert not is_whole(folder)
    assert {"coffee-spill", "cublas-fault"} <= set(load_folder(folder).classes)


def test_what_is_overridden_keeps_its_place_and_what_is_moved_leaves_it(tmp_path: Path) -> None:
    ours = load()
    first, second = (signature.id for signature in ours.classes["device-assert"].signatures[:2])
    own = OWN_CLASS.replace("coffee-spill/board", first).replace('class = "coffee-spill"', 'class = "device-assert"')
    own += OWN_CLASS[OWN_CLASS.index("[[signature]]") :].replace("coffee-spill/board", "launch-failure/any")
    known = load([rules(tmp_path, own, "faults/device-assert.toml")])
    ids = [signature.id for signature in known.classes["device-assert"].signatures]
    assert ids[:2] == [first, second]
    assert ids[-1] == "launch-failure/any"
    assert known.classes["device-assert"].signatures[0].summary == "The board reports coffee."
    assert "launch-failure/any" not in {signature.id for signature in known.classes["launch-failure"].signatures}
    assert len(known.classes["launch-failure"].signatures) == len(ours.classes["launch-failure"].signatures) - 1


def test_timeouts_of_ones_own_go_before_ours_and_the_others_stay(tmp_path: Path) -> None:
    engine = load([rules(tmp_path, "engine = 'vllm'\n[defaults]\nnccl_timeout = 1200\n", "boot/vllm.toml")]).engines["vllm"]
    assert (engine.defaults["nccl_timeout"], engine.defaults["execute_model_timeout"]) == (1200, 300)
    assert engine.lines == load().engines["vllm"].lines


def test_a_regex_of_ones_own_that_is_none_is_refused_with_its_rule(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="coffee-spill/board: `pattern` is no regex"):
        load([rules(tmp_path, OWN_CLASS.replace("BOARD: coffee", "BOARD: (coffee"))])


def test_a_flipped_bit_anywhere_in_the_compiled_copy_changes_no_rule(tmp_path: Path) -> None:
    first = load()
    (kept,) = (tmp_path / "cache").glob("rules-*.msgpack")
    sound = kept.read_bytes()
    for place in range(0, len(sound), len(sound) // 12):
        kept.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        assert load() == first
        assert kept.read_bytes() == sound


@pytest.mark.parametrize("state", ["damaged", "unwritable"])
def test_whatever_the_cache_is_like_the_answer_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    command = ["classify", str(Path(__file__).parents[2] / "fixtures/new-year/logs"), "--format", "json"]
    first = CliRunner().invoke(main, command)
    kept = list((tmp_path / "cache").iterdir())
    assert {file.name.split("-")[0] for file in kept} == {"rules", "scan"}
    if state == "unwritable":
        monkeypatch.setenv("TRIAGE_CACHE", str(kept[0] / "below a file"))
    for file in kept if state != "unwritable" else ():
        content = file.read_bytes()
        file.unlink()
        file.write_bytes(content[: len(content) // 2]) if file.suffix == ".hsdb" else file.mkdir()
    again = CliRunner().invoke(main, command)
    assert (again.exit_code, again.stdout, again.stderr) == (first.exit_code, first.stdout, "")
    assert first.exit_code == 0
