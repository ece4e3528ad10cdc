"""Command lines and scripts, `docker run` among them: what the command that starts an engine asks of it.

    export NCCL_DEBUG=WARN
    docker run -e VLLM_USE_V1=1 --env-file serve.env vllm/vllm-openai:v0.27.0 --model acme/oak-8b
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from triage.knowledge.configuration import EngineFlags
from triage.ledger.drift.asked import Ask, AskedError, Setting, Word, variable
from triage.ledger.drift.env_file import read_variables
from triage.ledger.drift.options import engine_start, inner_command
from triage.ledger.drift.shell_words import assignment, commands

DEEPEST = 4
EXPORTS = ("export", "declare", "typeset")
# Options of `docker run` (and podman's) that take a value in the next word; of all others a value follows behind `=`, or there is none.
VALUED = frozenset(
    {
        "-e", "--env", "--env-file", "-v", "--volume", "-p", "--publish", "--name", "--gpus", "--shm-size", "--network", "--net", "-w", "--workdir",
        "-u", "--user", "--entrypoint", "--ipc", "--restart", "--ulimit", "--runtime", "--device", "--label", "-l", "--log-driver", "--log-opt",
        "--cpus", "-m", "--memory", "--mount", "--hostname", "-h", "--add-host", "--cap-add", "--security-opt", "--pid", "--cpuset-cpus",
        "--platform", "--pull", "--tmpfs", "--group-add", "--cgroupns", "--stop-timeout", "--health-cmd", "--expose", "--dns",
    }
)  # fmt: skip


class _Container(NamedTuple):
    """A `docker run`: the variables it gives, its image, and the words of the command in it."""

    variables: list[Setting]
    image: Word
    words: list[Word]
    hidden: list[str]


def asks(
    text: str, file: str, flags: Mapping[str, EngineFlags], *, depth: int = 0, first_line: int = 1, variables: Mapping[str, str | None] | None = None
) -> list[Ask]:
    """What each command in the text asks for that starts an engine, with the variables that were exported before it.

    `variables` are those that the shell has already (a value of None is not known).
    """
    found: list[Ask] = []
    exported: dict[str, Setting] = {}
    hidden: list[str] = []
    for command in commands(text, variables or {}, file, first_line=first_line):
        words, own = _leading(command)
        if not words or words[0].text in EXPORTS:
            again = [setting for setting in own if setting.name in exported]  # a name that was exported stays so
            exported |= {setting.name: setting for setting in (*again, *_exports(words))}
            continue
        if words[0].text in (".", "source") and len(words) > 1:
            hidden.append(f"{words[1].text} is read by the script: what it sets cannot be told from here")
            continue
        around = {**exported, **{setting.name: setting for setting in own}}
        found += [_with(one, around, hidden) for one in _of_command(words, file, flags, depth)]
    return found


def _of_command(words: Sequence[Word], file: str, flags: Mapping[str, EngineFlags], depth: int) -> Iterator[Ask]:
    inner = inner_command(words)
    if inner is not None and depth < DEEPEST:
        line = int(inner.place.rpartition(":")[2] or 1) if inner.place else 1
        yield from asks(inner.text, file, flags, depth=depth + 1, first_line=line)
        return
    container = _container(words, file)
    if container is not None:
        told = container.image
        image = Setting(kind="image", name="image", value=told.text, place=told.place, given=told.text, why=told.why)
        yield Ask(what="docker run", words=tuple(container.words), variables=tuple(container.variables), image=image, hidden=tuple(container.hidden))
    elif engine_start(words, flags) is not None:
        yield Ask(what="command", words=tuple(words))


def _leading(command: Sequence[Word]) -> tuple[list[Word], list[Setting]]:
    """A command without what stands before it (`A=1`, `env`, `exec`, `sudo -E` ...), and the variables set there."""
    words, own = list(command), []
    while words:
        told = assignment(words[0])
        if told is not None:
            own.append(variable(told[0], told[1].text, words[0].place, told[1].why))
        elif words[0].text not in ("env", "exec", "nohup", "sudo", "-E", "time", "command", "then", "do", "else", "!"):
            break
        words = words[1:]
    return words, own


def _exports(words: Sequence[Word]) -> Iterator[Setting]:
    for word in words[1:]:
        if (told := assignment(word)) is not None:
            yield variable(told[0], told[1].text, word.place, told[1].why)


def _with(ask: Ask, around: Mapping[str, Setting], hidden: Sequence[str]) -> Ask:
    """The ask with the variables of its shell; a container has only those that it was given."""
    inherited = [] if ask.image is not None else [s for name, s in around.items() if name not in {v.name for v in ask.variables}]
    given = [_handed_on(setting, around) for setting in ask.variables]
    return Ask(
        what=ask.what, words=ask.words, variables=(*inherited, *given), image=ask.image, hidden=(*ask.hidden, *hidden), notes=ask.notes
    )  # fmt: skip


def _handed_on(setting: Setting, around: Mapping[str, Setting]) -> Setting:
    """`-e NAME` takes the value that the shell has."""
    known = around.get(setting.name)
    return variable(setting.name, known.value, setting.place, known.why) if setting.value is None and known is not None else setting


def _container(words: Sequence[Word], file: str) -> _Container | None:
    texts = [word.text.rpartition("/")[2] for word in words]
    at = next((i for i in range(len(texts) - 1) if texts[i] in ("docker", "podman", "nerdctl") and texts[i + 1] in ("run", "create")), None)
    if at is None:
        return None
    variables: list[Setting] = []
    hidden: list[str] = []
    entry: list[Word] = []
    rest = list(words[at + 2 :])
    while rest and rest[0].text.startswith("-"):
        name, equals, inline = rest[0].text.partition("=")
        value = rest[0]._replace(text=inline) if equals else rest[1] if name in VALUED and len(rest) > 1 else None
        rest = rest[2 if value is not None and not equals else 1 :]
        if value is not None and name in ("-e", "--env"):
            variables.append(_given(value))
        elif value is not None and name == "--env-file":
            variables += _from_file(value, file, hidden)
        elif value is not None and name == "--entrypoint":
            entry = [value]
    return _Container(variables, rest[0], [*entry, *rest[1:]], hidden) if rest else None


def _given(word: Word) -> Setting:
    told = assignment(word)
    if told is None:
        return variable(word.text, None, word.place, "it is handed on from the shell")
    return variable(told[0], told[1].text, word.place, word.why)


def _from_file(value: Word, file: str, hidden: list[str]) -> list[Setting]:
    path = (Path(file).parent if file not in ("", "-") else Path()) / value.text
    try:
        return read_variables(path)
    except AskedError as error:
        hidden.append(f"--env-file {value.text} cannot be read here ({str(error).rpartition(': ')[2]}): what it sets cannot be told")
        return []
