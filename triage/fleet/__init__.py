"""What many hosts have in common: their exports in one table, and which of them carry more of a class than chance would give them."""

from __future__ import annotations

from triage.fleet.load import Fleet, FleetError, load

__all__ = ["Fleet", "FleetError", "load"]
