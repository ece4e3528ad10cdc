"""What a bundle says of itself: its incidents, what was taken out, and the SHA-256 of each file; and whether that is still so."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from triage.report.bundle.archive import BundleError

SCHEMA = "triage-bundle/1"
MANIFEST = "manifest.json"


class Listed(msgspec.Struct, frozen=True):
    """A file of a bundle: its size in bytes and its SHA-256 in hex."""

    name: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """manifest.json. `taken_out` counts by kind what was redacted; `notes` say what is not in it and why."""

    schema: str
    triage: str
    rules: str
    redacted: bool
    taken_out: dict[str, int] = {}
    incidents: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[Listed, ...] = ()


def with_manifest(files: Mapping[str, bytes], manifest: Manifest) -> dict[str, bytes]:
    """The files, and a manifest that lists them all."""
    listed = tuple(Listed(name, len(files[name]), hashlib.sha256(files[name]).hexdigest()) for name in sorted(files))
    whole = msgspec.to_builtins(msgspec.structs.replace(manifest, files=listed))
    return {**files, MANIFEST: orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)}


def manifest_of(files: Mapping[str, bytes]) -> Manifest:
    """The manifest of a bundle. Raises BundleError where there is none, or one that this triage does not know."""
    try:
        manifest = msgspec.json.decode(files[MANIFEST], type=Manifest)
    except KeyError:
        raise BundleError(f"no bundle of triage's: it has no {MANIFEST}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"{MANIFEST}: {error}") from None
    if manifest.schema != SCHEMA:
        raise BundleError(f"{MANIFEST}: schema {manifest.schema[:40]!r}, and this triage knows {SCHEMA}: use a newer one")
    return manifest


def flaws(files: Mapping[str, bytes], manifest: Manifest) -> list[str]:
    """What is not as the manifest says: files that are missing, that it does not list, or whose content is another."""
    listed = {one.name: one for one in manifest.files}
    found = [f"{name}: is missing" for name in sorted(listed.keys() - files.keys())]
    found += [f"{name}: is not in the manifest" for name in sorted(files.keys() - listed.keys() - {MANIFEST})]
    for name in sorted(listed.keys() & files.keys()):
        if hashlib.sha256(files[name]).hexdigest() != listed[name].sha256:
            found.append(f"{name}: is not what was packed (its SHA-256 is another)")
    return found
