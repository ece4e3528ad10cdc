"""Logs of engines that boot, in the words of real ones, for tests of what a boot says of its configuration."""

from __future__ import annotations

from pathlib import Path

from triage.knowledge.load import load
from triage.ledger.booted import Booted, booted
from triage.pipeline import classify

KNOWN = load()
BANNER = "(APIServer pid=1) INFO 11-02 08:00:00 [api_utils.py:345] vLLM server version {version}, serving model acme/oak-8b"
ARGS = "(APIServer pid=1) INFO 11-02 08:00:01 [api_utils.py:273] non-default args: {args}"
ENGINE = (
    "(EngineCore pid=80) INFO 11-02 08:00:05 [core.py:122] Initializing a V1 LLM engine (v{version}) with config: model='acme/oak-8b', {config}"
)
READY = "(APIServer pid=1) INFO:     Application startup complete."
CONFIG = (
    "max_seq_len=8192, tensor_parallel_size=8, disable_custom_all_reduce=False, enforce_eager=False, "
    "kv_cache_dtype=auto, enable_prefix_caching=True"
)


def boot_log(args: object = None, *, version: str = "0.27.0", config: str = CONFIG, before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> str:
    """One boot: `before` are lines above the banner, `after` those between the configuration and READY."""
    given = [] if args is None else [ARGS.format(args=args)]
    lines = [*before, BANNER.format(version=version), *given, ENGINE.format(version=version, config=config), *after, READY]
    return "".join(f"2026-11-02T08:00:{number:02}.000000000Z {line}\n" for number, line in enumerate(lines))


def boot_of(folder: Path, *log: str) -> Booted:
    """What the last boot of a log says."""
    return boots_of(folder, *log)[-1]


def boots_of(folder: Path, *logs: str) -> list[Booted]:
    file = folder / "vllm.log"
    file.write_text("".join(logs), encoding="utf-8")
    return [booted(boot) for boot in classify(file, knowledge=KNOWN).boots]
