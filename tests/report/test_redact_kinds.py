"""Every kind of secret, in every shape that it is printed in, is gone from a line whatever stands round it, and no long piece of it is left."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kinds import ADDRESSES, ADDRESSES_6, KINDS, left
from triage.report.redact import Redactor

HEAD = "(EngineCore pid=214) INFO 11-12 13:31:46 [core.py:451] "
AROUND: dict[str, Callable[[str], list[str]]] = {
    "as it is": lambda text: text.split("\n"),
    "behind an engine's head": lambda text: (HEAD + text).split("\n"),
    "each line behind an engine's head": lambda text: [HEAD + line for line in text.split("\n")],
    "each line behind syslog's head": lambda text: [f"Nov 20 02:03:00 gpubox-7 vllm[12]: {line}" for line in text.split("\n")],
    "each line behind a runtime's head": lambda text: [f"2026-11-12T13:31:46.{n}Z stderr F {line}" for n, line in enumerate(text.split("\n"))],
    "in JSON": lambda text: [json.dumps({"level": "info", "message": text})],
    "in JSON in JSON": lambda text: [json.dumps({"log": json.dumps({"message": text})})],
    "in a list of Python's": lambda text: [repr([text])],
    "behind other lines": lambda text: ["all is well", "serving", *text.split("\n")],
}


@st.composite
def planted(draw: st.DrawFn) -> tuple[str, str]:
    """A secret, and a text that holds it."""
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    core = draw(st.text(kind.alphabet, min_size=kind.length, max_size=kind.length).filter(lambda text: len(set(text)) > 2 and text[0] not in "-_./+"))
    if kind is KINDS["licence"]:
        core = "-".join(core[at : at + 5] for at in range(0, len(core), 5))
    secret = kind.shape.format(core)
    text: str = draw(st.sampled_from(kind.texts))
    return core, text.format(*[secret] * 2)


@settings(max_examples=500)
@given(planted(), st.sampled_from(sorted(AROUND)))
def test_no_long_piece_of_a_secret_is_left(of: tuple[str, str], around: str) -> None:
    secret, text = of
    lines = AROUND[around](text)
    assert left(secret, json.dumps(lines))
    shown = "\n".join(Redactor().lines(lines))
    assert left(secret, shown) == []


@settings(max_examples=200)
@given(planted())
def test_none_is_left_in_a_text_of_several_lines(of: tuple[str, str]) -> None:
    secret, text = of
    assert left(secret, Redactor().text(text)) == []


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_shape_of_a_kind_is_gone_from_every_surrounding(kind: str) -> None:
    of = KINDS[kind]
    core = (of.alphabet[::-1] * 9)[: of.length]
    secret = of.shape.format("-".join(core[at : at + 5] for at in range(0, 20, 5)) if kind == "licence" else core)
    for text in of.texts:
        for around, wrapped in AROUND.items():
            shown = "\n".join(Redactor().lines(wrapped(text.format(*[secret] * 2))))
            assert left(core, shown) == [], (text, around, shown)


@given(st.ip_addresses(v=4).filter(lambda ip: not (ip.is_loopback or ip.is_unspecified or str(ip) == "255.255.255.255")), st.sampled_from(ADDRESSES))
def test_an_address_has_one_name_wherever_it_stands(address: object, text: str) -> None:
    if text == "node-{}.log":
        address = f"10.{str(address).partition('.')[2]}"  # a part of a name is one only where it is of a private net
    redactor = Redactor()
    shown = redactor.text(text.format(address))
    assert str(address) not in shown
    assert redactor.text(str(address)) in shown


@given(st.ip_addresses(v=6, network="fd00::/8"), st.sampled_from(ADDRESSES_6))
def test_an_address_of_ipv6_has_one_name_too(address: object, text: str) -> None:
    redactor = Redactor()
    shown = redactor.text(text.format(address))
    assert str(address) not in shown
    assert redactor.text(f"[{address}]").strip("[]") in shown


@pytest.mark.parametrize(
    "lines",
    [
        ["- name: NCCL_DEBUG", "  value: INFO"],
        ['{"name": "NCCL_DEBUG",', '"value": "INFO"}'],
        [HEAD + "- name: VLLM_ATTENTION_BACKEND", HEAD + "  value: FLASH_ATTN"],
        ["  value: 8192", "  value: true"],
        ["RuntimeError: it can't be", "  File 'x.py', line 3, in step", "    for text in texts:", "        step(text)"],
        ["max_logprobs=20, prompt_logprobs=None, session_timeout=30, PWD=/root, forward_pass: 3, auth: enabled"],
        ["sequence 8192 of 10 ranks, SeqNum=31337, OpType=ALLREDUCE, NumelIn=41943040, Timeout(ms)=600000) ran for 600029 ms"],
        ["GPU-2a1b3c4d-1111-2222-3333-444455556666 at 0000:3b:00.0, comm 0x55d5c2b3a0 rank 3 nranks 8 cudaDev 3 busId 3b000"],
        ["torch_compile_cache/22eee0a32f/rank_0_0, commit 3f4e5d6c7b8a9f0e1d2c3b4a5f6e7d8c9b0a1f2e, chatcmpl-8f3c2b1a0d9e8f7c"],
        ["cudnn-10.2.0.5, nccl 2.28.9, 12:34:56.789, torch 2.11.0+cu130, driver 580.95.05, ubuntu22.04, sm_90a"],
        ["eos_token_id=2, pad_token_id=0, stop_token_ids=[151643], num_scheduled_tokens={a: 1}, max_num_batched_tokens=4096"],
    ],
)
def test_evidence_stays(lines: list[str]) -> None:
    assert Redactor().lines(lines) == lines


def test_a_prompt_whose_lines_an_engine_heads_alike_goes_whole_and_what_follows_stays() -> None:
    after = "(EngineCore pid=214) ERROR 11-12 13:31:47 [core.py:1345] EngineCore encountered a fatal error."
    lines = [HEAD + "got prompt: 'dear all,", HEAD + "it's a sad letter", HEAD + "bye', params: None", after]
    assert Redactor().lines(lines) == [HEAD + "got prompt: '…", "…", "…", after]


def test_what_a_closing_line_opens_again_is_taken_out_too() -> None:
    lines = ["prompt: 'dear all,", "bye', prompt: 'another sad", "letter of mine', n=1", "served"]
    assert Redactor().lines(lines) == ["prompt: '…", "…", "…", "served"]


def test_an_apostrophe_ends_no_quote() -> None:
    assert Redactor().text("prompt: 'it's sad, my wife is ill', n=1") == "prompt: '…', n=1"


def test_a_quote_in_a_quote_in_a_quote_ends_where_the_outer_one_does() -> None:
    def told(arguments: str) -> str:
        return json.dumps({"log": json.dumps({"arguments": arguments}, ensure_ascii=False), "n": 1}, ensure_ascii=False)

    assert Redactor().text(told(json.dumps({"who": "dear"}))) == told("…")
