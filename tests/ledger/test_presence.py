"""Whether a boot carried a change, by what it printed: as values, never by what a file asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.ledger.presence import differences, names, presence, same
from triage.model import Boot

ARGS = "{'model': '/models/oak', 'gpu_memory_utilization': 0.9, 'enforce_eager': True, 'compilation_config': {'cudagraph_mode': 'FULL', 'level': 3}}"


def boot(**config: str) -> Boot:
    return Boot(id="b", source="log", engine="vllm", version="0.27.0", config=config)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("VLLM_X=0", "holds"), ("VLLM_X=1", "fails"), ("VLLM_Y=0", "cannot be observed"), ("VLLM_FLAG=true", "holds"), ("VLLM_FLAG=0", "fails"),
        ("--gpu-memory-utilization=0.90", "holds"), ("--gpu-memory-utilization 0.92", "fails"), ("--enforce-eager", "holds"),
        ("--no-enforce-eager", "fails"), ("--max-num-seqs=64", "cannot be observed"), ("nccl=2.28.9", "holds"), ("nccl=2.27.7", "fails"),
        ('--compilation-config={"level": 3}', "holds"), ('--compilation-config={"level": 0}', "fails"), ("--compilation-config.level=3", "holds"),
        ('--compilation-config={"cudagraph_mode": "PIECEWISE"}', "holds"), ('--compilation-config={"unheard_of": 1}', "cannot be observed"),
        ("--compilation-config={not json", "fails"), ("--disable-custom-all-reduce", "fails"),
    ],
)  # fmt: skip
def test_a_change_stands_fails_or_cannot_be_seen(change: str, found: str) -> None:
    """`cudagraph_mode` was asked to be FULL and resolved to PIECEWISE: what an engine resolved counts, not what it was asked."""
    told = boot(VLLM_X="0", VLLM_FLAG="1", nccl_version="2.28.9", cudagraph_mode="PIECEWISE", disable_custom_all_reduce="False", args=ARGS)
    assert presence([change], told) == found


def test_all_changes_must_stand() -> None:
    told = boot(A="1", B="2")
    assert presence(["A=1", "B=2"], told) == "holds"
    assert presence(["A=1", "B=3", "C=1"], told) == "fails"
    assert presence(["A=1", "C=1"], told) == "cannot be observed"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("0.90", 0.9, True), ("1", True, True), ("true", "True", True), ("on", True, True), ("auto", "AUTO", True), ("'fp8'", "fp8", True),
        ("0.9", "0.92", False), ("2", True, False), ("", "0", False), ("1e3", "1000", True),
    ],
)  # fmt: skip
def test_values_are_compared_as_values(one: object, other: object, equal: bool) -> None:
    assert same(one, other) is equal


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_is_a_traceback(change: str, args: str) -> None:
    assert presence([f"--x={change}"], boot(args="{" + args)) in ("holds", "fails", "cannot be observed")


def test_arguments_nested_too_deeply_are_not_read() -> None:
    assert presence(["--x=1"], boot(args="{'x':" + "[" * 50_000)) == "cannot be observed"


def test_a_value_that_was_cut_off_decides_nothing() -> None:
    assert presence(["--max-num-seqs=64"], boot(args="{'model': 'm', 'max_num_seqs': 6")) == "cannot be observed"
    assert presence(["--max-num-seqs=64"], boot(args="{'model': 'm', 'max_num_seqs': 6}")) == "fails"


def test_what_else_is_different_is_told_and_the_change_itself_is_not() -> None:
    before = boot(nccl_version="2.27.7", VLLM_X="1", NCCL_DEBUG="INFO", args="{'model': 'm', 'max_num_seqs': 64}")
    now = boot(nccl_version="2.28.9", VLLM_X="0", args="{'model': 'm', 'kv_cache_dtype': 'fp8', 'compilation_config': {'level': 0}}")
    told = differences(before, now, ["VLLM_X=0", '--compilation-config={"level": 0}'])
    assert told == ["nccl_version 2.27.7 -> 2.28.9", "kv_cache_dtype not given -> fp8", "max_num_seqs 64 -> not given"]


def test_what_only_one_of_two_boots_tells_is_no_difference() -> None:
    assert differences(boot(nccl_version="2.27.7", A="1"), boot(torch="2.11")) == []


def test_a_change_is_about_its_option_and_the_keys_in_it() -> None:
    assert names('--compilation-config={"cudagraph_mode": "X"}') == {"compilation_config", "cudagraph_mode"}
    assert names("VLLM_X=0") == {"VLLM_X"}


def test_no_secret_of_a_boot_is_shown() -> None:
    before = boot(VLLM_API_KEY="abc", args="{'api_key': 'first-word', 'proxy': 'http://a:hush@b/', 'seed': 1}")
    now = boot(VLLM_API_KEY="def", args="{'api_key': 'second-word', 'proxy': 'http://a:other@b/', 'seed': 2}")
    told = differences(before, now)
    assert told == [
        "VLLM_API_KEY <secret> -> <secret>", "api_key <secret> -> <secret>", "proxy <secret> -> <secret>", "seed 1 -> 2",
    ]  # fmt: skip
