"""Clusters the incidents that no rule named, by what their best lines say once everything volatile in them is masked."""

from __future__ import annotations

import hashlib
import importlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from triage.model import UNCLASSIFIED, Event, Instant, Verdict
from triage.verdict.best_lines import message
from triage.verdict.forks import PROBE_WORDS
from triage.verdict.normalise import MASK_VERSION, masked, words

Likeness = Literal["exact", "words", "text"]
ALIKE_WORDS = 0.6  # share of words that two masks must have in common
ALIKE_TEXT = 0.4  # greatest distance (1 - cosine of character n-grams) between masks of one cluster
MOST_COMPARED = 2000
NO_LINE = "no line was found"


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Unknown incidents that say the same: the mask they share, which they are, the line of the first, and from when to when."""

    id: str
    mask: str
    members: tuple[Verdict, ...]
    example: Event | None = None
    first: Instant | None = None
    last: Instant | None = None

    @property
    def family(self) -> str:
        """What most of its incidents' forks say."""
        return Counter(verdict.family for verdict in self.members).most_common(1)[0][0]


def unknown(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts that name no class."""
    return [verdict for verdict in verdicts if verdict.fault_class == UNCLASSIFIED]


def clusters(verdicts: Iterable[Verdict], likeness: Likeness = "words") -> list[Cluster]:
    """Clusters of the unknown among `verdicts`, the biggest first. Masks that are not the same are joined by their `likeness`.

    `text` compares characters and needs scikit-learn: raises ModuleNotFoundError where that is not installed.
    """
    groups: dict[str, list[Verdict]] = {}
    for verdict in unknown(verdicts):
        groups.setdefault(_mask(verdict), []).append(verdict)
    masks = sorted(groups, key=lambda m: (-len(groups[m]), m))
    silent = [mask for mask in masks if mask.startswith(NO_LINE)]
    joined = [*_joined([mask for mask in masks if mask not in silent], likeness), *([mask] for mask in silent)]
    made = [_cluster(members, groups) for members in joined]
    return sorted(made, key=lambda c: (-len(c.members), c.first.earliest if c.first else 0.0, c.mask))


def seen(verdict: Verdict) -> Instant | None:
    """When an unknown incident is dated: its onset, else its death, its outage, or the boot that came after it."""
    incident = verdict.incident
    following = incident.next_boot.start if incident.next_boot else None
    return incident.onset or incident.dead or (incident.outage.began if incident.outage else None) or following


def _mask(verdict: Verdict) -> str:
    """What the best line says; of an incident that left none, what was seen of it from outside."""
    if verdict.best_lines:
        return masked(message(verdict.best_lines[0]))
    outage = verdict.incident.outage
    return f"{NO_LINE}; {PROBE_WORDS.get(outage.first, 'nothing sure')} at the first failed probe" if outage else NO_LINE


def _cluster(masks: Sequence[str], groups: dict[str, list[Verdict]]) -> Cluster:
    """One cluster of the groups that these masks, the most frequent first, stand for."""
    members = [verdict for mask in masks for verdict in groups[mask]]
    times = sorted((at for v in members if (at := seen(v))), key=lambda at: at.earliest)
    lines = groups[masks[0]][0].best_lines
    return Cluster(
        id=hashlib.sha256(f"{MASK_VERSION}\0{masks[0]}".encode()).hexdigest()[:6],
        mask=masks[0],
        members=tuple(members),
        example=lines[0] if lines else None,
        first=times[0] if times else None,
        last=times[-1] if times else None,
    )


def _joined(masks: Sequence[str], likeness: Likeness) -> list[list[str]]:
    if likeness == "exact" or len(masks) > MOST_COMPARED:
        return [[mask] for mask in masks]
    return _by_text(masks) if likeness == "text" and len(masks) > 1 else _by_words(masks)


def _by_words(masks: Sequence[str]) -> list[list[str]]:
    """Each mask joins the first group, of those before it, with whose first mask it shares enough words."""
    groups: list[tuple[frozenset[str], list[str]]] = []
    for mask in masks:
        own = words(mask)
        home = next((members for theirs, members in groups if _share(own, theirs) >= ALIKE_WORDS), None)
        if home is None:
            groups.append((own, [mask]))
        else:
            home.append(mask)
    return [members for _, members in groups]


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    """How many words of both they have in common (Jaccard); 0 where one has none."""
    return len(one & other) / len(one | other) if one and other else 0.0


def _by_text(masks: Sequence[str]) -> list[list[str]]:
    """Average-linkage clusters over character n-grams, weighted so that what every line says counts little."""
    text: Any = importlib.import_module("sklearn.feature_extraction.text")
    cluster: Any = importlib.import_module("sklearn.cluster")
    vectors = text.TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True).fit_transform(masks).toarray()
    linkage = cluster.AgglomerativeClustering(n_clusters=None, metric="cosine", linkage="average", distance_threshold=ALIKE_TEXT)
    groups: dict[int, list[str]] = {}
    for mask, label in zip(masks, linkage.fit_predict(vectors), strict=True):
        groups.setdefault(int(label), []).append(mask)
    return list(groups.values())
