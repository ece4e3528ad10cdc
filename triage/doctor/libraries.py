"""The versions of triage, its rules, Python and each library; and of the optional parts what each would give."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec

from triage.doctor.findings import Finding, State
from triage.sources.paths import reason

DISTRIBUTION = "crash-triage"
MODULES = {
    "pyyaml": "yaml", "scikit-learn": "sklearn", "vl-convert-python": "vl_convert", "prometheus-client": "prometheus_client",
}  # fmt: skip
GIVES = {
    "learn": "a classifier that learns from your labels and names what the rules leave unclassified (`triage model`)",
    "remote": "logs by URL, where they lie: s3://, gs:// and whatever else fsspec knows",
    "ray": "many machines or cores at once: `triage classify --backend ray`",
    "fleet": "questions to the histories of many hosts (`triage fleet`), and Parquet",
    "pages": "the interactive page of a postmortem: `triage report --format html`",
}
INSTEAD = {
    "hyperscan": "the fallback scanner is used, at about an eighth of the speed",
    "isal": "gzip is read by zlib, at about a third of the speed",
}
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?(?P<wanted>[^;]*)(?:;(?P<marker>.*))?")
_EXTRA = re.compile(r"extra == ['\"](?P<extra>[^'\"]+)['\"]")


def versions() -> Iterator[Finding]:
    """Of triage, its rules, Python, and each library that it needs."""
    from triage import __version__

    yield Finding("versions", "triage", "ok", __version__)
    yield _rules()
    here = f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}"
    old = sys.version_info < (3, 11)
    yield Finding("versions", "Python", "broken" if old else "ok", here, "triage needs Python 3.11 or newer" if old else "")
    needed = _needed()
    if not needed:
        yield Finding("versions", "distribution", "note", f"{DISTRIBUTION} is not installed, but run from where it lies", "pip install .")
    for name, marker in needed:
        yield from _library(name, marker)


def _rules() -> Finding:
    from triage.knowledge.load import RuleError, builtin_rules, load
    from triage.knowledge.patterns import line_rules

    try:
        known = load()
    except RuleError as error:
        return Finding("versions", "rules", "broken", str(error), "install triage again")
    count = sum(1 for _ in line_rules(known))
    return Finding("versions", "rules", "ok", f"{known.version}: {count} rules, {len(known.classes)} classes, {builtin_rules()}")


def _requirements() -> Sequence[str]:
    from importlib import metadata

    try:
        return metadata.requires(DISTRIBUTION) or ()
    except metadata.PackageNotFoundError:
        return ()


def _needed() -> list[tuple[str, str]]:
    """Each library of the everyday commands, with its marker."""
    found = [told for line in _requirements() if (told := _REQUIREMENT.match(line))]
    return [(told["name"], told["marker"] or "") for told in found if not _EXTRA.search(told["marker"] or "")]


def _library(name: str, marker: str) -> Iterator[Finding]:
    module = _module(name)
    if find_spec(module) is None:
        if marker and name not in INSTEAD:  # meant for other systems
            return
        state: State = "note" if name in INSTEAD else "broken"
        yield Finding("versions", name, state, f"not installed{f': {INSTEAD[name]}' if name in INSTEAD else ''}", f"pip install {name}")
        return
    try:
        import_module(module)
    except Exception as error:  # whatever it is: it will not work for triage either
        yield Finding("versions", name, "broken", f"{_version(name)} cannot be loaded: {reason(error)}", f"pip install --force-reinstall {name}")
        return
    yield Finding("versions", name, "ok", _version(name))


def _module(name: str) -> str:
    return MODULES.get(name.lower(), name.lower().replace("-", "_"))


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "of a version that it does not tell"


def optional_parts() -> Iterator[Finding]:
    """Each extra but the developers' own, and what it gives. What is installed is not loaded: some of it takes seconds."""
    parts: dict[str, list[str]] = {}
    for line in _requirements():
        told, part = _REQUIREMENT.match(line), _EXTRA.search(line)
        if told and part and part["extra"] != "dev":
            parts.setdefault(part["extra"], []).append(told["name"])
    for extra, names in sorted(parts.items()):
        missing = [name for name in names if find_spec(_module(name)) is None]
        gives = GIVES.get(extra, "more")
        if missing:
            yield Finding("optional parts", extra, "absent", f"would give {gives}", f"pip install '{DISTRIBUTION}[{extra}]' ({', '.join(missing)})")
        else:
            yield Finding("optional parts", extra, "ok", f"{', '.join(f'{name} {_version(name)}' for name in names)}: {gives}")
