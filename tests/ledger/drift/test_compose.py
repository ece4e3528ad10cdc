"""compose files: forms of command and environment, what wins over what, variables, overrides, and files that mean harm."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.booting import KNOWN
from triage.ledger.drift.asked import AskedError
from triage.ledger.drift.interpolate import interpolated
from triage.ledger.drift.read import Asked, Source, asked_of
from triage.ledger.drift.yaml_text import documents


def asked(folder: Path, content: str, *, service: str = "", overrides: tuple[str, ...] = (), env: str | None = None, **files: str) -> Asked:
    """What a compose file in `folder` asks for; `files` lie beside it, `env` is its .env."""
    for name, text in {**files, **({".env": env} if env is not None else {})}.items():
        (folder / name.replace("_env", ".env")).write_text(text, encoding="utf-8")
    paths = []
    for number, text in enumerate(overrides):
        paths.append(folder / f"over{number}.yaml")
        paths[-1].write_text(text, encoding="utf-8")
    file = folder / "stack.yaml"
    file.write_text(content, encoding="utf-8")
    return asked_of(Source(content=content.encode(), file=str(file), overrides=tuple(paths)), KNOWN.flags, service)


def options(told: Asked) -> dict[str, object]:
    return {setting.name: setting.value for setting in told.options or ()}


def variables(told: Asked) -> dict[str, object]:
    return {setting.name: setting.value for setting in told.ask.variables}


@pytest.mark.parametrize(
    "command",
    [
        "command: --model acme/oak-8b -tp 2",
        'command: ["--model", "acme/oak-8b", "--tensor-parallel-size", "2"]',
        "command:\n      - --model=acme/oak-8b\n      - --tensor-parallel-size=2",
        "command: >\n      --model acme/oak-8b\n      -tp 2",
        "command: |\n      --model acme/oak-8b\n      -tp 2",
        'entrypoint: ["vllm", "serve"]\n    command: ["acme/oak-8b", "-tp", "2"]',
        "entrypoint: /bin/sh -c 'exec vllm serve acme/oak-8b -tp 2'",
        'entrypoint: ["/bin/bash", "-c"]\n    command: ["export A=1 && vllm serve acme/oak-8b -tp 2"]',
    ],
)
def test_every_form_of_a_command(tmp_path: Path, command: str) -> None:
    told = asked(tmp_path, f"services:\n  llm:\n    image: vllm/vllm-openai:v0.27.0\n    {command}\n")
    assert (told.engine, options(told)) == ("vllm", {"model": "acme/oak-8b", "tensor_parallel_size": "2"})


def test_environment_wins_over_env_file_in_both_of_its_forms(tmp_path: Path) -> None:
    base = "services:\n  llm:\n    image: vllm\n    env_file: [a_env, {path: b_env}]\n    environment:\n"
    files = {"a_env": "A=file\nB=file\nC=file # note\n", "b_env": "C='second file'\n"}
    content = base.replace("a_env", "a.env").replace("b_env", "b.env")
    mapping = asked(tmp_path, content + "      B: map\n      D: 0.90\n      E: yes\n      F:\n", **files)
    listed = asked(tmp_path, content + "      - B=map\n      - D=0.90\n      - E=yes\n      - F\n", **files)
    assert variables(mapping) == variables(listed) == {"A": "file", "B": "map", "C": "second file", "D": "0.90", "E": "yes", "F": None}


def test_variables_come_from_the_env_file_of_the_project_and_have_defaults(tmp_path: Path) -> None:
    content = """services:
  llm:
    image: vllm:${TAG:-v1.2.3}
    command: --port ${PORT} --seed ${SEED?needed} --api-key $$KEY ${EXTRA:+--enforce-eager}
    environment: {LEVEL: "${LEVEL:-${FALLBACK:-INFO}}", HOST_ONLY: "${HOST_ONLY}", HF_HOME: }
"""
    told = asked(tmp_path, content, env="PORT=8123\nHF_HOME=/cache\n")
    seed = next(setting for setting in told.options or () if setting.name == "seed")
    assert options(told) == {"port": "8123", "seed": "${SEED}", "api_key": ["$KEY"]}
    assert "SEED" in seed.why
    assert variables(told) == {"LEVEL": "INFO", "HOST_ONLY": "${HOST_ONLY}", "HF_HOME": "/cache"}
    assert str(told.ask.image.value if told.ask.image else "") == "vllm:v1.2.3"
    assert any("$TAG is taken as unset" in note for note in told.ask.notes)


def test_overrides_replace_commands_and_merge_environments(tmp_path: Path) -> None:
    base = "services:\n  llm:\n    image: vllm:v1.0.0\n    command: --port 1\n    environment: {A: 1, B: 1}\n"
    first = "services:\n  llm:\n    command: --port 2 --seed 3\n    environment: [B=2, C=2]\n"
    second = "services:\n  llm:\n    environment: {C: 3}\n    image: vllm:v2.0.0\n"
    told = asked(tmp_path, base, overrides=(first, second))
    assert options(told) == {"port": "2", "seed": "3"}
    assert variables(told) == {"A": "1", "B": "2", "C": "3"}
    assert [setting.place.rpartition("/")[2] for setting in told.options or ()] == ["over0.yaml:3"] * 2


def test_tags_that_reset_or_override(tmp_path: Path) -> None:
    base = "services:\n  llm:\n    image: vllm\n    command: --port 1\n    environment: {A: 1}\n"
    over = "services:\n  llm:\n    command: !reset null\n    environment: !override {B: 2}\n"
    told = asked(tmp_path, base, overrides=(over,))
    assert variables(told) == {"B": "2"}
    assert not options(told)


def test_the_override_beside_a_file_of_a_standard_name_is_read(tmp_path: Path) -> None:
    (tmp_path / "compose.override.yml").write_text("services: {llm: {command: --port 2}}")
    file = tmp_path / "compose.yml"
    file.write_text("services: {llm: {image: vllm, command: --port 1}}")
    told = asked_of(Source(content=file.read_bytes(), file=str(file)), KNOWN.flags)
    assert options(told) == {"port": "2"}
    assert told.overrides == (str(tmp_path / "compose.override.yml"),)


def test_anchors_merge_keys_and_extends(tmp_path: Path) -> None:
    content = """x-common: &common
  image: vllm
  environment: &env {A: 1}
services:
  base: {<<: *common, command: --port 1 --seed 1}
  llm:
    extends: {service: base}
    environment: {<<: *env, B: 2}
    command: --port 2
"""
    told = asked(tmp_path, content, service="llm")
    assert (options(told), variables(told)) == ({"port": "2"}, {"A": "1", "B": "2"})


def test_of_several_engines_one_must_be_named(tmp_path: Path) -> None:
    content = "services:\n  a: {image: vllm, command: --port 1}\n  b: {image: vllm, command: --port 2}\n  proxy: {image: nginx}\n"
    with pytest.raises(AskedError, match="service a; service b"):
        asked(tmp_path, content)
    assert options(asked(tmp_path, content, service="b")) == {"port": "2"}
    with pytest.raises(AskedError, match="no 'c' in it"):
        asked(tmp_path, content, service="c")


def test_a_file_that_cannot_be_read_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(AskedError, match=r"stack\.yaml:5: cannot be read as YAML"):
        asked(tmp_path, "services:\n  llm:\n   - a: [\n  b\n: x")
    with pytest.raises(AskedError, match="render it first"):
        asked(tmp_path, "services:\n  llm: {{ .Values.llm }}\n   x: {{- y }}\n")


def test_an_env_file_that_is_not_there_is_told_and_hides_what_it_sets(tmp_path: Path) -> None:
    told = asked(tmp_path, "services: {llm: {image: vllm, env_file: gone.env, command: --port 1}}")
    assert "gone.env" in told.ask.hidden[0]


def test_aliases_that_blow_up_and_loops_are_refused() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    for content in (bomb, "a: &a [*a]", "[" * 5000, "a: " + "{b: " * 200 + "1" + "}" * 200, "x" * (2 << 20)):
        with pytest.raises(AskedError):
            documents(content, "bomb.yaml")


def test_keys_that_are_merged_again_and_again_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML before 6.0.4 keeps every copy, and a page of anchors takes it hours."""
    monkeypatch.setattr("triage.ledger.drift.yaml_text.MOST_NODES", 40)
    levels = [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], {', '.join(f'k{n}_{i}: v' for i in range(5))}}}" for n in range(1, 12)]
    text = "\n".join(["a0: &a0 {k: v}", *levels, "services: {llm: {<<: *a11, command: vllm serve x}}"])
    with pytest.raises(AskedError, match="merged keys are more than 40"):
        documents(text, "compose.yaml")


def test_braces_close_as_they_were_opened() -> None:
    told = interpolated("${A:-${B:-x}}} {${C} ${${ }", {"C": "c"})
    assert told.text == "x} {c ${${ }"
    assert interpolated("${A:-" * 50_000, {}).text == "${A:-" * 50_000  # in one pass, not one for each


def test_no_object_is_ever_made() -> None:
    with pytest.raises(AskedError, match=r"bad\.yaml:1"):
        documents("a: !!python/object/apply:os.system [id]", "bad.yaml")


@given(st.text(alphabet="$A{}:-?+x ", max_size=60))
def test_no_variable_is_too_odd(text: str) -> None:
    assert interpolated(text.replace("$", ""), {}).text == text.replace("$", "")
    interpolated(text, {"A": "1"})
