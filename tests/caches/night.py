"""The caches of an acceptance night: 24 boots one after the other, each with folders of its own, 63 caches of 20 GB in all, and the boots' logs.

The files have the sizes that such caches have and hold nothing (sparse), but for the small ones that say what was built.
`python -m tests.caches.night FILE` writes the list that an archive of that night carries.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from triage.caches.discover import discover
from triage.caches.manifest import Entry, Manifest, kept_of, lives, to_json
from triage.caches.origins import origins
from triage.knowledge.load import load
from triage.pipeline import classify

BOOTS = 24
EVERY = 1800  # seconds from one boot to the next
BEGAN = int(datetime(2026, 10, 9, 20, 0, tzinfo=UTC).timestamp())
GEMM_BOOTS = 15
COMPILED, WORKSPACE, GEMM = 305_000_000, 478_000_000, 80_533_333  # bytes: 24, 24 and 15 of them are 20.0 GB
HASH = "5ee490e82e"  # one configuration on both builds: every boot has the same, and its path in the container is the same, too


def lay(folder: Path, *, scale: int = 1, boots: int = BOOTS) -> Path:
    """Lays the night (or its first `boots`) below `folder`, with sizes divided by `scale`. Returns `folder`."""
    for number in range(1, boots + 1):
        _boot(folder / f"b{number:02}", number, BEGAN + number * EVERY, scale)
    return folder


def _boot(home: Path, number: int, at: int, scale: int) -> None:
    compiled = home / "cache/vllm/torch_compile_cache" / HASH
    text(compiled / "rank_0_0/backbone/cache_key_factors.json", '{"env": {}}\n', at + 80)
    text(compiled / "rank_0_0/backbone/computation_graph.py", "import torch\n", at + 81)
    sparse(compiled / "rank_0_0/backbone/inductor_cache/ab/cab.so", COMPILED // scale, at + 95)
    work = home / "cache/flashinfer" / ("0.6.18" if number % 2 else "0.7.0") / "90a"
    text(work / "flashinfer_jit.log", "INFO - jit - build\n", at + 120)
    text(work / "cached_ops/batch_decode/build.ninja", "rule cuda_compile\n", at + 118)
    sparse(work / "cached_ops/batch_decode/batch_decode.so", WORKSPACE // scale, at + 140)
    if number <= GEMM_BOOTS:
        kernel = home / "deep_gemm/cache/kernel.sm90_fp8_gemm_1d2d.5f0c41aa"  # DeepGEMM names it by a hash
        text(kernel / "kernel.cu", "// generated\n", at + 150)
        sparse(kernel / "kernel.cubin", GEMM // scale, at + 151)
    text(home / "vllm.log", log(at), at + 1500)


def log(at: int, *, path: str = f"/root/.cache/vllm/torch_compile_cache/{HASH}/rank_0_0/backbone") -> str:
    """The log of one boot that compiles, serves and is stopped."""
    worker = "(EngineCore_DP0 pid=140) INFO"
    lines = [
        (0, "(APIServer pid=71) INFO", "[api_server.py:1977] vLLM API server version 0.31.0"),
        (70, worker, f"[backends.py:632] Using cache directory: {path} for vLLM's torch.compile"),
        (96, worker, "[backends.py:172] Cache the graph of shape None for later use"),
        (160, worker, "[core.py:251] init engine (profile, create kv cache, warmup model) took 90.12 seconds"),
        (165, "(APIServer pid=71) INFO", "[launcher.py:44] Application startup complete."),
        (1400, "(APIServer pid=71) INFO", "[launcher.py:110] Shutting down FastAPI HTTP server."),
    ]
    return "".join(f"{who} {datetime.fromtimestamp(at + later, UTC):%m-%d %H:%M:%S} {what}\n" for later, who, what in lines)


def text(path: Path, content: str, at: float) -> Path:
    """A file with some content, last written at `at`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (at, at))
    return path


def sparse(path: Path, size: int, at: float) -> Path:
    """A file of `size` bytes that takes no room, last written at `at`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
    os.utime(path, (at, at))
    return path


def manifest() -> bytes:
    """What an archive of the whole night lists, made the next morning, as if the night lay in /srv/acceptance."""
    known = load()
    with tempfile.TemporaryDirectory() as place:
        folder = lay(Path(place).resolve() / "acceptance")
        boots = classify(sorted(folder.glob("b*/vllm.log")), knowledge=known).boots
        caches = discover([str(folder)], known.caches.kinds).caches
        found = origins(caches, boots, known.caches.kinds)
        files = {c.path: [Entry(f.path, f.size, f.mtime_ns, _digest(Path(c.path, f.path))) for f in c.contents.files] for c in caches}
        kept = tuple(kept_of(c, files[c.path], found[c.path]) for c in sorted(caches, key=lambda c: c.path))
        made = Manifest(triage="0.1.0", made=float(BEGAN + 13 * 3600), caches=kept, boots=lives(boots, found))
        text = to_json(made).replace(str(folder).encode(), b"/srv/acceptance")
    return b"\n".join(line for line in text.splitlines() if b'"disk"' not in line)  # how a file system lays a sparse file is its own affair


def _digest(path: Path) -> str:
    size = path.stat().st_size
    return _digest_of_nothing(size) if path.suffix in (".so", ".cubin") else hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _digest_of_nothing(size: int) -> str:
    digest, piece = hashlib.sha256(), bytes(1 << 20)
    for _ in range(size >> 20):
        digest.update(piece)
    digest.update(bytes(size & 0xFFFFF))
    return digest.hexdigest()


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(manifest() + b"\n")
