"""Holds the files of a folder of rules against the schema, one by one, so that all that is wrong is said at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from triage.knowledge.flaws import Flaw
from triage.knowledge.load import FRAGMENTS, SINGLE_FILES, RuleError, fragments_of, ids_in, read_rule_file, shape_of, toml_files
from triage.knowledge.places import line_of_table, places, shown
from triage.knowledge.regexes import bad_regexes
from triage.knowledge.schema import FaultClass

_TABLE_OF_KEY = re.compile(r"at `\$\.(?P<table>\w+)\[(?P<index>\d+)\]")
_CLASS_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LINE_OF_TOML = re.compile(r"at line (?P<line>\d+)")


def in_files(folder: Path, below: Iterable[Path] = ()) -> Iterator[Flaw]:
    """What keeps files of a folder from being read: no TOML, a key that the schema does not know, an id that is there twice.

    `below` are the folders whose fragments its patterns may use. Raises RuleError where there is no such folder.
    """
    seen: dict[str, Path] = {}
    where = places([folder])
    try:
        known = fragments_of([*below, folder])
    except RuleError as error:
        yield _unread(folder / FRAGMENTS, error)
        return
    found = toml_files(folder)
    if not found:
        yield Flaw(check="file", what="holds no rules: there is no file whose name ends in .toml", place=shown(folder))
    for file in found:
        shape = shape_of(file.relative_to(folder))
        if shape is None:
            what = f"is never read: rules stand in faults/, boot/, flags/, gates/, mechanisms/, {', '.join(SINGLE_FILES)}"
            yield Flaw(check="file", what=what, place=shown(file))
            continue
        try:
            told = read_rule_file(file, shape, known)
        except RuleError as error:
            yield _unread(file, error)
            continue
        yield from (msgspec.structs.replace(flaw, place=where.get(flaw.rule, shown(file))) for flaw in _names(file, told))
        yield from (Flaw(check="pattern", what=what, rule=rule, place=where.get(rule, shown(file))) for rule, what in bad_regexes(told))
        for own in ids_in(told):
            if own in seen:
                yield Flaw(check="id", what=f"stands in {shown(seen[own])} already: ids are unique", rule=own, place=shown(file))
            seen.setdefault(own, file)


def _unread(file: Path, error: RuleError) -> Flaw:
    what = str(error).removeprefix(f"{file}: ")
    return Flaw(check="schema", what=what, place=_place(file, what))


def _place(file: Path, what: str) -> str:
    """The file, with the line of the table whose key is wrong, or the line that is no TOML."""
    table, line = _TABLE_OF_KEY.search(what), _LINE_OF_TOML.search(what)
    number = int(line["line"]) if line else line_of_table(file, table["table"], int(table["index"])) if table else None
    return f"{shown(file)}:{number}" if number else shown(file)


def _names(file: Path, told: object) -> Iterator[Flaw]:
    if not isinstance(told, FaultClass):
        return
    if not _CLASS_ID.fullmatch(told.id):
        yield Flaw(check="name", what=f"a class is named in small letters, digits and single hyphens between them, not {told.id!r}", rule=told.id)
    elif file.stem != told.id:
        yield Flaw(check="name", what=f"the file of a class is named after it: {told.id}.toml", rule=told.id)
    for signature in told.signatures:
        if not signature.id.startswith(f"{told.id}/"):
            yield Flaw(check="name", what=f"the ids of this class begin with {told.id}/", rule=signature.id)
