"""Manifests, units with drop-ins, scripts, `docker run`, and what was kept of a process or a container."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.booting import KNOWN
from triage.ledger.drift.asked import AskedError
from triage.ledger.drift.env_file import variables_of
from triage.ledger.drift.read import Asked, Source, asked_of

DEPLOYMENT = """apiVersion: v1
kind: ConfigMap
metadata: {name: serving}
data: {VLLM_LOGGING_LEVEL: DEBUG, TP: "8"}
---
apiVersion: v1
kind: Service
metadata: {name: vllm}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  template:
    spec:
      containers:
      - name: proxy
        image: envoy:1
      - name: engine
        image: vllm/vllm-openai:v0.27.0
        command: ["vllm", "serve"]
        args: ["acme/oak-8b", "--tensor-parallel-size=$(TP)", "--port=$(PORT)", "--seed", "$$(TP)", "--api-key=$(KEY)"]
        envFrom:
        - configMapRef: {name: serving}
        - configMapRef: {name: elsewhere}
        - secretRef: {name: keys}
        env:
        - {name: PORT, value: "8123"}
        - {name: KEY, valueFrom: {secretKeyRef: {name: keys, key: api}}}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
"""


def asked(content: str | bytes, file: str = "asked", *, service: str = "") -> Asked:
    return asked_of(Source(content=content if isinstance(content, bytes) else content.encode(), file=file), KNOWN.flags, service)


def options(told: Asked) -> dict[str, object]:
    return {setting.name: setting.value for setting in told.options or ()}


def variables(told: Asked) -> dict[str, object]:
    return {setting.name: setting.value for setting in told.ask.variables}


def test_a_deployment() -> None:
    told = asked(DEPLOYMENT)
    assert told.ask.what == "deployment llm, container engine"
    assert options(told) == {"model": "acme/oak-8b", "tensor_parallel_size": "8", "port": "8123", "seed": "$(TP)", "api_key": ["$(KEY)"]}
    assert next(setting.why for setting in told.options or () if setting.name == "api_key") == "it comes from Secret keys"
    assert variables(told) == {"VLLM_LOGGING_LEVEL": "DEBUG", "TP": "8", "PORT": "8123", "KEY": None, "NODE": None}
    assert any("ConfigMap elsewhere" in text for text in told.ask.hidden)
    assert any("Secret keys" in text for text in told.ask.hidden)
    assert any("VLLM_PORT" in note for note in told.ask.notes)


def test_a_pod_as_kubectl_prints_it() -> None:
    pod = (
        '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": '
        '[{"name": "c", "image": "lmsysorg/sglang:v0.5.5", "command": ["python3", "-m", "sglang.launch_server"], "args": ["--tp", "4"]}]}}]}'
    )
    told = asked(pod)
    assert (told.engine, options(told)) == ("sglang", {"tp_size": "4"})


def test_a_shell_in_a_container_knows_its_variables() -> None:
    command = "command: [sh, -c], args: ['exec vllm serve $MODEL --port $PORT']"
    container = f"{{name: c, image: vllm:v1.0.0, {command}, env: [{{name: MODEL, value: acme/oak-8b}}]}}"
    told = asked(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n  - {container}\n")
    assert options(told) == {"model": "acme/oak-8b", "port": "$PORT"}
    assert [setting.why for setting in told.options or ()] == ["", "it is that of $PORT"]


def test_a_unit_with_drop_ins(tmp_path: Path) -> None:
    unit = tmp_path / "llm.service"
    unit.write_text(
        '[Unit]\nDescription=x\n[Service]\nEnvironment=A=1 "B=two words"\nEnvironment=PORT=8000\nEnvironmentFile=-/etc/nowhere/llm.env\n'
        "ExecStart=/usr/bin/vllm serve acme/oak-8b \\\n  --port ${PORT} --seed %i\n",
        encoding="utf-8",
    )
    (tmp_path / "llm.env").write_text("A=from file\n", encoding="utf-8")
    drop = tmp_path / "llm.service.d"
    drop.mkdir()
    (drop / "10-port.conf").write_text("[Service]\nEnvironment=PORT=9000\n", encoding="utf-8")
    (drop / "20-start.conf").write_text("[Service]\nExecStart=\nExecStart=-/usr/bin/vllm serve acme/elm-9b --port $PORT\n", encoding="utf-8")
    told = asked(unit.read_text(encoding="utf-8"), str(unit))
    assert options(told) == {"model": "acme/elm-9b", "port": "9000"}
    assert variables(told) == {"A": "from file", "B": "two words", "PORT": "9000"}
    assert [Path(path).name for path in told.overrides] == ["10-port.conf", "20-start.conf"]
    assert any("daemon-reload" in note for note in told.ask.notes)


def test_a_unit_without_a_start_and_one_with_a_specifier() -> None:
    with pytest.raises(AskedError, match="no ExecStart"):
        asked("[Service]\nEnvironment=A=1\n", "x.service")
    told = asked("[Service]\nExecStart=/usr/bin/vllm serve %i --port 1\n", "x.service")
    assert next(setting.why for setting in told.options or () if setting.name == "model") == "it depends on systemd's %i"


def test_a_script_with_exports_and_a_continued_command() -> None:
    script = "#!/bin/bash\nset -e\nexport NCCL_DEBUG=WARN\nMODEL=acme/oak-8b\nVLLM_USE_V1=1 exec vllm serve $MODEL \\\n  -tp 8 2>&1 | tee log\n"
    told = asked(script, "run.sh")
    assert options(told) == {"model": "acme/oak-8b", "tensor_parallel_size": "8"}
    assert variables(told) == {"NCCL_DEBUG": "WARN", "VLLM_USE_V1": "1"}
    assert [setting.place for setting in told.options or ()] == ["run.sh:5", "run.sh:6"]


def test_docker_run_has_only_the_variables_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "serve.env").write_text("B=2\n", encoding="utf-8")
    script = (
        "export A=1 C=3 HF_TOKEN=x\n"
        "docker run --gpus all -d -e A -e D=4 --env-file serve.env -v /m:/m vllm/vllm-openai:v0.27.0 --model acme/oak-8b --enforce-eager\n"
    )
    told = asked(script, str(tmp_path / "run.sh"))
    assert options(told) == {"model": "acme/oak-8b", "enforce_eager": True}
    assert variables(told) == {"A": "1", "D": "4", "B": "2"}


def test_captures_of_a_process() -> None:
    environment = asked(b"PATH=/bin\0VLLM_USE_V1=1\0EMPTY=\0")
    assert variables(environment) == {"PATH": "/bin", "VLLM_USE_V1": "1", "EMPTY": ""}
    assert environment.options is None
    line = asked(b"python3\0-m\0vllm.entrypoints.openai.api_server\0--served-model-name\0a b\0")
    assert options(line) == {"served_model_name": ["a b"]}


def test_docker_inspect() -> None:
    document = (
        '[{"Name": "/llm", "State": {}, "Config": {"Image": "vllm/vllm-openai:v0.27.0", "Env": ["A=1", "NO"], '
        '"Entrypoint": ["vllm", "serve"], "Cmd": ["acme/oak-8b", "-tp", "2"]}}]'
    )
    told = asked(document)
    assert (told.ask.what, options(told)) == ("container llm", {"model": "acme/oak-8b", "tensor_parallel_size": "2"})
    assert variables(told) == {"A": "1", "NO": None}
    with pytest.raises(AskedError, match="no output of `docker inspect`"):
        asked('[{"Config": 1}]')


@pytest.mark.parametrize(
    "content", ["", " \n", "nothing here starts anything", "services: []", "[]", "{}", "kind: x\napiVersion: y\n", "\0\0", "S\0 \0x"]
)
def test_what_asks_for_nothing_is_refused(content: str) -> None:
    with pytest.raises(AskedError, match="asked"):
        asked(content)


@given(st.binary(max_size=200))
def test_no_bytes_are_too_odd(content: bytes) -> None:
    try:
        told = asked(content)
    except AskedError:
        return
    assert told.ask.words or told.ask.variables


def test_lines_of_an_env_file() -> None:
    told = variables_of("A=1\n#B=2\n\nexport C='x # y'\nD=x # y\nE=\nnot a line\nF\n", "f.env")
    assert [(v.name, v.value, v.place) for v in told] == [
        ("A", "1", "f.env:1"), ("C", "x # y", "f.env:4"), ("D", "x", "f.env:5"), ("E", "", "f.env:6"), ("F", None, "f.env:8"),
    ]  # fmt: skip


def test_files_as_other_editors_save_them() -> None:
    compose = "services:\r\n  llm:\r\n    command: >\r\n      vllm serve acme/oak-8b\r\n      -tp 8\r\n"
    script = "# what runs\r\nvllm serve acme/oak-8b \\\r\n  -tp 8\r\n"
    unit = "[Service]\r\nExecStart=/usr/bin/vllm serve acme/oak-8b \\\r\n  -tp 8\r\n"
    for text in (compose, script, unit):
        for content in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16")):
            assert options(asked(content)) == {"model": "acme/oak-8b", "tensor_parallel_size": "8"}


def test_the_model_after_an_image_that_starts_the_engine_itself() -> None:
    both = {"model": "acme/oak-8b", "tensor_parallel_size": "8"}
    assert options(asked("docker run --gpus all vllm/vllm-openai:v0.27.0 acme/oak-8b -tp 8")) == both
    assert options(asked("services:\n  llm: {image: 'vllm/vllm-openai:v0.27.0', command: [acme/oak-8b, -tp, '8']}\n")) == both
    assert options(asked("docker run vllm/vllm-openai:v0.27.0 acme/oak-8b")) == {"model": "acme/oak-8b"}
    wrapped = asked("docker run vllm/vllm-openai:v0.27.0 python3 /opt/wrapper.py -tp 8")
    assert options(wrapped) == {"tensor_parallel_size": "8"}
