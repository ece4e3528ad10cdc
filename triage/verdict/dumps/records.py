"""What the dumps of one hang say together: groups with the place of each member in them, who waits for whom, findings."""

from __future__ import annotations

from typing import Literal

import msgspec

from triage.model import Stand, Suspect
from triage.parsers.flight_recorder.records import Lane, Operation, Transfer

NO_RANK = -1  # of a suspect that only says why no rank can be named


class Position(msgspec.Struct, frozen=True):
    """How far one rank came in one group, by sequence number: the last operation it entered and the last it is known to have finished.

    `vague` says that its ring is too short to tell of those in between.
    """

    entered: int
    done: int
    vague: bool = False


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One process group. `members` are global ranks, `told` where the dumps say so, else inferred; `whole` where none can be lacking.

    Where one can, `candidates` are the ranks that may belong to it too, and `unseen` those of them without a dump. `positions` has
    the members whose dumps tell; `trusted` says that "finished" means it and not "failed".
    """

    name: str
    desc: str
    members: tuple[int, ...]
    told: bool
    whole: bool
    candidates: frozenset[int] = frozenset()
    unseen: frozenset[int] = frozenset()
    lanes: dict[int, Lane]
    positions: dict[int, Position]
    trusted: bool

    @property
    def label(self) -> str:
        return f"{self.name} ({self.desc})" if self.desc and self.desc != self.name else self.name


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """A rank holds an operation that has not ended. `absent` are members known not to have entered it, `unseen` those without a dump.

    With neither, all have entered and none has finished. `sibling` is equal for the same step of the program on other ranks;
    `transfer` is the send or receive, None for a collective.
    `guessed` says that the wait, or who is waited for, follows from what cannot be otherwise and not from the dump itself.
    """

    rank: int
    group: str
    what: str
    sequence: int
    created: int
    absent: frozenset[int]
    unseen: frozenset[int]
    sibling: tuple[str, str, int]
    transfer: Transfer | None = None
    guessed: bool = False

    @property
    def order(self) -> tuple[bool, bool, int]:
        """Sorts collectives before transfers, then by when the rank enqueued it, unknown last."""
        return self.transfer is not None, not self.created, self.created


class StuckGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group in which ranks wait: for the operation with this number, and for whom. `created` is ns since the epoch."""

    name: str
    members: tuple[int, ...]
    operation: str
    sequence: int
    size: str
    waiting: tuple[int, ...]
    missing: tuple[int, ...]
    transfer: bool = False
    created: int = 0
    timeout_ms: int | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Members of a group that do not do the same at one sequence number; `sides` are the parties, the biggest first."""

    group: str
    sequence: int
    kind: Literal["operation", "size", "dtype", "own sizes"]
    sides: tuple[tuple[str, tuple[int, ...]], ...]
    odd: tuple[int, ...]
    ended: bool


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What the dumps of one hang say: stuck groups (the one to look at first comes first), suspects, and notes on what limits the answer."""

    ranks: tuple[int, ...]
    missing: tuple[int, ...]
    empty: tuple[int, ...]
    groups: tuple[StuckGroup, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    notes: tuple[str, ...] = ()
    stuck_at: dict[int, Operation] = {}
    stands: tuple[Stand, ...] = ()
