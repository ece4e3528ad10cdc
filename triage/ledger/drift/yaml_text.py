"""YAML as the texts that stand in it, each with its line: no number, date or truth value is made of them, so 0.90 stays 0.90 and `yes` is `yes`.

Only YAML's safe types, no object of any class; sizes, depth and what aliases blow up to are bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from triage.ledger.drift.asked import AskedError

if TYPE_CHECKING:
    import yaml

LARGEST = 1 << 20
MOST_NODES = 200_000
DEEPEST = 60


class Text(str):
    """A text of a YAML file, the line it begins in, and as it is written there where it has lines of its own."""

    __slots__ = ("line", "written")
    line: int
    written: str


class Reset:
    """What compose's `!reset` stands for: the key as if nobody had written it."""


class Override(dict[str, Any]):
    """A mapping marked `!override`: it stands instead of what it would be merged with."""


class OverrideList(list[Any]):
    """A list marked `!override`."""


def text(value: str, line: int, written: str = "") -> Text:
    made = Text(value)
    made.line, made.written = line, written
    return made


def line_of(value: object, otherwise: int = 0) -> int:
    return value.line if isinstance(value, Text) else otherwise


def documents(content: str, file: str) -> list[Any]:
    """The documents of a YAML file: dicts, lists, texts and None. Raises AskedError naming file and line."""
    import yaml

    if len(content) > LARGEST:
        raise AskedError(f"{file}: larger than {LARGEST >> 20} MB, which no such file is")
    try:
        found = list(yaml.load_all(content, Loader=_loader(content)))
    except yaml.MarkedYAMLError as error:
        raise AskedError(_told(error, content, file)) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise AskedError(f"{file}: cannot be read as YAML: {str(error).splitlines()[0] if str(error) else 'nested too deep'}") from error
    for each in found:
        _bounded(each, file)
    return found


def _told(error: yaml.MarkedYAMLError, content: str, file: str) -> str:
    line = error.problem_mark.line + 1 if error.problem_mark else 0
    where = f"{file}:{line}" if line else file
    if "{{" in content:
        return f"{where}: a template, not yet YAML: render it first (`helm template ...`)"
    return f"{where}: cannot be read as YAML: {error.problem or 'wrong syntax'}"


def _loader(content: str) -> type[yaml.SafeLoader]:
    """A safe loader that gives texts with their lines, None for what is empty, and knows compose's tags."""
    import yaml

    kept = ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")
    resolvers = {key: [pair for pair in pairs if pair[0] in kept] for key, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()}

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = resolvers

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            super().flatten_mapping(node)
            if len(node.value) > MOST_NODES:  # keys that `<<` merges, and merges again
                raise yaml.YAMLError(f"its merged keys are more than {MOST_NODES:,}")

    def scalar(_loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Text:
        start, end = node.start_mark, node.end_mark
        block = node.style in ("|", ">")
        return text(str(node.value), start.line + 1, content[start.index : end.index] if block else "")

    def override(loader: yaml.SafeLoader, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return Override({str(k): v for k, v in loader.construct_mapping(node, deep=True).items()})
        return OverrideList(loader.construct_sequence(node, deep=True)) if isinstance(node, yaml.SequenceNode) else scalar(loader, node)

    for tag in ("str", "int", "float", "bool", "timestamp", "binary"):
        Loader.add_constructor(f"tag:yaml.org,2002:{tag}", scalar)
    Loader.add_constructor("!override", override)
    Loader.add_constructor("!reset", lambda _loader, _node: Reset())
    return Loader


def _bounded(document: Any, file: str) -> None:
    """Raises AskedError where a document, its aliases written out, is deeper or has more nodes than any real one."""
    sizes: dict[int, int] = {}

    def size(value: Any, depth: int) -> int:
        if depth > DEEPEST:
            raise AskedError(f"{file}: nested deeper than {DEEPEST} levels")
        if not isinstance(value, dict | list):
            return 1
        if id(value) not in sizes:
            parts = value.values() if isinstance(value, dict) else value
            sizes[id(value)] = 1 + sum(size(part, depth + 1) for part in parts)
        if sizes[id(value)] > MOST_NODES:
            raise AskedError(f"{file}: its aliases stand for more than {MOST_NODES:,} values")
        return sizes[id(value)]

    size(document, 0)
