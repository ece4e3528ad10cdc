"""What an object elsewhere is, and what may go wrong with it, in words that name no address and hold no secret."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from triage.model import Seconds

FIRST_BLOCK = 1 << 16  # bytes that are fetched to see what an object is, and kept for the reading: a small log costs one request


class RemoteError(OSError):
    """Why something elsewhere cannot be read; trying again is of no use."""


class MissingError(RemoteError):
    """There is nothing at that address."""


class ChangedError(RemoteError):
    """Other content lies there now than when the reading began."""

    def __init__(self) -> None:
        super().__init__("another object lies there now than when it was found: run again")


class CutError(Exception):
    """The connection ended or was silent for too long; asking once more from the same byte may help."""


class Object(Protocol):
    """One object: its address, its size in bytes (None where no server has said it), when it was last written (seconds since the epoch)."""

    url: str
    size: int | None
    written: Seconds | None

    def chunks(self, start: int, stop: int | None = None) -> Iterator[bytes]:
        """Its bytes from offset `start` up to `stop`, or as many of them as one connection gives. Raises RemoteError, CutError."""
        ...
