"""What was asked for against one boot: each outcome, on logs in the engines' own words, and no secret in any of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.booting import CONFIG, KNOWN, boot_log, boot_of
from triage.ledger.booted import booted
from triage.ledger.drift.compare import DRIFT, Row, compared
from triage.ledger.drift.read import Source, asked_of
from triage.pipeline import classify

ARGS = {"model": "acme/oak-8b", "tensor_parallel_size": 8, "gpu_memory_utilization": 0.93}
UNKNOWN = "(APIServer pid=1) WARNING 11-02 08:00:01 [envs.py:2088] Unknown vLLM environment variable detected: VLLM_OLD_SWITCH"


def rows(folder: Path, asked: str, log: str, captured: dict[str, str] | None = None) -> dict[str, Row]:
    one = boot_of(folder, log)
    if captured is not None:
        one = booted(one.boot, captured)
    told = asked_of(Source(content=asked.encode(), file="asked"), KNOWN.flags)
    return {row.name: row for row in compared(told, one, KNOWN.flags)}


@pytest.mark.parametrize(
    ("command", "name", "outcome"),
    [
        ("-tp 8", "tensor_parallel_size", "same"),
        ("--gpu-memory-utilization 0.930", "gpu_memory_utilization", "same"),
        ("--gpu-memory-utilization 0.9", "gpu_memory_utilization", "differs"),
        ("", "tensor_parallel_size", "nobody asked"),
        ("--max-model-len 8192", "max_model_len", "same"),  # by the engine's line, which calls it max_seq_len
        ("--max-model-len 8k", "max_model_len", "not given"),
        ("--disable-custom-all-reduce", "disable_custom_all_reduce", "not given"),
        ("--no-disable-custom-all-reduce", "disable_custom_all_reduce", "same"),
        ("--trust-remote-code", "trust_remote_code", "not given"),  # by its default
        ("--port 8000", "port", "same"),  # by its default, as that is no non-default
        ("--some-new-option 3", "some_new_option", "cannot be observed"),
        ("--kv-cache-dtype auto", "kv_cache_dtype", "same"),
        ("--enable-prefix-caching", "enable_prefix_caching", "same"),
        ("--seed $SEED", "seed", "cannot be observed"),
    ],
)
def test_options(tmp_path: Path, command: str, name: str, outcome: str) -> None:
    found = rows(tmp_path, f"vllm serve acme/oak-8b {command}", boot_log(ARGS))
    assert found[name].outcome == outcome


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ('"$@"', "$@"),
        ("$EXTRA_ARGS", "$EXTRA_ARGS"),
        ('"${ARGS[@]}"', "${ARGS[@]}"),
        ("$(cat args)", "$(cat args)"),
        ("--config /nowhere/serve.yaml", "the file of --config, which cannot be read here"),
    ],
)
def test_options_that_cannot_be_seen_may_be_what_was_booted(tmp_path: Path, words: str, where: str) -> None:
    found = rows(tmp_path, f"exec vllm serve $MODEL -tp 8 {words}", boot_log(ARGS))
    assert found["gpu_memory_utilization"].outcome == "cannot be observed"
    assert found["gpu_memory_utilization"].why.endswith(where)
    assert not {row.outcome for row in found.values()} & set(DRIFT)


@pytest.mark.parametrize("command", ["vllm serve $MODEL -tp 8", 'vllm serve "$1" -tp 8', "vllm serve acme/oak-8b -tp $TP"])
def test_a_value_that_is_not_known_hides_no_other_option(tmp_path: Path, command: str) -> None:
    assert rows(tmp_path, command, boot_log(ARGS))["gpu_memory_utilization"].outcome == "nobody asked"


def test_an_option_file_is_read_and_the_command_wins(tmp_path: Path) -> None:
    options = "model: acme/oak-8b\ntensor-parallel-size: 4\ngpu_memory_utilization: 0.90\nserved-model-name: oak\n"
    (tmp_path / "serve.yaml").write_text(options, encoding="utf-8")
    one = boot_of(tmp_path, boot_log({**ARGS, "served_model_name": ["oak"]}))
    script = tmp_path / "run.sh"
    told = asked_of(Source(content=b"vllm serve --config /etc/vllm/serve.yaml -tp 8", file=str(script)), KNOWN.flags)
    found = {row.name: row for row in compared(told, one, KNOWN.flags)}
    outcomes = {name: row.outcome for name, row in found.items() if name != "config"}
    assert outcomes == {"model": "same", "tensor_parallel_size": "same", "gpu_memory_utilization": "differs", "served_model_name": "same"}
    assert found["gpu_memory_utilization"].place == f"{tmp_path / 'serve.yaml'}:3"


def test_a_default_that_changed_with_a_version(tmp_path: Path) -> None:
    given = {"model": "acme/oak-8b"}
    for version, outcome in (("0.11.2", "same"), ("0.27.0", "not given")):
        found = rows(tmp_path, "vllm serve acme/oak-8b --gpu-memory-utilization 0.9", boot_log(given, version=version))
        assert found["gpu_memory_utilization"].outcome == outcome


def test_what_the_engine_settled_on_against_what_it_was_given(tmp_path: Path) -> None:
    log = boot_log({"model": "acme/oak-8b", "max_model_len": 65536}, config=CONFIG)
    row = rows(tmp_path, "vllm serve acme/oak-8b --max-model-len 64K", log)["max_model_len"]
    assert (row.outcome, row.asked, row.booted) == ("ignored", "64K", "8192")


def test_a_graph_mode_that_a_later_line_takes_back(tmp_path: Path) -> None:
    args = {"model": "acme/oak-8b", "compilation_config": {"cudagraph_mode": "FULL"}}
    config = CONFIG + ", compilation_config={'mode': 3, 'cudagraph_mode': <CUDAGraphMode.FULL: 2>}"
    later = "(Worker_TP0 pid=200) WARNING 11-02 08:00:40 [compilation.py:1420] CUDAGraphMode.FULL is not supported with X backend (support: Y); "
    log = boot_log(args, config=config, after=(later + "setting cudagraph_mode=FULL_AND_PIECEWISE",))
    row = rows(tmp_path, "vllm serve acme/oak-8b -cc.cudagraph_mode FULL", log)["compilation_config"]
    assert (row.outcome, row.booted) == ("ignored", "cudagraph_mode FULL_AND_PIECEWISE")
    assert row.line is not None
    assert "FULL_AND_PIECEWISE" in row.line.text
    assert rows(tmp_path, "vllm serve acme/oak-8b -cc.cudagraph_mode FULL_AND_PIECEWISE", log)["compilation_config"].outcome == "differs"


def test_variables(tmp_path: Path) -> None:
    log = boot_log(ARGS, before=("NCCL_DEBUG=INFO", "+ export VLLM_LOGGING_LEVEL=DEBUG"), after=(UNKNOWN,))
    asked = "NCCL_DEBUG=WARN VLLM_LOGGING_LEVEL=DEBUG VLLM_OLD_SWITCH=1 VLLM_USE_V1=1 vllm serve acme/oak-8b -tp 8 --gpu-memory-utilization .93"
    found = {name: row.outcome for name, row in rows(tmp_path, asked, log).items()}
    assert found["NCCL_DEBUG"] == "differs"
    assert found["VLLM_LOGGING_LEVEL"] == "same"
    assert found["VLLM_OLD_SWITCH"] == "ignored"
    assert found["VLLM_USE_V1"] == "cannot be observed"
    nobody = {name: row.outcome for name, row in rows(tmp_path, "vllm serve acme/oak-8b", log).items()}
    assert {nobody[name] for name in ("NCCL_DEBUG", "VLLM_LOGGING_LEVEL", "VLLM_OLD_SWITCH")} == {"nobody asked"}


def test_a_capture_of_the_environment_settles_what_the_log_does_not_tell(tmp_path: Path) -> None:
    asked = "VLLM_USE_V1=1 NCCL_ALGO=Ring vllm serve acme/oak-8b"
    found = rows(tmp_path, asked, boot_log(ARGS), {"VLLM_USE_V1": "0", "PATH": "/bin", "VLLM_EXTRA": "1"})
    assert [found[name].outcome for name in ("VLLM_USE_V1", "NCCL_ALGO", "VLLM_EXTRA")] == ["differs", "not given", "nobody asked"]
    assert "PATH" not in found


def test_a_boot_whose_lines_are_gone_shows_no_more_than_its_banner(tmp_path: Path) -> None:
    found = rows(tmp_path, "vllm serve acme/oak-8b --seed 1 -tp 8", boot_log(ARGS).split("\n", 2)[0] + "\n")
    assert {name: row.outcome for name, row in found.items()} == {
        "model": "same", "seed": "cannot be observed", "tensor_parallel_size": "cannot be observed",
    }  # fmt: skip


def test_sglang_prints_every_option(tmp_path: Path) -> None:
    file = tmp_path / "sglang.log"
    file.write_text(
        "[2026-11-02 05:40:01] server_args=ServerArgs(model_path='acme/oak-8b', tp_size=8, mem_fraction_static=0.88, disable_cuda_graph=False)\n"
        "[2026-11-02 05:41:01] The server is fired up and ready to roll!\n",
        encoding="utf-8",
    )
    (boot,) = classify(file, knowledge=KNOWN).boots
    asked = b"python -m sglang.launch_server --model acme/oak-8b --tp 4 --mem-fraction-static .88 --watchdog-timeout 9"
    told = asked_of(Source(content=asked, file="a"), KNOWN.flags)
    found = {row.name: row.outcome for row in compared(told, booted(boot), KNOWN.flags)}
    assert found == {"model_path": "same", "tp_size": "differs", "mem_fraction_static": "same", "watchdog_timeout": "not given"}


def test_the_version_in_the_tag_of_an_image(tmp_path: Path) -> None:
    for tag, outcome in (("v0.27.0", "same"), ("v0.28.1-cu130", "differs")):
        asked = f"docker run vllm/vllm-openai:{tag} --model acme/oak-8b"
        assert rows(tmp_path, asked, boot_log(ARGS))["version"].outcome == outcome
    assert "version" not in rows(tmp_path, "docker run vllm/vllm-openai:latest --model acme/oak-8b", boot_log(ARGS))


def test_no_secret_is_ever_shown(tmp_path: Path) -> None:
    secret = "sk-0123456789abcdef0123"
    args = {"model": "acme/oak-8b", "api_key": [secret], "hf_token": "hf_0123456789abcdef0123", "made_up": secret}
    options = f"--api-key {secret} --made-up other --hf-overrides '{{\"auth_token\": \"x{secret}\"}}'"
    asked = f"HF_TOKEN={secret} VLLM_API_KEY={secret} vllm serve acme/oak-8b {options}"
    for row in rows(tmp_path, asked, boot_log(args, before=(f"VLLM_API_KEY={secret}",))).values():
        shown = f"{row.asked} {row.booted} {row.why}"
        assert secret not in shown
        assert "hf_0123" not in shown


def test_drift_comes_first(tmp_path: Path) -> None:
    one = boot_of(tmp_path, boot_log(ARGS))
    told = asked_of(Source(content=b"vllm serve acme/oak-8b -tp 4 --some-new 1", file="a"), KNOWN.flags)
    outcomes = [row.outcome in DRIFT for row in compared(told, one, KNOWN.flags)]
    assert outcomes == sorted(outcomes, reverse=True)
