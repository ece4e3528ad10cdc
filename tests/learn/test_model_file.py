"""A model file is text and figures: what is damaged, changed or foreign is refused with a reason, and nothing in it is ever run."""

from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.learn.made_examples import labelled, model, model_bytes, sealed
from triage.learn.classifier import EXEMPLAR_TEXT, EXEMPLARS, exemplars
from triage.learn.examples import Example
from triage.learn.features import LONGEST, LONGEST_MASK, mask_of
from triage.learn.model_file import LARGEST, LARGEST_DOCUMENT, MAGIC, MOST_CLASSES, ModelError, load_model

SUPPORT = {"fault_class": "device-oom", "incidents": 5, "episodes": 5, "enough": True}


class Runs:
    """A pickle of this makes a folder when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def refused(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(ModelError) as told:
        load_model(path)
    assert str(path) in str(told.value)
    return str(told.value)


def parts() -> tuple[dict[str, object], bytes]:
    body = model_bytes()[len(MAGIC) + 65 :]
    length, _, rest = body.partition(b"\n")
    return msgspec.json.decode(rest[: int(length)]), rest[int(length) :]


def test_a_model_answers_as_it_did_before_it_was_written(tmp_path: Path) -> None:
    from triage.knowledge.load import load
    from triage.learn.train import trained

    made, read = trained(labelled(), load(), source="a test", at=0).classifier, model(tmp_path).classifier
    for e in labelled(30, seed=9):
        one, other = made.answer(e), read.answer(e)
        assert (one.fault_class, one.exemplar) == (other.fault_class, other.exemplar)
        assert one.probability == pytest.approx(other.probability, abs=1e-4)


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "made by a pickle"
    payload = pickle.dumps(Runs(trap))
    assert "does not begin as a model" in refused(tmp_path / "evil.triage", payload)
    assert "not in the form" in refused(tmp_path / "evil.triage", sealed(payload, b""))
    document, _ = parts()
    assert "bytes of weights" in refused(tmp_path / "evil.triage", sealed(msgspec.json.encode(document), payload))
    assert not trap.exists()
    pickle.loads(payload)
    assert trap.exists()  # it would have been


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_bit_of_it_can_be_changed_unseen(tmp_path: Path, at: float, bit: int) -> None:
    content = bytearray(model_bytes())
    content[int(at * len(content))] ^= 1 << bit
    refused(tmp_path / "changed.triage", bytes(content))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kept=st.floats(0, 1, exclude_max=True))
def test_a_model_that_is_cut_short_is_refused(tmp_path: Path, kept: float) -> None:
    refused(tmp_path / "cut.triage", model_bytes()[: int(kept * len(model_bytes()))])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=st.binary(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(msgspec.json.encode), figures=st.binary(max_size=64))
def test_what_is_sealed_well_and_makes_no_sense_is_refused(tmp_path: Path, document: bytes, figures: bytes) -> None:
    refused(tmp_path / "odd.triage", sealed(document, figures))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"features": "99.9"}, "train it again"),
        ({"classes": ["only-one"]}, "classes"),
        ({"classes": ["../../etc/passwd", "device-oom"]}, "name of a class"),
        ({"classes": ["worker-lost\n", "device-oom"]}, "name of a class"),
        ({"rarity": [1.0]}, "vocabulary"),
        ({"lines": 1 << 40}, "vocabulary"),
        ({"source": 7}, "form"),
        ({"exemplars": [["device-oom", "page " * 200, "1"]]}, "lines"),
        ({"exemplars": [["device-oom", "no page left", "1"]] * 2000}, "lines"),
        ({"held_out": {"asked": 3, "named": 4, "right": 4, "error": 0.1}}, "held-out"),
        ({"held_out": {"asked": 3, "named": 2, "right": -1, "error": 0.1}}, "held-out"),
        ({"held_out": {"asked": 3, "named": 2, "right": 1, "error": 1e300}}, "held-out"),
        ({"extra": "field"}, "form"),
        ({"incidents": -1}, "count"),
        ({"incidents": 10**17}, "count"),
        ({"support": [{**SUPPORT, "incidents": 1 << 60}]}, "count"),
        ({"support": [SUPPORT] * (MOST_CLASSES + 1)}, "classes"),
        ({"source": "s" * 100_000}, "longer words"),
        ({"names": ["n" * 2000], "rarity": [1.0]}, "longer words"),
        ({"classes": [f"class-{n}" for n in range(MOST_CLASSES + 1)]}, "classes"),
        ({"exemplars": [["device-oom", "no page left", "i" * 2000]]}, "lines"),
        ({"exemplars": [["device-oom", "page " * 70, "1"]] * 700}, "lines"),
    ],
)
def test_a_document_that_cannot_be_true_is_refused(tmp_path: Path, change: dict[str, object], why: str) -> None:
    document, figures = parts()
    assert why in refused(tmp_path / "odd.triage", sealed(msgspec.json.encode({**document, **change}), figures))


def test_training_keeps_no_more_of_a_class_than_a_model_may() -> None:
    long = [Example(id=str(n), label="device-oom", lines=(f"{n} " + "page " * 60,)) for n in range(200)]
    kept = exemplars([*long, *long[:3]])
    assert sum(len(e.line) for e in kept) <= EXEMPLAR_TEXT
    assert len(kept) > 90
    assert [e.line for e in kept[:3]] == [e.lines[0] for e in long[:3]]  # the most frequent first
    short = exemplars([Example(id=str(n), label="device-oom", lines=(f"{n} page",)) for n in range(2 * EXEMPLARS)])
    assert len(short) == EXEMPLARS


def test_every_line_that_training_can_keep_is_short_enough_to_be_read_again() -> None:
    worst = mask_of("Xid: 1234 error -1234 code -1234 " + "a b " * 500)
    assert len(worst) > LONGEST
    assert len(worst) <= LONGEST_MASK


def test_weights_that_are_no_figures_are_refused(tmp_path: Path) -> None:
    document, figures = parts()
    assert "no figure" in refused(tmp_path / "odd.triage", sealed(msgspec.json.encode(document), struct.pack("<f", float("nan")) + figures[4:]))
    assert "no figure" in refused(tmp_path / "odd.triage", sealed(msgspec.json.encode(document), struct.pack("<f", 3e38) + figures[4:]))


@pytest.mark.parametrize(
    "document",
    [
        b'{"features": "1", "features": ' + b"[" * 200_000,
        b"[" * 500_000 + b"]" * 500_000,
        b'{"features": NaN}',
        b'{"features": "2.1", "incidents": ' + b"9" * 5000 + b"}",
        b"{}" * 3,
        b'{"\xff": 1}',
        b" " * (LARGEST_DOCUMENT + 1),
    ],
    ids=["deep", "deeper", "nan", "digits", "several", "bytes", "long"],
)
def test_a_document_that_is_meant_to_hurt_is_refused(tmp_path: Path, document: bytes) -> None:
    refused(tmp_path / "evil.triage", sealed(document, b""))


def test_figures_in_the_document_that_are_none_are_refused(tmp_path: Path) -> None:
    document, figures = parts()
    told = msgspec.json.encode(document)
    for figure in (b"1e999", b"-1e999", b"NaN", b"Infinity", b"1e308"):
        evil = told.replace(b'"temperature":', b'"temperature":' + figure + b',"t":', 1)
        assert evil != told
        refused(tmp_path / "odd.triage", sealed(evil, figures))


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    document, figures = parts()
    for other in (figures[:-4], figures + b"\0" * 4, b"", figures * 2):
        assert "bytes of weights" in refused(tmp_path / "odd.triage", sealed(msgspec.json.encode(document), other))


def test_nobody_waits_at_a_pipe_and_nobody_reads_a_device_without_end(tmp_path: Path) -> None:
    pipe, linked, zero = tmp_path / "pipe", tmp_path / "link", tmp_path / "zero"
    os.mkfifo(pipe)
    linked.symlink_to(pipe)
    zero.symlink_to("/dev/zero")
    for path in (pipe, linked, zero):
        with pytest.raises(ModelError, match="no regular file"):
            load_model(path)


def test_a_link_to_a_model_is_that_model(tmp_path: Path) -> None:
    kept, linked = model(tmp_path), tmp_path / "link.triage"
    linked.symlink_to(tmp_path / "site.triage")
    assert load_model(linked).digest == kept.digest


def test_a_folder_a_missing_file_and_a_huge_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="train -o FILE"):
        load_model(tmp_path / "none.triage")
    with pytest.raises(ModelError):
        load_model(tmp_path)
    huge = tmp_path / "huge.triage"
    with huge.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(ModelError, match="more than any model has"):
        load_model(huge)
    with huge.open("r+b") as file:
        file.truncate(10 << 30)
    with pytest.raises(ModelError, match="more than any model has"):
        load_model(huge)
