"""Kubernetes manifests (also `kubectl get pod -o yaml|json`): what a container asks of its engine.

    containers:
    - name: vllm
      command: ["vllm", "serve"]
      args: ["acme/oak-8b", "--tensor-parallel-size=$(TP)"]
      env: [{name: TP, value: "8"}, {name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}]
      envFrom: [{configMapRef: {name: serving}}]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from triage.ledger.drift.asked import Ask, Setting, Word, variable
from triage.ledger.drift.yaml_text import line_of

DEEPEST = 24
_REFERENCE = re.compile(r"\$(?:\$|\((?P<name>[A-Za-z_][\w.-]*)\))")
ConfigMaps = Mapping[str, Mapping[str, object]]


def looks_like(documents: Sequence[Any]) -> bool:
    """Whether a document is an object of Kubernetes."""
    return any(isinstance(document, dict) and "apiVersion" in document and "kind" in document for document in documents)


def asks(documents: Sequence[Any], file: str) -> list[Ask]:
    """What each container of each workload asks for. ConfigMaps in the same file are read, any other is not known."""
    objects = [each for document in documents for each in _items(document)]
    maps = {_name(each): each["data"] for each in objects if each.get("kind") == "ConfigMap" and isinstance(each.get("data"), dict)}
    notes = tuple(
        f"a Service called {name}: pods that start after it get {name.upper()}_PORT and more, which an engine may read as its own variables"
        for each in objects if each.get("kind") == "Service" and (name := _name(each)).startswith(("vllm", "sglang"))
    )  # fmt: skip
    return [_ask(each, container, maps, file, notes) for each in objects for container in _containers(each, 0)]


def _items(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict):
        listed = document.get("items") if str(document.get("kind", "")).endswith("List") else None
        yield from (each for each in listed if isinstance(each, dict)) if isinstance(listed, list) else (document,)


def _containers(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Every container below, wherever a kind of workload has its pods' template."""
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        for key, below in value.items():
            if key == "containers" and isinstance(below, list):
                yield from (each for each in below if isinstance(each, dict))
            elif key != "status":
                yield from _containers(below, depth + 1)
    elif isinstance(value, list):
        for below in value:
            yield from _containers(below, depth + 1)


def _ask(owner: dict[str, Any], container: dict[str, Any], maps: ConfigMaps, file: str, notes: tuple[str, ...]) -> Ask:
    hidden: list[str] = []
    variables: dict[str, Setting] = {}
    for setting in (*_from_others(container, maps, file, hidden), *_environment(container, maps, file)):
        variables[setting.name] = _referring(setting, variables)
    words = [_word(each, variables, file) for key in ("command", "args") for each in _listed(container.get(key))]
    image = container.get("image")
    return Ask(
        what=f"{str(owner.get('kind', 'object')).lower()} {_name(owner)}, container {container.get('name', '?')}",
        words=tuple(words),
        variables=tuple(variables.values()),
        image=Setting(kind="image", name="image", value=str(image), place=f"{file}:{line_of(image)}", given=str(image)) if image else None,
        hidden=tuple(hidden),
        notes=notes,
    )


def _from_others(container: dict[str, Any], maps: ConfigMaps, file: str, hidden: list[str]) -> Iterator[Setting]:
    """Variables of envFrom: a ConfigMap of the same file is known as it stands there now, everything else is not."""
    for source in _listed(container.get("envFrom")):
        if not isinstance(source, dict):
            continue
        prefix = str(source.get("prefix") or "")
        for kind, reference in source.items():
            if not isinstance(reference, dict):
                continue
            name = str(reference.get("name", "?"))
            if kind == "configMapRef" and name in maps:
                yield from (variable(f"{prefix}{key}", str(value), f"{file}:{line_of(value)}") for key, value in maps[name].items())
                hidden.append(f"ConfigMap {name} is taken as it stands in the file: a pod keeps what it was when the pod started")
            else:
                what = "ConfigMap" if kind == "configMapRef" else "Secret" if kind == "secretRef" else kind
                hidden.append(f"what {what} {name} sets cannot be observed from the manifest")


def _environment(container: dict[str, Any], maps: ConfigMaps, file: str) -> Iterator[Setting]:
    for each in _listed(container.get("env")):
        if not isinstance(each, dict) or "name" not in each:
            continue
        name, place = str(each["name"]), f"{file}:{line_of(each['name'])}"
        told = each.get("valueFrom")
        if isinstance(told, dict):
            yield _of_reference(name, told, maps, place)
        else:
            value = each.get("value")
            yield variable(name, "" if value is None else str(value), place)


def _of_reference(name: str, told: dict[str, Any], maps: ConfigMaps, place: str) -> Setting:
    kind, reference = next(iter(told.items()))
    owner, key = (str(reference.get("name", "?")), str(reference.get("key", ""))) if isinstance(reference, dict) else ("?", "")
    if kind == "configMapKeyRef" and key in maps.get(owner, {}):
        return variable(name, str(maps[owner][key]), place)
    words = {"configMapKeyRef": f"ConfigMap {owner}", "secretKeyRef": f"Secret {owner}", "fieldRef": "the pod itself"}
    return variable(name, None, place, f"it comes from {words.get(str(kind), str(kind))}")


def _referring(setting: Setting, variables: Mapping[str, Setting]) -> Setting:
    if not isinstance(setting.value, str) or "$" not in setting.value:
        return setting
    made, why = _expanded(setting.value, variables)
    return variable(setting.name, made, setting.place, why)


def _word(told: object, variables: Mapping[str, Setting], file: str) -> Word:
    made, why = _expanded(str(told), variables)
    return Word(made, f"{file}:{line_of(told)}", why)


def _expanded(text: str, variables: Mapping[str, Setting]) -> tuple[str, str]:
    """`$(NAME)` with its value, as the kubelet does it; a name that is not there stays as it is written."""
    why: list[str] = []

    def value(found: re.Match[str]) -> str:
        if found["name"] is None:
            return "$"
        known = variables.get(found["name"])
        if known is None:
            return found[0]
        if known.value is None:
            why.append(known.why)
        return found[0] if known.value is None else str(known.value)

    return _REFERENCE.sub(value, text), next(iter(why), "")


def _name(each: Mapping[str, Any]) -> str:
    told = each.get("metadata")
    return str(told.get("name", "?")) if isinstance(told, dict) else "?"


def _listed(told: Any) -> list[Any]:
    return told if isinstance(told, list) else []
