"""What lies at a path is asked of the system as often as it is needed, and only once for a source that is read in one go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triage.sources.opening import written_at
from triage.sources.paths import STDIN, asked_once, is_regular, size_on_disk


def test_inside_a_file_is_what_it_was_at_the_beginning(tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_bytes(b"one")
    os.utime(file, (7, 7))
    with asked_once([str(file)]):
        file.write_bytes(b"three")
        assert (size_on_disk(str(file)), written_at(str(file))) == (3, 7)
    assert size_on_disk(str(file)) == 5
    assert written_at(str(file)) > 7


def test_other_files_are_asked_for_inside_as_outside(tmp_path: Path) -> None:
    one, other = str(tmp_path / "x.log"), str(tmp_path / "y.log")
    with asked_once([one]):
        Path(other).write_bytes(b"ab")
        assert size_on_disk(other) == 2
        Path(other).write_bytes(b"abc")
        assert size_on_disk(other) == 3


def test_what_is_not_there_and_what_is_no_file(tmp_path: Path) -> None:
    missing = str(tmp_path / "gone.log")
    with asked_once([missing, str(tmp_path), STDIN]):
        assert [is_regular(path) for path in (missing, str(tmp_path), STDIN)] == [False, False, False]
        with pytest.raises(FileNotFoundError):
            written_at(missing)


def test_nothing_is_remembered_when_reading_was_broken_off(tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_bytes(b"one")
    with pytest.raises(KeyboardInterrupt), asked_once([str(file)]):
        raise KeyboardInterrupt
    file.write_bytes(b"three")
    assert size_on_disk(str(file)) == 5
