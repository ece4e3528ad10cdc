"""What `triage unknown` prints: clusters of unknown incidents, each with its count, times and an example; as text, Markdown or `triage-unknown/1`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from triage.model import Findings
from triage.report import words
from triage.report.document import cited, instant
from triage.report.draft import Draft
from triage.report.redact import Redactor, knowing
from triage.verdict.normalise import MASK_VERSION
from triage.verdict.unknown import Cluster

SCHEMA = "triage-unknown/1"
LINE_WIDTH = 160


def text(findings: Findings, clusters: Sequence[Cluster], drafts: Sequence[Draft] = (), *, markdown: bool = False) -> str:
    """The clusters for people, the biggest first."""
    count = sum(len(cluster.members) for cluster in clusters)
    if not count:
        return f"nothing unknown: each of {words.number(len(findings.verdicts), 'incident')} has a class"
    of = f"{words.number(count, 'unknown incident')} of {len(findings.verdicts)} in {words.number(len(clusters), 'cluster')}"
    parts = [f"{of}; lines masked by version {MASK_VERSION}"]
    redactor = knowing(Redactor(), findings)
    for number, cluster in enumerate(clusters):
        draft = drafts[number] if drafts else None
        parts.append("\n".join(_markdown(cluster, draft, redactor) if markdown else _lines(cluster, draft, redactor)))
    written = [draft for draft in drafts if draft.file]
    if written:
        parts.append(f"{words.number(len(written), 'rule')} drafted: read them, `triage rules check` the folder, then use it with --rules")
    return "\n\n".join(parts)


def _lines(cluster: Cluster, draft: Draft | None, redactor: Redactor) -> Iterator[str]:
    yield f"{cluster.id}  {len(cluster.members)}x  {_when(cluster)}  family {cluster.family}"
    yield f"  {words.clean(redactor.text(cluster.mask), LINE_WIDTH)}"
    if cluster.example is not None:
        yield f"  e.g. {words.where(cluster.example.place)}, incident {cluster.members[0].incident.id}"
        yield f"    {words.clean(redactor.text(cluster.example.text.strip()), LINE_WIDTH)}"
    if draft is not None:
        yield f"  {_drafted(draft)}"


def _markdown(cluster: Cluster, draft: Draft | None, redactor: Redactor) -> Iterator[str]:
    head, *rest = (line.strip() for line in _lines(cluster, draft, redactor))
    yield f"### {head}\n"
    yield from (f"    {line}" for line in rest)


def _when(cluster: Cluster) -> str:
    if cluster.first is None or cluster.last is None:
        return "at unknown times"
    first, last = words.minute(cluster.first.earliest), words.minute(cluster.last.earliest)
    return f"{first} UTC" if first == last else f"{first} .. {last} UTC"


def _drafted(draft: Draft) -> str:
    return f"drafted {words.clean(draft.file)}" if draft.file else f"no draft: {words.clean(draft.refused)}"


def document(findings: Findings, clusters: Sequence[Cluster], drafts: Sequence[Draft] = ()) -> dict[str, Any]:
    """The clusters as JSON values: the keys of `triage-unknown/1`."""
    redactor = knowing(Redactor(), findings)
    return {
        "schema": SCHEMA,
        "masks": MASK_VERSION,
        "incidents": len(findings.verdicts),
        "unknown": sum(len(cluster.members) for cluster in clusters),
        "clusters": [_cluster(cluster, drafts[number] if drafts else None, redactor) for number, cluster in enumerate(clusters)],
    }


def _cluster(cluster: Cluster, draft: Draft | None, redactor: Redactor) -> dict[str, Any]:
    example = cited(cluster.example)
    if example is not None:
        example["text"] = redactor.text(example["text"])
    return {
        "id": cluster.id,
        "count": len(cluster.members),
        "family": cluster.family,
        "mask": words.clean(redactor.text(cluster.mask)),
        "first_seen": instant(cluster.first),
        "last_seen": instant(cluster.last),
        "incidents": [verdict.incident.id for verdict in cluster.members],
        "example": example,
        **({"draft": {"file": draft.file or None, "refused": draft.refused or None}} if draft else {}),
    }
