"""Writes metrics in Prometheus' text format, as the textfile collector wants it: whole or not at all, without timestamps.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from triage.history.metrics import Metric
from triage.report.writing import write_whole


def text(metrics: Iterable[Metric]) -> str:
    """The metrics that have a value; ends with a newline."""
    lines: list[str] = []
    for metric in metrics:
        if metric.values:
            lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
            lines += [f"{metric.name}{_labels(labels)} {_number(value)}" for labels, value in metric.values]
    return "".join(line + "\n" for line in lines)


def write(path: Path, metrics: Iterable[Metric]) -> None:
    """Write the file so that a scrape sees the old one or the new one, readable for the collector. Raises OSError."""
    write_whole(str(path), text(metrics).encode(), mode=0o644)


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
