"""Labelled incidents for tests of the classifier: a few kinds of crashes on two hosts, with the words that differ from one time to the next."""

from __future__ import annotations

import hashlib
import random
from functools import cache

import msgspec

from triage.knowledge.load import load
from triage.learn.examples import Example
from triage.learn.features import mask_of
from triage.learn.model_file import MAGIC, Model, as_bytes, load_model
from triage.learn.train import trained

T0 = 1_760_000_000.0
HOUR = 3600.0
KINDS = {
    "dependency-lost": ("acme_cache.PoolError: slot {} was handed out twice to pool {}", "acme_cache: the lease of pool {} ran out after {} s"),
    "device-oom": ("the page table walker gave up after {} pages in arena {}", "arena {}: no page left for walker {}"),
    "worker-lost": ("scheduler lost touch with shard {} in zone {}", "shard {} does not answer zone {}"),
}
NOISE = ("upload retry {} of {} succeeded", "logrotate: {} files rotated in {} s")


def labelled(count: int = 120, *, seed: int = 3) -> list[Example]:
    """`count` incidents, five hours apart, on two hosts in turn."""
    rng, names = random.Random(seed), sorted(KINDS)
    return [one(names[number % len(names)], rng, number) for number in range(count)]


def one(label: str, rng: random.Random, number: int) -> Example:
    said = [rng.choice(KINDS[label]), *rng.sample(NOISE, rng.randint(0, 2))]
    lines = tuple(mask_of(text.format(rng.randint(1, 99), rng.randint(1, 99))) for text in said)
    return Example(id=f"{number:08x}", label=label, lines=lines, host=f"gpu-{number % 2}", at=T0 + 5 * HOUR * number)


@cache
def model_bytes() -> bytes:
    made = trained(labelled(), load(), source="a test", at=T0)
    return as_bytes(made.card, made.classifier)


def model(folder: object) -> Model:
    path = folder / "site.triage"  # type: ignore[operator]
    path.write_bytes(model_bytes())
    return load_model(path)


def told_by(content: bytes, **change: object) -> bytes:
    """The file of a model that says other things of itself, with a hash that fits: as somebody writes it who knows the form."""
    body = content[len(MAGIC) + 65 :]
    length, _, rest = body.partition(b"\n")
    document = msgspec.json.encode({**msgspec.json.decode(rest[: int(length)]), **change})
    return sealed(document, rest[int(length) :])


def sealed(document: bytes, figures: bytes) -> bytes:
    """A document and figures as a file whose hash fits."""
    body = b"%d\n%s%s" % (len(document), document, figures)
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body
