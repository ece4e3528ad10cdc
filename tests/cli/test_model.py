"""`triage model` and `classify --model` as people use them: labelled logs, a model, names that are marked, and clear words where something lacks."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.learn.made_examples import KINDS, model_bytes, told_by
from tests.lives import Life, log
from triage.cli.main import main

ROOT = Path(__file__).parent.parent.parent
SAYS = {"dependency-lost": KINDS["dependency-lost"][1], "device-oom": KINDS["device-oom"][0]}


def triage(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(main, [str(a) for a in arguments], prog_name="triage")


def life(said: str, hour: float = 3) -> Life:
    return Life(hour).serves(2).worker(1, "ERROR", "pool.py:144", said).dies()


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty logs of two kinds of crashes that no rule knows, with their labels, on two hosts."""
    folder = tmp_path_factory.mktemp("labelled")
    rows = ["path\tclass\thost"]
    for number in range(60):
        name = sorted(SAYS)[number % 2]
        log(folder, life(SAYS[name].format(number + 3, 90 - number), (5 * number) % 23), name=f"{number}.log")
        text = (folder / f"{number}.log").read_text()
        (folder / f"{number}.log").write_text(text.replace("11-20 ", f"{1 + number // 28:02}-{1 + number % 28:02} "))
        rows.append(f"{number}.log\t{name}\tgpu-{number % 3}")
    (folder / "labels.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def site(labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "site.triage"
    done = triage("model", "train", "--from", labelled, "-o", path)
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture
def crash(tmp_path: Path) -> str:
    return log(tmp_path, life("acme_cache: the lease of pool 8 ran out after 61 s"))


def test_training_says_what_was_learnt_of_which_class(labelled: Path, tmp_path: Path) -> None:
    done = triage("model", "train", "--from", labelled, "-o", tmp_path / "x.triage")
    assert "60 incidents on 3 hosts" in " ".join(done.stdout.split())
    assert "dependency-lost           30" in done.stdout
    assert "held out, later and on other hosts" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80


def test_the_models_share_of_the_table_is_marked(site: Path, crash: str) -> None:
    assert "unclassified" in triage("classify", crash).stdout.split("\n")[4]
    shown = triage("classify", crash, "--model", site)
    assert shown.exit_code == 0
    rows = [row.split() for row in shown.stdout.splitlines()]
    assert ["~", "dependency-lost", "instant", "1"] in [row[:4] for row in rows]
    assert ["unclassified", "-", "0"] in [row[:3] for row in rows]
    assert "~ 1 incident named by a model, not by a rule: no line proves it" in shown.stdout


def test_json_says_by_whom_how_sure_and_what_spoke(site: Path, crash: str) -> None:
    told = json.loads(triage("classify", crash, "--model", site, "--format", "json").stdout)
    (incident,) = told["incidents"]
    assert (incident["class"], incident["by"], incident["fault"], incident["root"]) == ("dependency-lost", "model", True, None)
    assert incident["model"]["probability"] >= 0.85
    assert incident["model"]["features"]
    assert incident["model"]["like"]["line"].startswith("acme_cache: the lease")
    assert [row["by"] for row in told["counts"] if row["class"] == "dependency-lost"] == ["model"]


def test_without_a_model_nobody_speaks_for_one(crash: str) -> None:
    (incident,) = json.loads(triage("classify", crash, "--format", "json").stdout)["incidents"]
    assert (incident["by"], incident["model"]) == ("rules", None)


def test_what_a_model_named_is_a_fault_to_fail_on(site: Path, crash: str) -> None:
    assert triage("classify", crash, "--model", site, "--fail-on", "dependency-lost").exit_code == 1
    assert triage("classify", crash, "--fail-on", "dependency-lost").exit_code == 0


def test_the_classes_a_model_names_can_be_asked_for(site: Path, crash: str) -> None:
    shown = triage("classify", crash, "--model", site, "--class", "dependency-lost", "--explain").stdout
    assert "named by a model" in shown


def test_an_incident_is_explained_by_what_spoke_for_it(site: Path, crash: str) -> None:
    (incident,) = json.loads(triage("classify", crash, "--format", "json").stdout)["incidents"]
    shown = triage("model", "explain", incident["id"], crash, "--model", site).stdout
    assert "the rules say unclassified" in shown
    assert "what spoke for dependency-lost" in shown
    assert "most like it" in shown
    assert triage("model", "explain", "ffffffff", crash, "--model", site).exit_code == 2


def test_history_labels_teach_and_what_is_unlabelled_is_suggested(tmp_path: Path) -> None:
    store = tmp_path / "history.db"
    lives = [life(SAYS["dependency-lost"].format(n, n + 2), hour) for n, hour in ((4, 1), (17, 5), (33, 9))]
    path = log(tmp_path, *lives, life(SAYS["device-oom"].format(5, 6), 14))
    assert triage("classify", path, "--record", "--store", store).exit_code == 0
    shown = triage("model", "suggest", "--store", store)
    assert shown.exit_code == 0
    first, second = shown.stdout.splitlines()[2:4]
    assert "acme_cache" in first
    assert "page table walker" in second
    assert "4 unclassified incidents without a label" in shown.stdout
    for row in (first, second):
        name = row.split()[0]
        assert triage("history", "relabel", name, "dependency-lost", "--reason", "test", "--store", store).exit_code == 0
    assert "2 unclassified incidents without a label" in triage("model", "suggest", "--store", store).stdout
    short = triage("model", "train", "--store", store)
    assert short.exit_code == 2
    assert "2 labelled incidents of 1 class in 2 episodes; at least 20 of 2 classes" in short.output


def test_the_default_model_lies_beside_the_history(labelled: Path, tmp_path: Path, crash: str) -> None:
    store = tmp_path / "history.db"
    assert triage("model", "train", "--from", labelled, "--store", store).exit_code == 0
    assert (tmp_path / "model.triage").is_file()
    assert "~ dependency-lost" in triage("classify", crash, "--model", "default", "--store", store).stdout
    recorded = triage("classify", crash, "--model", "default", "--store", store, "--new")
    assert "~ dependency-lost" in recorded.stdout
    assert "unclassified" in triage("history", "list", "--store", store).stdout  # the history keeps what the rules say


@pytest.mark.parametrize("form", ["sarif", "junit"])
def test_ci_is_told_that_no_rule_named_it(site: Path, crash: str, form: str) -> None:
    told = triage("classify", crash, "--model", site, "--format", form).stdout
    assert "named by a model (over 99% sure), not by a rule: no line proves it" in told
    assert "named by a model" not in triage("classify", crash, "--format", form).stdout


def test_cron_is_told_that_no_rule_named_it(site: Path, crash: str, tmp_path: Path) -> None:
    lines = triage("classify", crash, "--model", site, "--store", tmp_path / "a.db", "--new", "--quiet").stdout.splitlines()
    assert " UTC ~ dependency-lost: " in lines[0]
    assert lines[1] == "  named by a model (over 99% sure), not by a rule: no line proves it"
    plain = triage("classify", crash, "--store", tmp_path / "b.db", "--new", "--quiet").stdout
    assert " UTC unclassified: " in plain
    assert "no log of its engine was read" not in plain  # it was


def test_evaluate_holds_back_or_asks_a_model(labelled: Path, site: Path) -> None:
    held = triage("model", "evaluate", "--from", labelled)
    assert "precision 1.000" in held.stdout.replace("\n", " ")
    asked = json.loads(triage("model", "evaluate", "--from", labelled, "--model", site, "--format", "json").stdout)
    assert asked["figures"]["asked"] == 60
    assert asked["precision"] == 1.0


def test_incidents_that_a_model_learnt_from_are_not_called_held_out(labelled: Path, site: Path) -> None:
    done = triage("model", "evaluate", "--from", labelled, "--model", site)
    assert "held out" not in done.stdout
    assert "asked of model" in done.stdout
    assert "has learnt from at least" in done.stderr


def test_nothing_in_a_model_acts_on_a_terminal(site: Path, crash: str, tmp_path: Path) -> None:
    evil, acts = tmp_path / "evil.triage", "\x1b]0;own\x07\x9b5m\u202e"
    lines = [["dependency-lost", "acme_cache: the lease of pool <num> ran out after <num> s", acts]]
    evil.write_bytes(told_by(site.read_bytes(), triage=acts, rules=acts, trained=acts, source=acts, exemplars=lines))
    (incident,) = json.loads(triage("classify", crash, "--format", "json").stdout)["incidents"]
    asked = [("classify", crash), ("classify", crash, "--explain"), ("classify", crash, "--format", "json"), ("model", "show"),
             ("model", "show", "--format", "json"), ("model", "explain", incident["id"], crash)]  # fmt: skip
    for command in asked:
        done = triage(*command, "--model", evil)
        assert done.exit_code == 0
        assert not [c for c in done.output if c != "\n" and unicodedata.category(c).startswith("C")], command


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_table_from_a_spreadsheet_is_read_or_said_to_be_in_another_encoding(labelled: Path, tmp_path: Path, encoding: str) -> None:
    table = labelled / f"{encoding}.tsv"
    table.write_bytes((labelled / "labels.tsv").read_text().encode(encoding))
    done = triage("model", "train", "--from", table, "-o", tmp_path / "x.triage")
    assert done.exit_code == (0 if encoding == "utf-8-sig" else 2), done.output
    assert ("60 incidents" if encoding == "utf-8-sig" else f"{table}: it is not in UTF-8 (byte 0): save it") in " ".join(done.output.split())


def test_incidents_of_one_crash_loop_are_said_to_be_one_episode(tmp_path: Path) -> None:
    rows = ["path\tclass\thost"]
    for number in range(24):
        name = sorted(SAYS)[number % 2]
        log(tmp_path, life(SAYS[name].format(number, number)), name=f"{number}.log")
        rows.append(f"{number}.log\t{name}\tgpu-1")
    (tmp_path / "labels.tsv").write_text("\n".join(rows) + "\n")
    told = triage("model", "evaluate", "--from", tmp_path)
    assert told.exit_code == 2
    assert "24 labelled incidents of 2 classes in 1 episode: too few incidents or episodes to hold some back" in told.output
    assert "not measured: too few incidents or episodes" in triage("model", "train", "--from", tmp_path, "-o", tmp_path / "x.triage").stdout


def test_the_guess_and_its_probability_are_both_shown_in_a_narrow_terminal(site: Path, crash: str, tmp_path: Path) -> None:
    store = tmp_path / "history.db"
    assert triage("classify", crash, "--record", "--store", store).exit_code == 0
    shown = triage("model", "suggest", "--store", store, "--model", site).stdout
    assert max(map(len, shown.splitlines())) <= 80
    (row,) = [line.split() for line in shown.splitlines() if "acme_cache" in line]
    assert "dependency-lost" in row
    assert any(word.startswith(("0.9", "1.0")) for word in row)


def test_a_model_is_not_waited_for_at_a_pipe(crash: str, tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    done = triage("classify", crash, "--model", tmp_path / "pipe")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no regular file" in done.stderr


def test_a_model_shows_what_it_is(site: Path) -> None:
    told = json.loads(triage("model", "show", "--model", site, "--format", "json").stdout)
    assert told["incidents"] == 60
    assert {s["fault_class"]: s["incidents"] for s in told["support"]} == {"dependency-lost": 30, "device-oom": 30}
    assert "names" not in told


def test_what_is_no_model_is_refused_with_a_reason(crash: str, tmp_path: Path) -> None:
    evil = tmp_path / "evil.triage"
    evil.write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR.")
    for file in (evil, tmp_path / "none.triage", tmp_path):
        done = triage("classify", crash, "--model", file)
        assert done.exit_code == 2
        assert f"triage: {file}: " in done.output
        assert not done.stdout


@pytest.mark.parametrize(
    ("table", "word"),
    [("", ":1: the first row must name"), ("path\tclass\n", "0 labelled incidents"), ("path\tclass\nx.log\t\n", ":2: a path and a class are needed"),
     ("path\tclass\nmissing.log\tdevice-oom\n", "0 labelled incidents"), ("path\tclass\n1.log\tno-such-class\n", "none that the rules know")],
)  # fmt: skip
def test_a_table_that_cannot_be_used_is_named_with_its_line(tmp_path: Path, table: str, word: str) -> None:
    (tmp_path / "labels.tsv").write_text(table)
    done = triage("model", "train", "--from", tmp_path, "-o", tmp_path / "x.triage")
    assert done.exit_code == 2
    assert word in done.output
    assert not (tmp_path / "x.triage").exists()


def test_training_without_scikit_learn_names_the_extra(labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    done = triage("model", "train", "--from", labelled, "-o", tmp_path / "x.triage")
    assert done.exit_code == 2
    assert "pip install 'crash-triage[learn]'" in done.output


def test_asking_a_model_loads_no_scikit_learn(crash: str, tmp_path: Path) -> None:
    path = tmp_path / "site.triage"
    path.write_bytes(model_bytes())
    code = "import sys; from triage.cli.main import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    code += "print('sklearn' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "classify", crash, "--model", str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "~ dependency-lost" in done.stdout
    assert done.stdout.splitlines()[-1] == "False False"
