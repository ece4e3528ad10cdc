"""What must not leave the house does not; figures and code stay; names are consistent; hostile lines are taken in linear time or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planted import HOME, SECRETS, leaked, said
from triage.knowledge.load import RuleError, load
from triage.knowledge.redaction import Kept, NameRule, Redaction, TakeRule
from triage.report.redact import Redactor, redacted, without_secrets
from triage.report.redact.literals import value_after
from triage.report.redact.rules import with_files

RULES = load().redaction


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("api_key=sk-live-0123456789abcdef0123", "0123456789abcdef"),
        ("'hf_token': 'hf_AbCdEfGhIjKlMnOpQrStUv'", "AbCdEf"),
        ("Authorization: Bearer abc.def-ghi_jkl", "abc.def"),
        ("cloning https://bob:hunter22@git.example/x", "hunter22"),
        ("password = hunter22", "hunter22"),
        ("got AKIAIOSFODNN7EXAMPLE99 from the environment", "IOSFODNN"),
        ("stop=['tell me a story about a bear']", "bear"),
        ("prompt_token_ids=[101, 7592, 2088, 102, 9, 10, 11, 12, 13]", "7592"),
        ("clientSecret=abcdef", "abcdef"),
        ("X-API-Key: 0123", "0123"),
        ('{\\"password\\": \\"hunter22\\"}', "hunter22"),
        ("password='it\\'s hunter22'", "hunter22"),
        ("secrets={'a': {'b': ['hunter22']}}, model=x", "hunter22"),
        ("Cookie: a=1; session=hunter22", "hunter22"),
        ("got it in a quote nobody knows: 'bears ate my porridge'", "porridge"),
        ("sk-li\x1b[31mve-0123456789abcdef0123", "0123456789abcdef"),
        ("sk-li\u200bve-0123456789abcdef0123", "0123456789abcdef"),
        ("prompt: 'it never ends, my dear", "dear"),
        ("Prompt: tell me of bears", "bears"),
        ("redis://:hun@ter22@cache-1:6379/0", "ter22"),
        ("postgresql://svc:x@cache-1:5432/db", "cache-1"),
        ("ssh alicewonder@gpu-7: done", "alicewonder"),
        ("AccountKey=abc/def+ghi==;EndpointSuffix=x", "abc/def"),
        ("MODEL_STORE_KEY=hunter22", "hunter22"),
        ("api_keys: ['hunter22']", "hunter22"),
    ],
)
def test_secrets_and_prose_go(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "Tried to allocate 978.00 MiB. GPU 0 has a total capacity of 79.25 GiB",
        "#new-token: 8192, token usage: 0.41, max_tokens=512",
        "'NoneType' object has no attribute 'block_ids'",
        "shape [1, 2, 3] does not fit",
        "it can't be read and won't be tried",
        "cuDNN 9.1.0.70, nvidia-cublas==12.4.5.8, driver 535.161.08, NCCL version 2.28.9+cuda13.0",
        "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 4 reqs",
        "eos_token='</s>', pad_token_id=0, prompt_token_ids_len=74, limit_mm_per_prompt={'image': 4}",
        "RuntimeError: Worker failed with error 'CUDA error: an illegal memory access was encountered', please check the stack trace",
        'File "/usr/local/lib/python3.12/dist-packages/vllm/v1/executor/multiproc_executor.py", line 815, in worker_busy_loop',
        "see https://docs.vllm.ai/en/latest/ and http://localhost:8000/health",
        "Capture cuda graph bs [1, 2, 4, 8, 16, 24, 32, 40, 48]",
        "NVRM: Xid (PCI:0000:3b:00): 31, pid=104, at::Tensor c10::Error 12:34:56.789",
        "KeyError: 'model.layers.0.self_attn.qkv_proj.weight'",
        "(Worker_TP5 pid=355) ERROR 11-12 13:30:14 [multiproc_executor.py:1029] RuntimeError: cancelled",
        "/root/.cache/vllm/torch_compile_cache/22eee0a32/rank_0_0",
    ],
)
def test_figures_and_names_stay(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("rule", RULES.rules, ids=lambda rule: rule.id)
def test_each_rule_takes_its_samples_and_leaves_its_near_misses(rule: TakeRule | NameRule) -> None:
    alone = Redaction((rule,), (), RULES.keep) if isinstance(rule, TakeRule) else Redaction((), (rule,), RULES.keep)
    assert all(_taken(alone, sample) for sample in rule.samples)
    assert not any(_taken(alone, near) for near in rule.near_misses)


def _taken(rules: Redaction, text: str) -> bool:
    redactor = Redactor(rules, prose=False)
    return redactor.text(text) != text and bool(redactor.counts)


def test_a_name_has_one_pseudonym_wherever_it_comes_again() -> None:
    redactor = Redactor()
    first = redactor.text("http://gpu-7.rack.internal:8000/health of 10.1.2.3")
    assert first == "http://HOST1:8000/health of IP1"
    assert redactor.text("GPU-7 lost, then gpu-7.rack.internal, by 10.1.2.3, not gpu-77 or 10.1.2.30") == (
        "HOST1 lost, then HOST1, by IP1, not gpu-77 or IP2"
    )
    assert redactor.counts == {"host": 3, "ip": 3}


def test_names_that_are_met_first_are_known_to_the_first_text() -> None:
    redactor = Redactor()
    redactor.meet(["all is well on gpu-7", f"cd {HOME}alicewonder"])
    assert redactor.counts == {}
    assert redactor.text("alicewonder was here") == "USER1 was here"


def test_a_name_is_found_beside_letters_that_grow_when_they_are_made_small() -> None:
    redactor = Redactor()
    redactor.meet(["http://gpu-7/"])
    assert redactor.text("\u0130 lost GPU-7") == "\u0130 lost HOST1"


def test_what_is_said_again_is_counted_again_and_knows_the_names_met_since() -> None:
    redactor = Redactor(RULES)
    said_twice = "password=hunter22 on gpu-box-7"
    first = redactor.text(said_twice)
    assert redactor.text(said_twice) == first and "gpu-box-7" in first
    assert redactor.counts == {"secret": 2}
    assert redactor.host("gpu-box-7") == "HOST1"
    assert redactor.text(said_twice) == first.replace("gpu-box-7", "HOST1")


def test_a_host_that_a_record_names_is_found_even_if_it_is_a_plain_word() -> None:
    redactor = Redactor()
    assert redactor.document({"host": "bertha", "text": "lost bertha, not berthas"}) == {"host": "HOST1", "text": "lost HOST1, not berthas"}


def test_words_of_engines_are_nobodys_name() -> None:
    text = f"loading {HOME}user/x on http://vllm:8000/health with data_parallel_size=2 in /scratch/data/x"
    assert redacted(text) == text


def test_settings_go_by_their_names() -> None:
    told = {"model": "oak-8b", "max_model_len": "8192", "max_num_batched_tokens": "4096", "NCCL_DEBUG": "INFO"}
    told |= {"cuda_graph_bs": "[1, 2, 4, 8, 16, 24, 32, 40, 48]", "sizes": "[1, 2, 3, 4, 5, 6, 7, 8, 9]"}
    given = {"api_key": "correct horse battery", "VLLM_API_KEY": "x", "HF_TOKEN": "1234", **told}
    assert Redactor().settings(given) == {"api_key": "<secret>", "VLLM_API_KEY": "<secret>", "HF_TOKEN": "<secret>", **told}


def test_what_goes_on_in_the_next_lines_goes_there_too() -> None:
    lines = ["INFO 11-12 10:00:00 got prompt: 'dear all,", "a sad letter", "bye', params: None", "INFO 11-12 10:00:01 served"]
    assert Redactor().lines(lines) == ["INFO 11-12 10:00:00 got prompt: '…", "…", "…", "INFO 11-12 10:00:01 served"]


def test_a_new_record_ends_what_was_left_open() -> None:
    lines = ["INFO 11-12 10:00:00 got prompt: 'never closed", "(Worker_TP0 pid=7) ERROR 11-12 10:00:01 [x.py:1] RuntimeError: it broke"]
    assert Redactor().lines(lines)[1] == lines[1]


def test_nothing_is_taken_out_when_it_is_off() -> None:
    redactor = Redactor(on=False)
    redactor.meet(said())
    assert redactor.lines(said()) == said()
    assert redactor.settings({"api_key": "x"}) == {"api_key": "x"}
    assert redactor.counts == {}


def test_a_warning_keeps_its_words_and_loses_its_secrets() -> None:
    text = "row 7 was not read as such, as 'GET /health on gpu-7 with api_key=hunter22 and more words'"
    assert without_secrets(text) == "row 7 was not read as such, as 'GET /health on gpu-7 with api_key=<secret> and more words'"


@given(st.lists(st.sampled_from([*said(), *SECRETS.values()]), max_size=4), st.text(max_size=60))
def test_redacting_twice_changes_nothing(parts: list[str], between: str) -> None:
    redactor = Redactor()
    once = redactor.text(between.join(parts))
    assert redactor.text(once) == once


@given(st.text(max_size=300))
def test_any_text_can_be_redacted_and_holds_no_controls(text: str) -> None:
    shown = Redactor().text(text)
    assert all(sign.isprintable() or sign in "\n\t" or sign.isspace() for sign in shown)


@given(st.sampled_from(said()), st.text(alphabet="ab ,;:()[]{}|<>*", max_size=30), st.text(alphabet="ab ,;:()[]{}|<>*", max_size=30))
def test_a_planted_secret_goes_whatever_stands_around_it(line: str, before: str, after: str) -> None:
    redactor = Redactor()
    redactor.meet(said())
    shown = "\n".join(redactor.lines(f"{before} {line} {after}".split("\n")))
    assert leaked(shown) == []


HOSTILE = [
    "'", "[", "a@", "://", "api_key=", "1.", "[1,", "\\'", "-", "eyJ", "eyJaaaaaaaa-", "sk-", "host ", "fe80:", "a-", "-----BEGIN PRIVATE KEY-----",
    '"a b c d e" ', "AKIA", "token=", "--token ", "text=[", "content: {", "a1.internal ", HOME + "a1b/", "?key=a&", "data:a;base64,", "\x1b]", "x",
    "Authorization: ", "ids=[", " ", "\\", "prompt_", "password", "1:", "prompt: '", "\u202e", "user=a ", "a.",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_line_of_a_megabyte_is_checked_and_not_given_up(piece: str) -> None:
    redactor = Redactor()
    line = piece * (1_000_000 // len(piece))
    redactor.lines([line, "INFO 11-12 10:00:00 next"])
    redactor.meet([line])
    assert "unchecked" not in redactor.counts


def test_a_text_that_a_rule_takes_too_long_for_is_taken_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = TakeRule(id="slow", kind="slow", pattern=r"(?:a|aa|a{3})+(?:c|d)e", samples=("ace",), near_misses=("b",))
    monkeypatch.setattr("triage.report.redact.redactor.SECONDS", 0.01)
    redactor = Redactor(Redaction((slow,)))
    assert "a" * 20 not in redactor.text("a" * 5000 + "cd ce")
    assert redactor.counts == {"unchecked": 1}


def test_rules_of_ones_own_are_added_and_stand_instead_of_ours(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        """
[[take]]
id = "ticket"
kind = "ticket"
pattern = 'OPS-[0-9]+'
put = "<ticket>"
samples = ["OPS-12"]
near_misses = ["OPS"]

[[name]]
id = "cell"
kind = "host"
pattern = 'cell (?P<value>[a-z]+)'
samples = ["cell red"]
near_misses = ["cell"]

[keep]
hosts = ["gpu-7"]
"""
    )
    redactor = Redactor(with_files(RULES, [own]))
    assert redactor.text("OPS-12 on http://gpu-7/ in cell red, api_key=x") == "<ticket> on http://gpu-7/ in cell HOST1, api_key=<secret>"


def test_the_page_names_every_kind_and_its_example_works(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "bundle.md").read_text()
    table = page.partition("## What is taken out")[2].partition("A pseudonym")[0]
    kinds = {rule.kind for rule in RULES.rules} | {"quote", "continued", "unchecked"}
    assert kinds == {kind for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for kind in re.findall(r"`([a-z-]+)`", row)}
    own = tmp_path / "own.toml"
    own.write_text(page.partition("```toml\n")[2].partition("```")[0])
    assert Redactor(with_files(RULES, [own])).text("OPS-12 in cell red at http://build.example/") == "<ticket> in cell HOST1 at http://build.example/"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[[take]]\nid = 'x'", "missing required field"),
        ("[[take", "Expected"),
        ("[[take]]\nid='x'\nkind='k'\npattern='('\nsamples=[]\nnear_misses=[]", "no regex"),
        ("[[name]]\nid='x'\nkind='host'\npattern='a'\nsamples=[]\nnear_misses=[]", "no group `value`"),
    ],
)
def test_a_file_of_rules_that_is_wrong_is_named(tmp_path: Path, text: str, what: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(RuleError, match=what) as told:
        with_files(RULES, [own])
    assert str(own) in str(told.value)


def test_what_two_files_keep_is_kept() -> None:
    keep = msgspec.structs.replace(RULES.keep, hosts=(*RULES.keep.hosts, "gpu-7"))
    assert Redactor(Redaction(RULES.takes, RULES.names, keep)).text("http://gpu-7/x") == "http://gpu-7/x"
    assert Redactor(Redaction(RULES.takes, RULES.names, Kept())).text("http://gpu-7/x") == "http://HOST1/x"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("='abc', x", "abc"),
        ('="a\\"b" x', 'a\\"b'),
        ('=\\"abc\\", x', "abc"),
        ("=['a', ['b', ']']], x", "'a', ['b', ']']"),
        ("={'a': {'b': 1}} x", "'a': {'b': 1}"),
        ("=SecretStr('abc') x", "abc"),
        ("=b'abc' x", "abc"),
        ("=abc, x", "abc"),
        ("= 'never closed", "never closed"),
        ("=[never closed", "never closed"),
    ],
)
def test_a_value_ends_where_its_literal_does(text: str, value: str) -> None:
    span = value_after(text, 1, bare=True)
    assert span is not None and text[slice(*span)] == value


@given(st.text(alphabet="'\"[](){}\\ab =,", max_size=60), st.integers(0, 60), st.booleans())
def test_a_value_lies_inside_its_text(text: str, start: int, bare: bool) -> None:
    span = value_after(text, min(start, len(text)), bare=bare)
    assert span is None or start <= span[0] <= span[1] <= len(text) or start > len(text)
