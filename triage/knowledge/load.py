"""Reads rules/*.toml into one typed Knowledge, checks it, and keeps a compiled copy so that a small run stays fast."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from triage.knowledge.cache import cache_folder, read_sealed, write_sealed
from triage.knowledge.caches import CacheKinds
from triage.knowledge.configuration import EngineFlags, Gates, Mechanisms
from triage.knowledge.redaction import Redaction
from triage.knowledge.schema import CommonCauses, Echoes, EngineLines, FaultClass, Forks, Fragment, Instruments, Probes, Troubles, UserText, Xids
from triage.knowledge.whole import Knowledge, overlaid

__all__ = ["Knowledge", "RuleError", "builtin_rules", "load"]

T = TypeVar("T")
FRAGMENTS = "fragments.toml"
_COMPILERS = (  # the code that makes the compiled copy what it is
    "cache.py", "schema.py", "configuration.py", "redaction.py", "caches.py", "fragments.py", "literals.py", "load.py", "patterns.py",
    "user_words.py", "whole.py",
)  # fmt: skip


class RuleError(ValueError):
    """A rule file that cannot be used: the message names the file and the key."""


def builtin_rules() -> Path:
    """The folder of our own rules: inside the wheel, or at the top of a source checkout."""
    package = Path(__file__).resolve().parent.parent
    shipped = package / "_rules"
    return shipped if shipped.is_dir() else package.parent / "rules"


def load(extra: Iterable[Path] = (), *, base: Path | None = None) -> Knowledge:
    """All rules: our own (or, instead of them, those of the folder `base`), then each folder in `extra`, which adds to them.

    What such a folder says under an id of ours stands instead of ours. Raises RuleError where a file is missing, is no TOML, or says
    something the schema does not know.
    """
    files = [(folder, toml_files(folder)) for folder in (base or builtin_rules(), *extra)]
    for folder, found in files:
        if not _are_rules(folder, found):  # whoever gives a folder believes that its rules are tried
            raise RuleError(f"{folder}: no rules in it: classes stand in faults/*.toml, and `triage rules check DIR` tells what else is read")
    stamp = _fingerprint(file for _, found in files for file in found)
    kept = cache_folder() / f"rules-{stamp}.msgpack"
    try:
        return msgspec.msgpack.decode(read_sealed(kept), type=Knowledge)
    except (OSError, ValueError):  # msgspec's errors are ValueErrors
        knowledge = _read_all(files)
        write_sealed(kept, msgspec.msgpack.encode(knowledge))
        return knowledge


def is_whole(folder: Path) -> bool:
    """Whether a folder is a set of rules by itself, and not some that are meant to be added to ours."""
    return (folder / "forks.toml").is_file() and (folder / "faults").is_dir()


def load_folder(folder: Path, extra: Iterable[Path] = ()) -> Knowledge:
    """The rules as one folder has them: a whole set stands instead of ours, some rules are added to ours. Raises RuleError like `load`."""
    return load(extra, base=folder) if is_whole(folder) else load([*extra, folder])


def read_rule_file(path: Path, shape: type[T], known: Mapping[str, str] | None = None) -> T:
    """One rule file as `shape`, its patterns written out with the fragments that are `known`. Raises RuleError naming the file and the key."""
    from triage.knowledge.fragments import written_out

    with _naming(path):
        return msgspec.convert(written_out(_toml(path), known or {}), shape)


def fragments_of(folders: Iterable[Path]) -> dict[str, str]:
    """The text of each fragment by its name: what a folder gives anew holds for it and those after it.

    Raises RuleError naming the file and the key.
    """
    from triage.knowledge.fragments import with_fragments

    known: dict[str, str] = {}
    for file in (folder / FRAGMENTS for folder in folders):
        if file.is_file():
            with _naming(file):
                told = msgspec.convert(_toml(file), dict[str, Fragment])
                known = with_fragments(told, known)
    return known


def _toml(path: Path) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(path.read_text(encoding="utf-8"))


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # TOML's errors, msgspec's and those of fragments are ValueErrors
        raise RuleError(f"{path}: {error}") from error


def toml_files(folder: Path) -> list[Path]:
    """Every TOML file in a folder of rules, in a stable order. Raises RuleError where there is no such folder."""
    if not folder.is_dir():
        raise RuleError(f"{folder}: no such folder of rules")
    return sorted(Path(where, name) for where, _, names in os.walk(folder) for name in names if name.endswith(".toml"))


def has_rules(folder: Path) -> bool:
    """Whether any file in a folder is read as rules; fragments alone are none. Raises RuleError where there is no such folder."""
    return _are_rules(folder, toml_files(folder))


def _are_rules(folder: Path, files: Iterable[Path]) -> bool:
    names = (file.relative_to(folder) for file in files)
    return any(shape_of(name) and name != Path(FRAGMENTS) for name in names)


def shape_of(name: Path) -> type[Any] | None:
    """What a file with this path inside a folder of rules must hold; None where nothing is read from such a place."""
    if len(name.parts) > 1:
        return _FOLDERS.get(name.parts[0])
    return Echoes if name.name == "echoes.toml" else _SINGLE_FILES.get(name.name, ("", None))[1]


def _fingerprint(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        stat = os.stat(file)
        digest.update(f"{file}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    for code in _COMPILERS:
        stat = os.stat(Path(__file__).with_name(code))
        digest.update(f"{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:24]


def _read_all(files: list[tuple[Path, list[Path]]]) -> Knowledge:
    digest = hashlib.sha256()
    for file in (file for _, found in files for file in found):
        digest.update(file.read_bytes())
    knowledge = Knowledge(version="", classes={})
    for number, (folder, found) in enumerate(files, 1):
        known = fragments_of(below for below, _ in files[:number])
        knowledge = overlaid(knowledge, _read_folder(folder, found, known))
    from triage.knowledge.patterns import all_widened
    from triage.knowledge.user_words import needed_texts

    found_out = {"widened": all_widened(knowledge), "needed": needed_texts(knowledge.user_text.begins)}
    return msgspec.structs.replace(knowledge, version=digest.hexdigest()[:12], **found_out)


_FOLDERS: dict[str, type[Any]] = {"faults": FaultClass, "boot": EngineLines, "flags": EngineFlags, "gates": Gates, "mechanisms": Mechanisms}
_SINGLE_FILES: dict[str, tuple[str, type[Any] | None]] = {
    "forks.toml": ("forks", Forks),
    "xid.toml": ("xids", Xids),
    "probes.toml": ("probes", Probes),
    "trouble.toml": ("trouble", Troubles),
    "common_causes.toml": ("common_causes", CommonCauses),
    "caches.toml": ("caches", CacheKinds),
    "instruments.toml": ("instruments", Instruments),
    "user_text.toml": ("user_text", UserText),
    "redact.toml": ("redaction", Redaction),
    FRAGMENTS: ("fragments", dict[str, Fragment]),
}


SINGLE_FILES = ("echoes.toml", *_SINGLE_FILES)


def _read_folder(folder: Path, files: Iterable[Path], known: Mapping[str, str]) -> Knowledge:
    """What one folder says by itself. Raises RuleError where it says two things under one id, or something that is no regex."""
    parts: dict[str, Any] = {"classes": {}, "engines": {}, "flags": {}, "gates": {}, "mechanisms": {}}
    seen: dict[str, Path] = {}
    for file in files:
        name = file.relative_to(folder)
        shape = shape_of(name)
        if shape is None or name == Path(FRAGMENTS):
            continue
        told = read_rule_file(file, shape, known)
        if folder != builtin_rules():
            _refuse_bad_regexes(file, told)
        for own in ids_in(told):
            if own in seen:
                raise RuleError(f"{file}: {own!r} stands in {seen[own]} already: ids are unique")
            seen[own] = file
        _take(parts, name, told)
    return Knowledge(version="", **parts)


def _refuse_bad_regexes(file: Path, told: Any) -> None:
    from triage.knowledge.regexes import bad_regexes

    for rule, what in bad_regexes(told):
        raise RuleError(f"{file}: rule {rule}: {what}")


def _take(parts: dict[str, Any], name: Path, told: Any) -> None:
    if isinstance(told, FaultClass):
        parts["classes"][told.id] = told
    elif isinstance(told, EngineLines):
        parts["engines"][told.engine] = told
    elif isinstance(told, EngineFlags | Gates | Mechanisms):
        parts[name.parts[0]][told.engine] = told
    elif isinstance(told, Echoes):
        parts["echoes"] = told.signatures
    else:
        parts[_SINGLE_FILES[name.name][0]] = told


def ids_in(told: Any) -> list[str]:
    """The ids that a rule file gives, its own first: of a class, an engine, their rules, forks, probe texts and Xids."""
    if isinstance(told, FaultClass):
        return [told.id, *(s.id for s in told.signatures)]
    if isinstance(told, EngineLines):
        return [f"engine {told.engine}", *(line.id for line in told.lines)]
    if isinstance(told, EngineFlags):
        return [f"flags of {told.engine}"]
    if isinstance(told, Gates):
        return [f"gate {gate.id}" for gate in told.gates]
    if isinstance(told, Mechanisms):
        return [f"mechanism {mechanism.id}" for mechanism in told.mechanisms]
    if isinstance(told, Troubles):
        return [line.id for line in told.lines]
    if isinstance(told, CommonCauses):
        return [f"common cause {cause.id}" for cause in told.causes]
    if isinstance(told, Redaction):
        return [f"redaction {rule.id}" for rule in told.rules]
    if isinstance(told, CacheKinds):
        return [f"cache {kind.id}" for kind in told.kinds]
    if isinstance(told, Instruments):
        return [f"instrument {one.id}" for one in told.instruments]
    if isinstance(told, Xids):
        return [f"Xid {xid.number}" for xid in told.xids]
    if isinstance(told, Echoes):
        return [s.id for s in told.signatures]
    if isinstance(told, Probes):
        return [f"probe text {text.id}" for text in told.texts]
    return [f"fork {fork.id}" for fork in told.forks] if isinstance(told, Forks) else []
