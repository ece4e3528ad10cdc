"""`triage rules check`: each kind of mistake in a folder of rules is found, and told with its file, its line and its rule."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from triage.knowledge.claims import alternatives, are_apart
from triage.knowledge.flaws import Flaw
from triage.knowledge.lint import Checked, check
from triage.knowledge.load import builtin_rules
from triage.knowledge.schema import When

CLASS = """\
class = "coffee-spill"
family = "hardware"
title = "Coffee in the chassis"
meaning = "A cup was poured over the board."
decides = "The board says so."
not_to_be_confused_with = ["tea"]
next = ["Fetch a towel."]

[[signature]]
id = "coffee-spill/board"
role = "root"
fatal = true
summary = "the board reports coffee"
pattern = '''BOARD: coffee at (?P<degrees>\\d+) C'''
samples = ["BOARD: coffee at 61 C"]
near_misses = ["BOARD: tea at 61 C"]
"""
ENGINE = """\
engine = "kitchen"

[[line]]
id = "kitchen/milestone-load"
kind = "milestone"
pattern = "the kettle is filled"
summary = "The kettle is filled."
samples = ["the kettle is filled"]
near_misses = ["the kettle boils"]
"""
PATTERN = "'''BOARD: coffee at (?P<degrees>\\d+) C'''"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_CACHE", str(tmp_path / "cache"))


def folder(tmp_path: Path, **files: str) -> Path:
    """A small set of rules that stands by itself, with these files; `faults__coffee_spill` stands for faults/coffee-spill.toml."""
    own = few(tmp_path, **{"forks": "", "boot__kitchen": ENGINE} | files)
    shutil.copy(builtin_rules() / "user_text.toml", own)
    (own / "faults").mkdir(exist_ok=True)
    return own


def few(tmp_path: Path, **files: str) -> Path:
    """A folder of some rules that are an addition to ours."""
    for name, text in files.items():
        place = name.replace("__", "/") if name == "common_causes" else name.replace("__", "/").replace("_", "-")
        file = tmp_path / "own" / f"{place}{'.txt' if name == 'healthy' else '.toml'}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "own"


def flaws(tmp_path: Path, text: str = CLASS, **files: str) -> list[Flaw]:
    return list(check(folder(tmp_path, faults__coffee_spill=text, **files)).flaws)


def with_pattern(pattern: str, sample: str = "BOARD: coffee at 61 C", near_miss: str = "BOARD: tea at 61 C", more: str = "") -> str:
    text = CLASS.replace(PATTERN, f"'''{pattern}'''").replace('"BOARD: coffee at 61 C"', f"'''{sample}'''")
    return text.replace('"BOARD: tea at 61 C"', f"'''{near_miss}'''") + more


def test_a_sound_set_has_no_flaw(tmp_path: Path) -> None:
    checked = check(folder(tmp_path, faults__coffee_spill=CLASS))
    assert (checked.flaws, checked.overridden) == ((), ())
    assert (checked.classes, checked.rules, checked.samples, checked.near_misses) == (1, 2, 2, 2)


def test_an_addition_to_ours_is_checked_alone_but_among_ours(tmp_path: Path) -> None:
    taken = CLASS.replace("coffee-spill", "tea-spill").replace("BOARD: coffee", "CUDA error: device-side assert triggered")
    probe = "[[text]]\nid = 'no-route'\nsymbol = 'r'\npattern = 'no road'\nsamples = ['no road']\nnear_misses = ['a road']\n"
    checked = check(few(tmp_path, faults__coffee_spill=CLASS, faults__tea_spill=taken, probes=probe))
    assert (checked.classes, checked.rules) == (2, 3)
    assert checked.healthy >= 70
    assert checked.overridden == ("probe text no-route",)
    assert {(flaw.check, flaw.rule) for flaw in checked.flaws} == {("claim", "tea-spill/board")}
    assert "device-assert/text (device-assert) claims sample 1" in checked.flaws[0].what


MISTAKES = {
    "a sample that is not matched": (CLASS.replace('samples = ["BOARD: coffee', 'samples = ["BOARD: cocoa'), "sample", "sample 1 is not matched"),
    "no sample": (CLASS.replace('samples = ["BOARD: coffee at 61 C"]', "samples = []"), "sample", "has no sample"),
    "a near miss that is matched": (CLASS.replace("BOARD: tea at", "BOARD: coffee at"), "near miss", "near miss 1 is matched"),
    "no near miss": (CLASS.replace('near_misses = ["BOARD: tea at 61 C"]', "near_misses = []"), "near miss", "has no near miss"),
    "a group that no sample fills": (with_pattern(r"BOARD: coffee at (?P<degrees>\d+) C(?: in (?P<cup>\w+))?"), "capture", "`cup`"),
    "a scan pattern that misses a sample": (CLASS + "scan = '''BOARD: cocoa at \\d'''\n", "scan", "does not find sample 1"),
    "no regex": (with_pattern("BOARD: (coffee"), "pattern", "`pattern` is no regex"),
    "a frame that is no regex": (CLASS + "safety = 'x'\nwhen = { frame = '''(''' }\n", "pattern", "`when.frame` is no regex"),
    "what the scanner cannot look for": (with_pattern(r"BOARD: (?>coffee) at \d+ C"), "pattern", "the scanner cannot compile"),
    "explains nobody": (CLASS + 'explains = ["cofee-spill", "coffee-spill", "kitchen/milestone-load"]\n', "names", "'cofee-spill'"),
    "an unknown milestone": (CLASS + "safety = 'x'\nwhen = { before = 'lunch' }\n", "names", "'lunch'"),
    "a condition without words": (CLASS + "when = { phases = ['boot'] }\n", "words", "no `safety`"),
    "nothing to do next": (CLASS.replace('next = ["Fetch a towel."]', ""), "words", "`next` is empty"),
    "an id of another class": (CLASS.replace('"coffee-spill/board"', '"tea-spill/board"'), "name", "begin with coffee-spill/"),
    "a rule that is reported at every byte": (with_pattern(r"BOARD: coffee at (?P<degrees>\d+) C[^\n]+", sample="BOARD: coffee at 61 C, hot",
                                              more="scan = '''BOARD: coffee[^\\n]*'''\n"), "reports", "reports it more than"),
    "a rule that is reported at every blank": (CLASS + "scan = '''\\s|coffee'''\n", "reports", "reports it more than"),
    "a slow pattern": (with_pattern(r"(?P<who>\w+)\w+\w+ of BOARD: coffee at (?P<degrees>\d+) C", sample="[1] one of BOARD: coffee at 61 C"),
                       "slow", "anchor it"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_rule_and_its_line(tmp_path: Path, mistake: str) -> None:
    text, question, told = MISTAKES[mistake]
    found = flaws(tmp_path, text)
    (flaw,) = {flaw for flaw in found if flaw.check == question}
    assert told in flaw.what
    file, line = flaw.place.rsplit(":", 1)
    assert file.endswith("own/faults/coffee-spill.toml")
    assert line == ("1" if flaw.rule == "coffee-spill" else "10")


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (CLASS.replace('role = "root"', 'role = "boss"'), "9", "role"),
        (CLASS.replace('summary = "the board reports coffee"\n', ""), "9", "summary"),
        (CLASS.replace("fatal = true", "fatl = true"), "9", "fatl"),
        (CLASS.replace('title = "Coffee in the chassis"', "title = Coffee"), "3", "line 3"),
    ],
)
def test_a_file_that_does_not_fit_is_told_with_the_line_and_the_key(tmp_path: Path, text: str, line: str, told: str) -> None:
    (flaw,) = flaws(tmp_path, text)
    assert flaw.check == "schema"
    assert told in flaw.what
    assert flaw.place.endswith(f"coffee-spill.toml:{line}")


def test_every_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    found = flaws(tmp_path, CLASS.replace('role = "root"', ""), faults__tea_spill="class = ", echoes="[[signature]]\nid = 3")
    assert sorted(flaw.place.rpartition("/")[2].partition(":")[0] for flaw in found) == ["coffee-spill.toml", "echoes.toml", "tea-spill.toml"]


def test_a_file_at_a_place_that_is_never_read_is_told(tmp_path: Path) -> None:
    found = flaws(tmp_path, fault__coffee=CLASS)
    assert [(flaw.check, flaw.place.endswith("own/fault/coffee.toml")) for flaw in found] == [("file", True)]


@pytest.mark.parametrize("name", ["", " ", "Coffee-Spill", "coffee spill", "../coffee", "coffee_spill", "coffee|spill", "-"])
def test_a_class_with_an_odd_name_is_told(tmp_path: Path, name: str) -> None:
    found = flaws(tmp_path, CLASS.replace("coffee-spill", name))
    assert [flaw.check for flaw in found] == ["name"]
    assert f"not {name!r}" in found[0].what


@pytest.mark.parametrize("file", ["", "README.md"])
def test_a_folder_without_rules_is_told(tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_text("") if file else None
    (flaw,) = check(tmp_path).flaws
    assert (flaw.check, "holds no rules" in flaw.what) == ("file", True)


def test_an_id_that_is_there_twice_is_told(tmp_path: Path) -> None:
    other = CLASS.replace("coffee-spill", "tea-spill") + CLASS[CLASS.index("[[signature]]") :]
    assert ("id", "coffee-spill/board") in [(flaw.check, flaw.rule) for flaw in flaws(tmp_path, faults__tea_spill=other)]


def test_a_line_that_is_healthy_is_no_fault(tmp_path: Path) -> None:
    eager = with_pattern(r"(?i)\berrors=(?P<degrees>\d+)", sample="requests lost, errors=3", near_miss="errors: 3")
    found = flaws(tmp_path, eager, healthy="all sent, errors=0\n")
    assert [flaw.check for flaw in found] == ["healthy"]
    assert "healthy.txt:1" in found[0].what


def test_comments_in_healthy_txt_are_no_lines(tmp_path: Path) -> None:
    found = flaws(tmp_path, healthy="# a comment: BOARD: coffee at 20 C\n\nBOARD: coffee at 21 C, in the kitchen\n")
    assert [(flaw.check, "healthy.txt:3" in flaw.what) for flaw in found] == [("healthy", True)]


def test_more_healthy_lines_can_be_given(tmp_path: Path) -> None:
    own = folder(tmp_path, faults__coffee_spill=CLASS)
    assert [flaw.check for flaw in check(own, healthy=[("kitchen.log:7", "BOARD: coffee at 21 C")]).flaws] == ["healthy"]


def test_a_condition_keeps_a_root_from_being_blamed_for_a_healthy_line(tmp_path: Path) -> None:
    assert not flaws(tmp_path, CLASS + "safety = 'x'\nwhen = { phases = ['boot'] }\n", healthy="BOARD: coffee at 21 C, in the kitchen\n")


def test_the_words_of_a_user_are_no_evidence(tmp_path: Path) -> None:
    assert not flaws(tmp_path, healthy="INFO Received request cmpl-1: prompt: 'BOARD: coffee at 21 C'\n")


RIVAL = CLASS.replace("coffee-spill", "hot-drink").replace("BOARD: coffee at (?P", "BOARD: (?:coffee|cocoa) at (?P").replace(
    'samples = ["BOARD: coffee at 61 C"]', 'samples = ["BOARD: coffee at 61 C", "BOARD: cocoa at 61 C"]'
)


def both(tmp_path: Path, first: str = "", second: str = "") -> Checked:
    return check(folder(tmp_path, faults__coffee_spill=CLASS + first, faults__hot_drink=RIVAL + second))


def test_two_classes_that_claim_one_line_are_told_once(tmp_path: Path) -> None:
    found = both(tmp_path).flaws
    assert [(flaw.check, flaw.rule) for flaw in found] == [("claim", "coffee-spill/board")]
    assert "hot-drink/board (hot-drink) claims sample 1, too" in found[0].what


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("generic = true\n", ""),
        ("", "symptom = true\n"),
        ("safety = 'x'\nwhen = { phases = ['boot'] }\n", "safety = 'x'\nwhen = { phases = ['serving', 'capture'] }\n"),
        ("safety = 'x'\nwhen = { before = 'load' }\n", "safety = 'x'\nwhen = { after = 'load' }\n"),
        ("safety = 'x'\nwhen = { frame = 'mug' }\n", "safety = 'x'\nwhen = { no_frame = 'cup|mug' }\n"),
    ],
)
def test_what_decides_between_two_classes_is_seen(tmp_path: Path, first: str, second: str) -> None:
    assert both(tmp_path, first, second).flaws == ()


def test_conditions_that_can_hold_at_once_do_not_decide(tmp_path: Path) -> None:
    when = "safety = 'x'\nwhen = { phases = ['boot', 'serving'] }\n"
    assert [flaw.check for flaw in both(tmp_path, when, when.replace("'boot', ", "")).flaws] == ["claim"]


def test_a_root_whose_sample_an_echo_takes_is_told(tmp_path: Path) -> None:
    echo = CLASS[CLASS.index("[[signature]]") :].replace("coffee-spill/board", "echo/board").replace('"root"', '"context"')
    found = flaws(tmp_path, echoes=echo)
    assert [(flaw.check, flaw.rule) for flaw in found] == [("claim", "coffee-spill/board")]
    assert "echo/board (context) matches sample 1" in found[0].what


def test_a_probe_text_that_an_earlier_one_takes_is_told(tmp_path: Path) -> None:
    probes = "".join(
        f"[[text]]\nid = '{name}'\nsymbol = '{symbol}'\npattern = 'teapot'\nsamples = ['I am a teapot']\nnear_misses = ['I am a kettle']\n"
        for name, symbol in (("first", "r"), ("second", "t"))
    )
    (flaw,) = check(folder(tmp_path, probes=probes)).flaws
    assert (flaw.check, flaw.rule) == ("claim", "probe text second")


def test_xids_and_forks_name_what_exists(tmp_path: Path) -> None:
    xid = '[[xid]]\nnumber = 12345\nname = "x"\nrole = "root"\nclass = "no-such-class"\n'
    fork = "[[fork]]\nid = 'lunch'\nfact = 'dump'\nquestion = 'x'\n[[fork.case]]\nanswer = 'soup'\nbecause = 'x'\n"
    found = check(folder(tmp_path, xid=xid, forks=fork)).flaws
    assert {(flaw.rule, flaw.check) for flaw in found} == {("Xid 12345", "names"), ("fork lunch", "names")}


CAUSE = """
[[cause]]
id = "spill"
title = "somebody spilled something"
refusals = "BOARD: (?:coffee|tea)"
masks = "short circuit"
marks = ["coffee-spill/board"]
never = ["coffee-spill/"]
before = 60.0
together = 60.0
next = "Fetch a towel."
samples = ["BOARD: coffee at 61 C"]
near_misses = ["BOARD: milk"]
"""


@pytest.mark.parametrize(
    ("right", "wrong", "question"),
    [
        ("", "", ""),
        ('["BOARD: coffee at 61 C"]', '["a cup"]', "sample"),
        ("BOARD: milk", "BOARD: tea", "near miss"),
        ("coffee-spill/board", "coffee-spill/cup", "names"),
        ('["coffee-spill/"]', '["milk-spill/"]', "names"),
    ],
)
def test_a_common_cause_is_held_against_its_samples_and_the_rules(tmp_path: Path, right: str, wrong: str, question: str) -> None:
    found = flaws(tmp_path, common_causes=CAUSE.replace(right, wrong) if right else CAUSE)
    assert [(flaw.check, flaw.rule) for flaw in found] == ([(question, "common cause spill")] if question else [])


INSTRUMENT = """\
[[instrument]]
id = "tracer"
title = "a tracer"
weight = "heavy"
effect = "Everything is slower."
environment = "^TRACER=1$"
samples = ["environment TRACER=1"]
near_misses = ["environment TRACER=0"]
"""


@pytest.mark.parametrize(
    ("right", "wrong", "question"),
    [
        ("", "", ""),
        ("samples = [", "lines = 'x'\nsamples = [", "sample"),
        ('"environment TRACER=1"', '"environment TRACER=2"', "sample"),
        ('"environment TRACER=0"', '"environment TRACER=1"', "near miss"),
        ('"environment TRACER=1"', '"TRACER=1"', "sample"),
        ('environment = "^TRACER=1$"', 'environment = "("', "pattern"),
        ('"heavy"', '"enormous"', "schema"),
        ("[[instrument]]", INSTRUMENT + "[[instrument]]", "id"),
    ],
)
def test_an_instrument_is_held_against_its_samples(tmp_path: Path, right: str, wrong: str, question: str) -> None:
    assert right in INSTRUMENT
    found = flaws(tmp_path, instruments=INSTRUMENT.replace(right, wrong, 1) if right else INSTRUMENT)
    assert {flaw.check for flaw in found} >= {question} if question else not found


def test_alternatives_are_those_of_the_top_level() -> None:
    assert alternatives(r"a(?:b|c)|d\||[|]e") == {"a(?:b|c)", r"d\|", "[|]e"}


def test_conditions_that_ask_nothing_are_never_apart() -> None:
    assert not are_apart(When(), When(phases=("boot",)))
    assert not are_apart(When(frame="a"), When(frame="b"))
