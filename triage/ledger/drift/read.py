"""Reads what somebody asked for, from whatever it stands in: the kind is told by content, and the one ask that starts an engine is chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from triage.knowledge.configuration import EngineFlags
from triage.ledger.drift import captures, compose, kubernetes, shell, systemd
from triage.ledger.drift.asked import Ask, AskedError, Setting, Word
from triage.ledger.drift.env_file import WIDE, text_of
from triage.ledger.drift.option_file import with_files
from triage.ledger.drift.options import engine_start, inner_command, options_of, unseen_in
from triage.ledger.drift.yaml_text import documents

LARGEST = 4 << 20
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")  # what no command line has: not even a coloured one
Flags = Mapping[str, EngineFlags]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What the user named: the bytes, the name to show, and the files that are laid over it or hold its variables."""

    content: bytes
    file: str
    overrides: tuple[Path, ...] = ()
    env_files: tuple[Path, ...] = ()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One ask with its options, for one engine; `options` is None where no command of it could be read.

    `unseen`: what may hold more options, and cannot be seen from here.
    """

    ask: Ask
    engine: str
    options: tuple[Setting, ...] | None
    unseen: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()


def asked_of(source: Source, flags: Flags, service: str = "") -> Asked:
    """What the source asks of an engine; of several the one that `service` names. Raises AskedError naming the file and what is possible."""
    if len(source.content) > LARGEST:
        raise AskedError(f"{source.file}: larger than {LARGEST >> 20} MB, which no such file is")
    if not source.content.strip(b" \t\r\n\0"):
        raise AskedError(f"{source.file}: is empty")
    every, overrides = _asks(source, flags)
    parts = [part for ask in every for part in _opened(ask, source.file, flags)]
    chosen = _chosen(parts, source.file, service, flags)
    engine, words = _option_words(chosen, flags)
    if words is None:
        return Asked(ask=chosen, engine=engine, options=None, overrides=tuple(map(str, overrides)))
    known = flags.get(engine) or EngineFlags(engine=engine)
    options, unseen = with_files(options_of(words, known), known, source.file)
    return Asked(
        ask=chosen, engine=engine, options=tuple(options), unseen=(*unseen_in(words, known), *unseen), overrides=tuple(map(str, overrides))
    )  # fmt: skip


def _asks(source: Source, flags: Flags) -> tuple[list[Ask], Sequence[Path]]:
    """All asks of a source, and the files that were laid over it without being named."""
    content, file = source.content, source.file
    if b"\0" in content and not content.startswith(WIDE):
        return [captures.of_process(content, file)], ()
    path, text = Path(file), text_of(content)
    if text.lstrip().startswith(("[{", "[\n", "[ ")) or (text.lstrip().startswith("{") and '"Config"' in text):
        return captures.of_inspect(text.encode(), file), ()
    if systemd.looks_like(text):
        found = list(source.overrides) or systemd.drop_ins(path)
        return [systemd.ask(text, file, found)], found
    if _is_yaml(text):
        told = documents(text, file)
        if kubernetes.looks_like(told):
            return kubernetes.asks(told, file), ()
        if any(isinstance(each, dict) and "services" in each for each in told):
            found = list(source.overrides) or compose.beside(path)
            return compose.asks(text, file, found, source.env_files), found
    return shell.asks(text, file, flags), ()


def _is_yaml(text: str) -> bool:
    """Whether a text has the first keys of a compose file or a manifest, or is JSON of the latter."""
    keys = ("services:", "apiVersion:", "kind:")
    return text.lstrip().startswith("{") or any(line.startswith(keys) for line in text.splitlines())


def _opened(ask: Ask, file: str, flags: Flags) -> list[Ask]:
    """The ask, or what the text says that a shell in it is to run."""
    inner = inner_command(ask.words)
    if inner is None:
        return [ask]
    line = inner.place.rpartition(":")[2]
    known = {setting.name: None if setting.why else setting.value for setting in ask.variables}
    found = shell.asks(inner.text, file, flags, first_line=int(line) if line.isdecimal() else 1, variables=known)
    if not found:
        return [ask]
    return [
        msgspec.structs.replace(
            ask, words=one.words, variables=(*ask.variables, *one.variables), hidden=(*ask.hidden, *one.hidden), notes=(*ask.notes, *one.notes)
        )
        for one in found
    ]  # fmt: skip


def _chosen(asks: Sequence[Ask], file: str, service: str, flags: Flags) -> Ask:
    if service:
        named = [ask for ask in asks if service in ask.what.replace(",", " ").split()]
        if not named:
            raise AskedError(f"{file}: no {service!r} in it; there is {_names(asks) or 'nothing that could be one'}")
        return named[-1]
    starting = [ask for ask in asks if _engine(ask, flags)]
    if len(starting) == 1 or (starting and len({ask.what for ask in starting}) == 1):
        return starting[-1]
    if len(starting) > 1:
        raise AskedError(f"{file}: several start an engine: {_names(starting)}; choose one with --service NAME")
    if len(asks) == 1 and (asks[0].variables or (asks[0].words and asks[0].image is not None)):
        return asks[0]
    if any(_BINARY.search(word.text) for ask in asks for word in ask.words):
        raise AskedError(f"{file}: is binary, and no copy of /proc/PID/environ or cmdline of an engine")
    raise AskedError(f"{file}: nothing in it starts an engine that is known ({', '.join(sorted(flags))}){_seen(asks)}")


def _seen(asks: Sequence[Ask]) -> str:
    return f"; there is {_names(asks)}: choose one with --service NAME" if asks else ""


def _names(asks: Sequence[Ask]) -> str:
    return "; ".join(dict.fromkeys(ask.what for ask in asks))


def _engine(ask: Ask, flags: Flags) -> str:
    """The engine that an ask starts: by its command, else by its image."""
    start = engine_start(ask.words, flags)
    if start is not None:
        return start[0]
    image = str(ask.image.value).casefold() if ask.image is not None else ""
    return next((name for name, known in flags.items() if any(part in image for part in known.images)), "")


def _option_words(ask: Ask, flags: Flags) -> tuple[str, Sequence[Word] | None]:
    """The engine, and the words of its options; None where nothing of a command is there to be read."""
    start = engine_start(ask.words, flags)
    if start is not None:
        return start[0], ask.words[start[1] :]
    engine = _engine(ask, flags)
    if not engine or not ask.words:
        return engine, () if engine and ask.image is not None else None
    first = next((at for at, word in enumerate(ask.words) if word.text.startswith("-")), None)
    if first == 1 or (first is None and len(ask.words) == 1 and "/" in ask.words[0].text):
        return engine, ask.words  # the image starts the engine itself: the model stands before the options
    return engine, ask.words[first:] if first is not None else None
