"""An archive holds the hash of every file and the evidence whole; one that is damaged, or of somebody else, is never trusted."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings

from tests.caches.trees import FILES, FOLDERS, KIND, LINKS, cache_of, hashes, lay
from triage.caches.archive import LARGEST_EVIDENCE, Order, is_evidence, verified, write
from triage.caches.manifest import ArchiveError, Kept, Manifest, from_json, to_json
from triage.caches.records import GONE, Cache, File, Hold
from triage.caches.removal import Outcome, aside_of, remove


def archive(path: Path, *caches: Cache, whole: bool = False) -> Manifest:
    return write(str(path), Order(caches, {}, (), [KIND], whole=whole), now=1.7e9, version="test")


def removal(kept: Kept, at_last: Hold | None = None) -> Outcome:
    """Removes one cache; `at_last`: what holds it once it was moved aside."""
    (outcome,) = remove([kept], lambda caches: {c.path: [at_last] if at_last and GONE in c.path else [] for c in caches})
    return outcome


def members(path: Path) -> dict[str, bytes]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as plain, tarfile.open(fileobj=io.BytesIO(plain.read())) as tar:
        return {member.name: data.read() for member in tar if (data := tar.extractfile(member))}


@settings(max_examples=60)
@given(FILES, FOLDERS, LINKS)
def test_whatever_the_tree_the_archive_knows_it_and_its_removal_is_whole(files: list, folders: list, links: list) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = lay(Path(place) / "home/cache", files, folders, links)
        outside = lay(Path(place) / "home/beside", files)
        before, beside = hashes(str(folder)), hashes(str(outside))
        cache = cache_of(folder)
        made = archive(Path(place) / "kept.tar.zst", cache)
        (kept,) = made.caches
        assert {entry.path: entry.sha256 for entry in kept.files} == before
        stored = members(Path(place) / "kept.tar.zst")
        evidence = {entry.path for entry in kept.files if entry.kept}
        assert evidence == {file.path for file in cache.contents.files if is_evidence(file, KIND.evidence)}
        assert {entry.path: stored[entry.kept] for entry in kept.files if entry.kept} == {path: (folder / path).read_bytes() for path in evidence}
        assert verified(str(Path(place) / "kept.tar.zst")) == made
        outcome = removal(kept)
        assert (outcome.removed, outcome.why) == (True, "")
        assert os.listdir(folder.parent) == ["beside"]
        assert hashes(str(outside)) == beside


@given(FILES)
@settings(max_examples=20)
def test_whole_keeps_every_byte(files: list) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = lay(Path(place) / "cache", files)
        (kept,) = archive(Path(place) / "kept.tar.zst", cache_of(folder), whole=True).caches
        stored = members(Path(place) / "kept.tar.zst")
        assert {entry.path: stored[entry.kept] for entry in kept.files} == {entry.path: (folder / entry.path).read_bytes() for entry in kept.files}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    archive(tmp_path / "kept.tar.zst", cache_of(lay(tmp_path / "cache", [(["build"], ".log", b"compiled" * 400), (["k"], ".so", b"\x7fELF")])))
    return tmp_path / "kept.tar.zst"


def test_a_flipped_bit_anywhere_is_found_or_changes_nothing(kept: Path) -> None:
    """Some bits of zstd's own header do not matter, such as the one that says that a checksum follows."""
    sound, made, found = kept.read_bytes(), verified(str(kept)), 0
    for place in range(len(sound)):
        kept.write_bytes(sound[:place] + bytes([sound[place] ^ 1 << place % 8]) + sound[place + 1 :])
        try:
            assert verified(str(kept)) == made
        except ArchiveError as error:
            assert "kept.tar.zst" in str(error)
            found += 1
    assert found > 0.98 * len(sound)


def test_an_archive_that_is_cut_off_is_found_or_lacks_nothing(kept: Path) -> None:
    """Behind the last member stand only zeros and zstd's checksum."""
    sound, made, found = kept.read_bytes(), verified(str(kept)), 0
    for length in range(len(sound)):
        kept.write_bytes(sound[:length])
        try:
            assert verified(str(kept)) == made
        except ArchiveError:
            found += 1
    assert found > len(sound) - 32


def test_an_archive_of_somebody_else_is_refused(tmp_path: Path) -> None:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("etc/passwd"))
    (tmp_path / "other.tar.zst").write_bytes(zstandard.compress(plain.getvalue()))
    with pytest.raises(ArchiveError, match="triage did not write it"):
        verified(str(tmp_path / "other.tar.zst"))


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"schema": "triage-caches/9"}', b'{"schema": "triage-caches/1", "caches": [{}]}', b"[" * 5000])
def test_a_list_that_is_none_is_refused(text: bytes) -> None:
    with pytest.raises(ArchiveError, match=r"x\.json"):
        from_json(text, "x.json")


def test_the_list_survives_its_json(kept: Path) -> None:
    assert from_json(to_json(verified(str(kept))), "x") == verified(str(kept))


def test_nothing_is_written_over(kept: Path, tmp_path: Path) -> None:
    before = kept.read_bytes()
    with pytest.raises(ArchiveError, match="stands there already"):
        archive(kept, cache_of(tmp_path / "cache"))
    assert kept.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["cache", "kept.tar.zst"]


def test_what_a_killed_run_left_is_never_written_into(kept: Path, tmp_path: Path) -> None:
    """It may be a finished archive under its first name, and somebody has moved the other name elsewhere."""
    os.link(kept, tmp_path / ".kept.tar.zst.partial")
    kept.rename(tmp_path / "moved.tar.zst")
    archive(kept, cache_of(tmp_path / "cache"))
    assert len(verified(str(tmp_path / "moved.tar.zst")).caches) == 1
    assert sorted(os.listdir(tmp_path)) == ["cache", "kept.tar.zst", "moved.tar.zst"]


def test_a_file_that_changes_meanwhile_ends_it(tmp_path: Path) -> None:
    folder = lay(tmp_path / "cache", [(["a"], ".log", b"one")])
    cache = cache_of(folder)
    (folder / "a.log").write_bytes(b"another")
    with pytest.raises(ArchiveError, match="in use; nothing was removed"):
        archive(tmp_path / "kept.tar.zst", cache)
    assert sorted(os.listdir(tmp_path)) == ["cache"]


def test_a_text_too_long_to_be_one_is_hashed_only() -> None:
    assert is_evidence(File("a.log", LARGEST_EVIDENCE, 0, 0, 0, 0), ["*.log"])
    assert not is_evidence(File("a.log", LARGEST_EVIDENCE + 1, 0, 0, 0, 0), ["*.log"])


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    folder = lay(tmp_path / "cache", [(["a"], ".log", b"one")])
    with pytest.raises(ArchiveError, match="cannot be written: No such file or directory; nothing was removed"):
        archive(tmp_path / "nowhere/kept.tar.zst", cache_of(folder))


def test_a_cache_that_changed_since_stays(kept: Path, tmp_path: Path) -> None:
    (listed,) = verified(str(kept)).caches
    (tmp_path / "cache/new.so").write_bytes(b"built anew")
    outcome = removal(listed)
    assert (outcome.removed, "changed since it was archived" in outcome.why) == (False, True)
    assert sorted(os.listdir(tmp_path / "cache")) == ["build.log", "k.so", "new.so"]


def test_what_somebody_put_into_a_cache_that_waits_stays(kept: Path, tmp_path: Path) -> None:
    (listed,) = verified(str(kept)).caches
    aside = Path(aside_of(str(tmp_path / "cache")))
    (tmp_path / "cache").rename(aside)
    (aside / "stranger").write_bytes(b"not in the list")
    outcome = removal(listed)
    assert (outcome.removed, "stranger" in outcome.why) == (False, True)
    assert os.listdir(aside) == ["stranger"]


def test_a_link_put_in_place_of_a_folder_leads_nowhere(kept: Path, tmp_path: Path) -> None:
    (listed,) = verified(str(kept)).caches
    precious = lay(tmp_path / "precious", [(["build"], ".log", b"compiled" * 400)])
    aside = Path(aside_of(str(tmp_path / "cache")))
    (tmp_path / "cache").rename(tmp_path / "away")
    aside.symlink_to(precious)
    assert not removal(listed).removed
    assert hashes(str(precious)).keys() == {"build.log"}


def test_a_cache_that_is_opened_at_the_last_moment_comes_back(kept: Path, tmp_path: Path) -> None:
    (listed,) = verified(str(kept)).caches
    outcome = removal(listed, at_last=Hold("in use", "somebody opened it"))
    assert (outcome.removed, outcome.why) == (False, "somebody opened it")
    assert sorted(os.listdir(tmp_path)) == ["cache", "kept.tar.zst"]
    assert sorted(os.listdir(tmp_path / "cache")) == ["build.log", "k.so"]
