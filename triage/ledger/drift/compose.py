"""docker compose files: what a service asks of its engine, overrides laid over the base, variables from env_file and environment.

    services:
      vllm:
        image: vllm/vllm-openai:v0.27.0
        env_file: serve.env
        environment: {VLLM_LOGGING_LEVEL: "${LEVEL:-INFO}"}       # wins over env_file
        command: --model acme/oak-8b -tp 8
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from triage.ledger.drift.asked import Ask, AskedError, Setting, Word, variable
from triage.ledger.drift.env_file import content_of, read_variables
from triage.ledger.drift.interpolate import interpolated
from triage.ledger.drift.shell_words import commands
from triage.ledger.drift.yaml_text import Override, OverrideList, Reset, Text, documents, line_of

DEEPEST_EXTENDS = 8
REPLACED = ("command", "entrypoint", "image")
STANDARD = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
SHELL = "the shell that ran compose may have set it"


class Project:
    """The variables that compose knows, and what was assumed of those it takes from the shell."""

    def __init__(self, folder: Path, variables: Mapping[str, str]) -> None:
        self.folder = folder
        self.variables = variables
        self.assumed: dict[str, None] = {}

    def filled(self, value: object) -> tuple[str, str]:
        """A text with its variables replaced, and why it is not known, where it is not."""
        made = interpolated(str(value), self.variables)
        self.assumed |= dict.fromkeys(made.assumed)
        return made.text, f"it depends on ${made.unknown[0]}, which {SHELL.removesuffix(' it')}" if made.unknown else ""


def asks(content: str, file: str, overrides: Sequence[Path] = (), env_files: Sequence[Path] = ()) -> list[Ask]:
    """What each service asks for. `overrides` are laid over the file in order; `env_files` hold the project's variables.

    Raises AskedError naming the file, and its line where there is one.
    """
    folder = Path(file).parent if file != "-" else Path()
    project = Project(folder, _project_variables(folder, env_files))
    services = _services(content, file)
    for path in overrides:
        services = _laid_over(services, _services(content_of(path), str(path)))
    return [_ask(name, _extended(service, services, project, 0), project) for name, service in services.items()]


def beside(file: Path) -> list[Path]:
    """The override that compose itself reads beside a file of a standard name."""
    if file.name not in STANDARD:
        return []
    return [path for end in (".yaml", ".yml") if (path := file.parent / f"{file.stem}.override{end}").is_file()][:1]


def _project_variables(folder: Path, env_files: Sequence[Path]) -> dict[str, str]:
    paths = list(env_files) or [path for path in [folder / ".env"] if path.is_file()]
    return {v.name: v.value for path in paths for v in read_variables(path) if v.value is not None}


def _services(content: str, file: str) -> dict[str, dict[str, Any]]:
    """Each service's mapping, every value in it marked with the file it stands in."""
    found = [document for document in documents(content, file) if isinstance(document, dict)]
    told = found[0].get("services") if found else None
    if not isinstance(told, dict):
        raise AskedError(f"{file}: no `services` in it, so it is no compose file")
    return {str(name): {**service, "\0file": file} for name, service in told.items() if isinstance(service, dict)}


def _laid_over(base: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {**base, **{name: _service_over(base.get(name, {}), service) for name, service in other.items()}}


def _service_over(base: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """One service over another: a command is replaced, an environment merged by name, env_files added."""
    merged = dict(base)
    for key, value in other.items():
        before = base.get(key)
        if isinstance(value, Reset):
            merged.pop(key, None)
        elif key == "environment" and not isinstance(value, Override | OverrideList):
            own = _environment(before, _file_of(base)) if before is not None else []
            merged[key] = [*own, *_environment(value, _file_of(other))]
        elif key == "env_file" and before is not None and not isinstance(value, Override | OverrideList):
            merged[key] = [*_listed(before), *_listed(value)]
        elif key in REPLACED:
            merged[key] = (value, _file_of(other))
        else:
            merged[key] = value
    return merged


def _extended(service: dict[str, Any], services: Mapping[str, dict[str, Any]], project: Project, depth: int) -> dict[str, Any]:
    """The service laid over what it extends."""
    told = service.get("extends")
    if told is None:
        return service
    name = str(told.get("service", "")) if isinstance(told, dict) else str(told)
    within: Mapping[str, dict[str, Any]] = services
    if isinstance(told, dict) and told.get("file"):
        path = project.folder / str(told["file"])
        within = _services(content_of(path), str(path))
    if depth >= DEEPEST_EXTENDS or name not in within:
        why = "which extends itself" if name in within else "which is not there"
        raise AskedError(f"{_file_of(service)}: extends {name!r}, {why}")
    return _service_over(_extended(within[name], within, project, depth + 1), {k: v for k, v in service.items() if k != "extends"})


def _ask(name: str, service: dict[str, Any], project: Project) -> Ask:
    hidden: list[str] = []
    variables = {setting.name: setting for setting in _from_files(service, project, hidden)}
    variables |= {setting.name: _resolved(setting, project) for setting in _environment(service.get("environment"), _file_of(service))}
    words = [*_words(service, "entrypoint", project), *_words(service, "command", project)]
    image = _image(service, project)
    notes = tuple(f"${name} is taken as unset: {SHELL}" for name in project.assumed)
    return Ask(
        what=f"service {name}", words=tuple(words), variables=tuple(variables.values()), image=image, hidden=tuple(hidden), notes=notes
    )  # fmt: skip


def _from_files(service: dict[str, Any], project: Project, hidden: list[str]) -> Iterator[Setting]:
    for told in _listed(service.get("env_file")):
        name = str(told.get("path", "")) if isinstance(told, dict) else str(told)
        path = project.folder / project.filled(name)[0]
        try:
            for setting in read_variables(path):
                yield _resolved(setting, project)
        except AskedError as error:
            hidden.append(f"env_file {name} cannot be read here ({str(error).rpartition(': ')[2]}): what it sets cannot be told")


def _resolved(setting: Setting, project: Project) -> Setting:
    """A variable with its value filled in; one without takes that of the project, where that is known."""
    if setting.value is None:
        known = project.variables.get(setting.name)
        return variable(setting.name, known, setting.place, "" if known is not None else "it is handed on from the shell that ran compose")
    filled, why = project.filled(setting.value)
    return variable(setting.name, filled, setting.place, why)


def _environment(told: Any, file: str) -> list[Setting]:
    """The variables of `environment`, a mapping or a list; those already read are passed on."""
    if isinstance(told, dict):
        kept = [(str(k), v, line_of(v, line_of(k))) for k, v in told.items() if not isinstance(v, Reset)]
        return [variable(name, None if v is None else str(v), f"{file}:{line}") for name, v, line in kept]
    made = []
    for each in told if isinstance(told, list) else []:
        if isinstance(each, Setting):
            made.append(each)
            continue
        name, equals, value = str(each).partition("=")
        made.append(variable(name, value if equals else None, f"{file}:{line_of(each)}"))
    return made


def _words(service: dict[str, Any], key: str, project: Project) -> list[Word]:
    """The words of a command, a list or a text that is split as a shell would, without its operators."""
    told = service.get(key)
    value, file = told if isinstance(told, tuple) else (told, _file_of(service))
    if isinstance(value, list):
        filled = [(project.filled(each), line_of(each)) for each in value if isinstance(each, str)]
        return [Word(made, f"{file}:{line}", why) for (made, why), line in filled]
    if not isinstance(value, str):
        return []
    made, why = project.filled(value)
    split = [word for command in commands(made, None, separators=False) for word in command]
    told = zip(split, _lines(value, split), strict=True)
    return [word._replace(place=f"{file}:{line}", why=why if "$" in word.text else "", several=bool(why)) for word, line in told]


def _lines(value: str, words: Sequence[Word]) -> Iterator[int]:
    """The line of each word of a text: of a block the one it is written in, as far as it is found there."""
    line, written, at = line_of(value, 1), value.written if isinstance(value, Text) else "", 0
    for word in words:
        found = written.find(word.text, at)
        if found >= 0:
            line, at = line + written.count("\n", at, found), found
        yield line


def _image(service: dict[str, Any], project: Project) -> Setting | None:
    told = service.get("image")
    value, file = told if isinstance(told, tuple) else (told, _file_of(service))
    if not isinstance(value, str):
        return None
    made, why = project.filled(value)
    return Setting(kind="image", name="image", value=made, place=f"{file}:{line_of(value)}", given=made, why=why)


def _file_of(service: Mapping[str, Any]) -> str:
    return str(service.get("\0file", ""))


def _listed(told: Any) -> list[Any]:
    return list(told) if isinstance(told, list) else [] if told is None else [told]
