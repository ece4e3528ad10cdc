"""What an engine really booted with, flat: the facts of its boot lines and the arguments that it was given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from triage.history.secrets import is_secret
from triage.ledger.literal import pairs, value
from triage.model import Boot

# What the log tells of a boot and nobody chose: it differs between two boots of the same configuration.
_MEASURED = frozenset(
    ("pid", "port", "host", "rank", "world_size", "dp_rank", "pp_rank", "tp_rank", "args", "config", "model_gib", "kv_cache_gib", "kv_cache_tokens",
     "max_concurrency", "cudagraph_gib", "version", "seconds", "available_gpu_mem_gib")
)  # fmt: skip


def booted(boot: Boot) -> dict[str, str]:
    """Name and value of everything that the boot's lines tell; what was resolved stands over what was asked for."""
    asked = dict(_arguments(boot.config.get("args", "")))
    return {**asked, **{name: value for name, value in boot.config.items() if name not in ("args", "config") and not is_secret(name)}}


def chosen(told: Mapping[str, str]) -> dict[str, str]:
    """Of what a boot told, what somebody chose."""
    return {name: value for name, value in told.items() if name not in _MEASURED}


def config_hash(told: Mapping[str, str]) -> str:
    """Eight hex digits of what somebody chose: the same for two boots of the same configuration."""
    text = "\n".join(f"{name}={_plain(value)}" for name, value in sorted(chosen(told).items()))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def differs(told: Mapping[str, str], wanted: Mapping[str, object]) -> list[str]:
    """What the boot says otherwise than `wanted`, in words; a name that it does not tell is told as not observed.

    >>> differs({"gpu_memory_utilization": "0.940"}, {"gpu_memory_utilization": 0.94})
    []
    >>> differs({"gpu_memory_utilization": "0.95"}, {"gpu_memory_utilization": 0.94})
    ['gpu_memory_utilization is 0.95, not 0.94']
    """
    return [f"{name} is {told[name]}, not {value}" for name, value in wanted.items() if name in told and _plain(told[name]) != _plain(str(value))]


def unobserved(told: Mapping[str, str], wanted: Mapping[str, object]) -> list[str]:
    """The names of what is wanted that the boot does not tell."""
    return [name for name in wanted if name not in told]


def _plain(text: str) -> str:
    """A value by which two spellings compare: 0.9 and 0.90, True and true, torch.float16 and float16."""
    text = text.strip().strip("'\"").removeprefix("torch.")
    try:
        return repr(float(text.replace(",", "")))
    except ValueError:
        return text.casefold()


def _arguments(text: str) -> Iterator[tuple[str, str]]:
    told = value(text) if text.startswith("{") else pairs(text)
    if isinstance(told, dict):
        yield from ((str(name), str(each)) for name, each in told.items() if not is_secret(str(name)))
