"""Servers for one test, and no pauses between tries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sources.remote.servers import Web, web_server
from triage.sources.remote import reading


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FIRST_PAUSE", 0.0)


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server() as server:
        yield server
