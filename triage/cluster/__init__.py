"""Reads sources on many machines: one task a source on a Ray cluster, joined and judged here by the same code as always."""

from __future__ import annotations

from triage.cluster.session import Cluster, ClusterError

__all__ = ["Cluster", "ClusterError"]
