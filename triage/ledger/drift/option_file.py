"""Files of options that a command names, `--config serve.yaml`: what stands in them is asked for, too, and the command's own options win.

    model: acme/oak-8b
    tensor-parallel-size: 8
    served-model-name: [oak, oak-8b]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triage.knowledge.configuration import EngineFlags
from triage.ledger.drift.asked import AskedError, Setting
from triage.ledger.drift.env_file import content_of
from triage.ledger.drift.options import flag_named
from triage.ledger.drift.yaml_text import documents, line_of


def with_files(told: Sequence[Setting], known: EngineFlags, asked: str) -> tuple[list[Setting], list[str]]:
    """The options with those of the files they name under them, and what of those cannot be seen. `asked`: the file they stand in."""
    settings = {setting.name: setting for setting in told}
    unseen = []
    for name in (name for name in known.files if name in settings):
        file = settings[name]
        try:
            settings = {setting.name: setting for setting in options_in(_beside(str(file.value), asked), known)} | settings
        except AskedError:
            unseen.append(f"the file of --{name.replace('_', '-')}, which cannot be read here")
    return list(settings.values()), unseen


def options_in(path: Path, known: EngineFlags) -> list[Setting]:
    """The options in a YAML file, each with its line. Raises AskedError naming the file."""
    found = [document for document in documents(content_of(path), str(path)) if isinstance(document, dict)]
    if not found:
        raise AskedError(f"{path}: no `option: value` in it")
    return [_setting(str(key), value, f"{path}:{line_of(key)}", known) for key, value in found[0].items()]


def _setting(key: str, value: Any, place: str, known: EngineFlags) -> Setting:
    flag = flag_named(f"--{key.lstrip('-')}", known)
    plain = _plain(value)
    listed = [plain] if flag.type == "list" and isinstance(plain, str) else plain
    return Setting(kind="option", name=flag.name, value=listed, place=place, given=key)


def _plain(value: Any) -> Any:
    """A value as it would stand in a command: texts without their lines, nothing as an empty text."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else "" if value is None else str(value)


def _beside(name: str, asked: str) -> Path:
    """The file that is meant: where it says, or of the same name beside what names it, where both were copied from elsewhere."""
    folder = Path(asked).parent if asked != "-" else Path()
    path, copy = folder / name, folder / Path(name).name
    return copy if copy.is_file() and not path.is_file() else path
