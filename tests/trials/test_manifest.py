"""A trial's own files: what is wrong with them is said with file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.trials.manifest import TrialError, read_manifest, run_folders

TRIAL = """question = "may we?"

[[build]]
name = "a"

[[item]]
id = "first"
question = "does it live?"
path = "a long prompt"

[[arm]]
name = "a-default"
build = "a"
"""


def folder(tmp: Path, text: str = TRIAL, **runs: str) -> Path:
    (tmp / "trial.toml").write_text(text, encoding="utf-8")
    for name, run in runs.items():
        (tmp / "runs" / name).mkdir(parents=True)
        (tmp / "runs" / name / "run.toml").write_text(run, encoding="utf-8")
    return tmp


def test_a_trial_and_its_runs(tmp_path: Path) -> None:
    here = folder(tmp_path, b='item = "first"\narm = "a-default"', a='item = "first"\narm = "a-default"')
    manifest = read_manifest(here)
    assert manifest.item("first").path == "a long prompt"
    assert [run.name for run in run_folders(here, manifest)] == ["a", "b"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('path = "a long prompt"', 'path = " "', "what makes this path run"),
        ('path = "a long prompt"', "", "missing required field `path`"),
        ('build = "a"', 'build = "b"', "arm a-default: `build` names 'b', which is no build"),
        ('name = "a"', 'name = "a"\ncolour = 3', "unknown field `colour`"),
        ("[[item]]", "[[item", "line"),
        ('question = "may we?"', 'question = "may we?"\nruns = "../else"', "`runs` is a folder below"),
        ("[[arm]]", '[[item.witness]]\nname = "w"\npattern = "("\nat_least = 1\n\n[[arm]]', "w: `pattern` is no regex"),
        ("[[arm]]", '[[item.witness]]\nname = "w"\npattern = "x"\n\n[[arm]]', "w: needs `at_least` or `at_most`"),
        ("[[arm]]", '[[item.witness]]\nname = "w"\npattern = "x"\nmeasure = "sum"\nat_least = 1\n\n[[arm]]', "no group `value`"),
        ("[[arm]]", '[[build]]\nname = "a"\n\n[[arm]]', "build: 'a' stands there twice"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in TRIAL
    with pytest.raises(TrialError, match=r"trial\.toml") as error:
        read_manifest(folder(tmp_path, TRIAL.replace(old, new, 1)))
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ('item = "second"\narm = "a-default"', "`item` names 'second'"),
        ('item = "first"\narm = "z"', "`arm` names 'z'"),
        ('item = "first"\narm = "a-default"\noutcome = "fail"', "needs `because`"),
        ('item = "first"\narm = "a-default"\noutcome = "perhaps"', "perhaps"),
    ],
)
def test_a_run_that_fits_no_trial(tmp_path: Path, run: str, told: str) -> None:
    here = folder(tmp_path, x=run)
    with pytest.raises(TrialError, match=r"run\.toml") as error:
        run_folders(here, read_manifest(here))
    assert told in str(error.value)


def test_a_folder_that_is_no_trial(tmp_path: Path) -> None:
    with pytest.raises(TrialError, match="triage trial new"):
        read_manifest(tmp_path)
