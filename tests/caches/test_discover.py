"""Caches are found by the layouts that engines really use, each once, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.caches.night import lay, manifest, text
from triage.caches.discover import discover, kind_of
from triage.knowledge.caches import CacheKind
from triage.knowledge.load import load

KINDS = load().caches.kinds
KERNEL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRST"
SAMPLES = [(kind, sample) for kind in KINDS for sample in kind.samples]
NEAR_MISSES = [(kind, sample) for kind in KINDS for sample in kind.near_misses]


def fits(sample: str, kind: CacheKind) -> bool:
    path, _, held = sample.partition(" : ")
    return kind_of(path, [kind], [held]) is not None


@pytest.mark.parametrize(("kind", "sample"), SAMPLES, ids=lambda one: getattr(one, "id", one))
def test_a_kind_fits_its_samples_before_any_other(kind: CacheKind, sample: str) -> None:
    path, _, held = sample.partition(" : ")
    found = kind_of(path, KINDS, [held])
    assert found is not None
    assert found[0].id == kind.id


@pytest.mark.parametrize(("kind", "sample"), NEAR_MISSES, ids=lambda one: getattr(one, "id", one))
def test_a_kind_does_not_fit_its_near_misses(kind: CacheKind, sample: str) -> None:
    assert not fits(sample, kind)


def test_every_kind_has_both() -> None:
    assert KINDS
    assert all(kind.samples and kind.near_misses for kind in KINDS)


def test_each_layout_is_found_in_a_home(tmp_path: Path) -> None:
    text(tmp_path / ".cache/vllm/torch_compile_cache/5ee490e82e/rank_0_0/backbone/triton_cache/0" / KERNEL / "k.json", "{}", 1)
    text(tmp_path / ".cache/vllm/torch_compile_cache/torch_aot_compile" / ("ab" * 32) / "rank_0_0/model", "", 1)
    text(tmp_path / ".cache/vllm/flashinfer_autotune_cache/0.6.13/121a/b90f56c0f2da/autotune_configs.json", "{}", 1)
    text(tmp_path / ".cache/flashinfer/0.6.18/90a/cached_ops/op/op.so", "", 1)
    text(tmp_path / ".triton/cache" / KERNEL / "k.cubin", "", 1)
    text(tmp_path / ".deep_gemm/cache/kernel.fp8_gemm.0123abcd/kernel.cu", "", 1)
    text(tmp_path / "torchinductor_root/fxgraph/ab/x", "", 1)
    text(tmp_path / ".cache/torch_extensions/py312_cu129/fused/build.ninja", "", 1)
    text(tmp_path / ".nv/ComputeCache/3/index", "", 1)
    text(tmp_path / ".cache/huggingface/hub/model/config.json", "{}", 1)
    found = discover([str(tmp_path)], KINDS)
    told = {(cache.kind, cache.key) for cache in found.caches}
    assert told == {
        ("vllm-compile", "5ee490e82e"), ("vllm-aot", "ab" * 32), ("vllm-autotune", "0.6.13/121a/b90f56c0f2da"), ("flashinfer", "0.6.18/90a"),
        ("triton", ".triton/cache"), ("deep-gemm", ".deep_gemm/cache"), ("inductor", f"{tmp_path.name}/torchinductor_root"),
        ("torch-extensions", "py312_cu129"), ("cuda", ".nv/ComputeCache"),
    }  # fmt: skip
    assert [Path(file).name for file in found.others] == ["config.json"]


def test_a_cache_that_is_named_itself_is_one_and_twice_is_once(tmp_path: Path) -> None:
    kernel = text(tmp_path / "jit" / KERNEL / "k.cubin", "abc", 1).parent.parent
    found = discover([str(kernel), str(tmp_path), str(kernel / ".")], KINDS)
    assert [(cache.kind, cache.contents.bytes) for cache in found.caches] == [("triton", 3)]


def test_a_home_that_somebody_made_a_cache_is_listed_and_never_to_be_removed(tmp_path: Path) -> None:
    text(tmp_path / "home" / KERNEL / "k.cubin", "", 1)
    text(tmp_path / "home/thesis.tex", "", 1)
    (cache,) = discover([str(tmp_path)], KINDS).caches
    assert (cache.kind, cache.contents.refusals) == ("triton", ("thesis.tex in it is nothing of such a cache (more of it may be somebody's own)",))


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere = text(tmp_path / "elsewhere" / KERNEL / "k.cubin", "abc", 1).parents[1]
    home = tmp_path / "home"
    home.mkdir()
    (home / "triton").symlink_to(elsewhere)
    assert discover([str(home)], KINDS).caches == ()


def test_a_link_that_is_named_is_followed(tmp_path: Path) -> None:
    elsewhere = text(tmp_path / "elsewhere" / KERNEL / "k.cubin", "abc", 1).parents[1]
    (tmp_path / "link").symlink_to(elsewhere)
    (cache,) = discover([str(tmp_path / "link")], KINDS).caches
    assert (cache.path, cache.shown) == (str(elsewhere.resolve()), str(tmp_path / "link"))


def test_the_night_has_63_caches_of_20_gb(tmp_path: Path) -> None:
    caches = discover([str(lay(tmp_path))], KINDS).caches
    assert len(caches) == 63
    assert round(sum(cache.contents.bytes for cache in caches) / 1e9, 2) == 20.0


def test_the_example_in_the_docs_is_of_this_night() -> None:
    assert (Path(__file__).parents[2] / "docs/examples/acceptance-night-caches/manifest.json").read_bytes() == manifest() + b"\n"
