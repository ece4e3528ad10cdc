"""A bundle gives back what was packed, byte for byte the same each time, and nothing that anybody else made of it."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from triage.report.bundle.archive import BLOCK, LARGEST, BundleError, packed, read_bundle
from triage.report.bundle.manifest import MANIFEST, Manifest, flaws, manifest_of, with_manifest
from triage.report.bundle.opening import write_folder

NAMES = st.from_regex(r"(?:[a-z0-9_][a-z0-9_.-]{0,5}/){0,3}[a-z0-9_][a-z0-9_.-]{0,8}", fullmatch=True)
FILES = {"README.txt": b"read me\n", "incidents/8c31/incident.json": b"{}\n", "empty": b"", "whole": b"x" * BLOCK}
HEAD = Manifest(schema="triage-bundle/1", triage="1", rules="r", redacted=True)


def read(content: bytes, folder: Path) -> dict[str, bytes]:
    file = folder / "b.tar.zst"
    file.write_bytes(content)
    return read_bundle(str(file))


def compressed(tar: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(tar)


def tar_of(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def made(name: str, **given: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    for key, value in given.items():
        setattr(info, key, value)
    return info


@given(st.dictionaries(NAMES, st.binary(max_size=2000), max_size=6))
def test_what_was_packed_comes_back(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    assert read(packed(files), tmp_path_factory.mktemp("b")) == files


def test_the_same_files_give_the_same_bytes_in_whatever_order() -> None:
    assert packed(FILES) == packed(dict(reversed(FILES.items())))


def test_any_tar_reads_it_and_finds_nobodys_files_of_1970() -> None:
    tar = zstandard.ZstdDecompressor().decompress(packed(FILES))
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        assert opened.getnames() == sorted(FILES)
        assert {(i.mtime, i.uid, i.gid, i.uname, i.gname, i.mode) for i in opened} == {(0, 0, 0, "", "", 0o644)}
        assert all(opened.extractfile(name).read() == content for name, content in FILES.items())  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["../x", "/x", "a/../x", "a//x", "", ".hidden", "a b", "a\nb", "x" * 100, "ä"])
def test_a_name_that_leads_elsewhere_is_not_packed(name: str) -> None:
    with pytest.raises(BundleError):
        packed({name: b""})


@pytest.mark.parametrize(
    "info",
    [
        made("../../etc/cron.d/x"),
        made("/etc/passwd"),
        made("a/../../x"),
        made("link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        made("hard", type=tarfile.LNKTYPE, linkname="README.txt"),
        made("device", type=tarfile.CHRTYPE),
        made("block", type=tarfile.BLKTYPE),
        made("pipe", type=tarfile.FIFOTYPE),
        made("folder", type=tarfile.DIRTYPE),
        made("sparse", type=tarfile.GNUTYPE_SPARSE),
        made("x", mode=0o4755),
        made("x", uid=1000),
        made("x", mtime=1),
        made("C:\\x"),
        made("x\x1b[31m"),
    ],
    ids=lambda info: info.name.encode("unicode_escape").decode(),
)  # fmt: skip
def test_nothing_but_plain_files_is_read_and_nothing_is_written(info: tarfile.TarInfo, tmp_path: Path) -> None:
    with pytest.raises(BundleError) as told:
        read(compressed(tar_of((made("README.txt"), b"x"), (info, b""))), tmp_path)
    assert str(told.value).isprintable()
    assert os.listdir(tmp_path) == ["b.tar.zst"]


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_extensions_of_tar_are_refused(form: int, tmp_path: Path) -> None:
    with pytest.raises(BundleError):
        read(compressed(tar_of((made("x" * 150), b"x"), form=form)), tmp_path)


def test_a_file_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="comes twice"):
        read(compressed(tar_of((made("x"), b"1"), (made("x"), b"2"))), tmp_path)


def test_a_bomb_is_refused_by_what_it_says_of_itself(tmp_path: Path) -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(LARGEST + BLOCK))
    assert len(bomb) < 100_000
    with pytest.raises(BundleError, match="says that it unpacks to"):
        read(bomb, tmp_path)


def test_a_bomb_that_does_not_say_so_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="how large"):
        read(zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1 << 20)), tmp_path)


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (lambda data: data + b"more", "damaged"),
        (lambda data: data + data, "damaged"),
        (lambda data: data[:-9], "damaged"),
        (lambda data: data[: len(data) // 2] + b"\xff" + data[len(data) // 2 + 1 :], "damaged|otherwise|header"),
        (lambda _: b"", "begins otherwise"),
        (lambda _: b"PK\x03\x04", "begins otherwise"),
        (lambda data: compressed(zstandard.ZstdDecompressor().decompress(data)[:-BLOCK]), "cut short"),
        (lambda data: compressed(zstandard.ZstdDecompressor().decompress(data) + b"x"), "behind its end"),
    ],
)
def test_a_damaged_bundle_says_so(harm: Callable[[bytes], bytes], what: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=what):
        read(harm(packed(FILES)), tmp_path)


@given(st.binary(max_size=3000), st.integers(0, 2000), st.binary(max_size=40))
def test_no_bytes_do_harm(tmp_path_factory: pytest.TempPathFactory, tail: bytes, at: int, instead: bytes) -> None:
    folder = tmp_path_factory.mktemp("b")
    tar = bytearray(zstandard.ZstdDecompressor().decompress(packed(FILES)))
    tar[at : at + len(instead)] = instead
    for content in (tail, zstandard.FRAME_HEADER + tail, compressed(tail), compressed(bytes(tar))):
        try:
            files = read(content, folder)
        except BundleError as error:
            assert str(error).isprintable()
        else:
            assert all(not name.startswith(("/", ".")) and ".." not in name.split("/") for name in files)


def test_the_manifest_tells_what_was_changed_added_or_lost() -> None:
    files = with_manifest(FILES, HEAD)
    manifest = manifest_of(files)
    assert flaws(files, manifest) == []
    assert [one.name for one in manifest.files] == sorted(FILES)
    assert flaws({**files, "empty": b"!"}, manifest) == ["empty: is not what was packed (its SHA-256 is another)"]
    assert flaws({**files, "new": b""}, manifest) == ["new: is not in the manifest"]
    assert flaws({name: content for name, content in files.items() if name != "empty"}, manifest) == ["empty: is missing"]


NEWER = b'{"schema": "triage-bundle/9", "triage": "", "rules": "", "redacted": true}'


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, NEWER])
def test_a_manifest_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises(BundleError, match=r"manifest\.json"):
        manifest_of({MANIFEST: content})


def test_a_folder_is_made_whole_and_an_old_one_is_left_alone(tmp_path: Path) -> None:
    write_folder(FILES, tmp_path / "new" / "folder")
    assert {str(f.relative_to(tmp_path / "new" / "folder")): f.read_bytes() for f in (tmp_path / "new" / "folder").rglob("*") if f.is_file()} == FILES
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "kept").write_text("x")
    with pytest.raises(BundleError, match="name a new folder"):
        write_folder(FILES, tmp_path / "old")
    assert os.listdir(tmp_path / "old") == ["kept"]


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with pytest.raises(BundleError):
        write_folder(FILES, tmp_path / "link")
    assert os.listdir(tmp_path / "there") == []


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write_folder({"a": b"1", "a/b": b"2"}, tmp_path / "folder")
    assert os.listdir(tmp_path) == []
