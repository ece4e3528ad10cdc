"""What is remembered of a line holds for the next line of its kind only, whichever source it stands in."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import msgspec
import pytest

from triage.knowledge.load import load
from triage.knowledge.schema import Signature, UserText
from triage.knowledge.table import Rule, RuleTable
from triage.model import Role
from triage.parsers.options import Options
from triage.parsers.reading import Reading, read_source
from triage.parsers.silent import KEPT, LONGEST, Content, Silent, silent
from triage.sources.find import Source

TABLE = RuleTable(load())
XID = "NVRM: Xid (PCI:0000:19:00): {}, pid=301, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS"
LOGS = {
    "near.log": "(Worker_TP0 pid=7) WARNING 11-01 09:00:0{} [blas.py:88] gemm error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLt\n",
    "fault.log": "(Worker_TP0 pid=7) ERROR 11-01 09:00:0{} [blas.py:88] RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling it\n",
    "echo.log": "(APIServer pid=1) ERROR 11-01 09:00:0{} [x.py:9] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n",
    "13.log": f"kernel: {XID.format(13)}\n",
    "31.log": f"kernel: {XID.format(31)}\n",
}


def index_of(rule: str) -> int:
    return next(index for index, known in enumerate(TABLE.rules) if known.id == rule)


@pytest.mark.parametrize("order", list(permutations(LOGS))[::7])
def test_what_was_read_before_changes_nothing_of_what_a_log_gives(tmp_path: Path, order: tuple[str, ...]) -> None:
    alone = {name: events_of(tmp_path, name, afresh=True) for name in LOGS}
    silent.cache_clear()
    assert {name: events_of(tmp_path, name, afresh=False) for name in order} == alone
    assert any(alone["fault.log"]) and any(alone["31.log"])


def events_of(tmp_path: Path, name: str, *, afresh: bool) -> list[tuple[str, int]]:
    if afresh:
        silent.cache_clear()
    text = "".join(LOGS[name].format(second) for second in range(8))
    return [(event.rule, event.order) for event in read(tmp_path / name, text).events]


def read(path: Path, text: str, table: RuleTable = TABLE) -> Reading:
    path.write_text(text)
    return read_source(Source(name=path.name, files=(str(path),)), "engine", table, Options(year=2026))


def rules_in(path: Path, text: str, table: RuleTable) -> set[str]:
    return {event.rule for event in read(path, text, table).events}


def signature(name: str, role: Role, pattern: str, scan: str = "") -> Signature:
    return Signature(id=f"coffee-spill/{name}", role=role, pattern=pattern, scan=scan, summary="", samples=(), near_misses=())


ECHO = signature("second-hand", "consequence", "(?:board 00|hearsay)")


def own_table(pattern: str, *more: Signature, words: str = "") -> RuleTable:
    """Our rules and a fault of one's own; `words`: where the words of a user begin, too."""
    known = load()
    own = (signature("board", "root", pattern, "board"), *more)
    spill = msgspec.structs.replace(known.classes["gpu-hardware"], id="coffee-spill", signatures=own)
    begins = (*known.user_text.begins, words) if words else known.user_text.begins
    return RuleTable(msgspec.structs.replace(known, classes={**known.classes, spill.id: spill}, user_text=UserText(begins)))


PAIRS = {  # what a rule asks, a line that hits it and does not match, and one that does and differs from that in figures, ids or stamps
    "how long an id is": (r"board [0-9a-f]{12,64}\b", "board 4f1d0c2b", "board 4f1d0c2b9a77"),
    "how many figures": (r"board \d{10}\b", "board 12345678", "board 1234567890"),
    "an id with dashes": (r"board \w+ is wet", "board 0a1b-c3d4-e5f6 is wet", "board 0a1b2c3d4e5f6071 is wet"),
    "a figure or a letter": (r"board \d+", "board a0b1c2d3e4", "board 0123456789"),
    "the same figure again": (r"rank (?P<one>\d+) board (?P=one)\b", "rank 1 board 2", "rank 3 board 3"),
    "a figure before a clock": (r"board (?:15|16) ", "board 11 09:00:00", "board 15 09:00:01"),
    "what an envelope leaves": (r"^board", "20261101T09:43:00Z board", "2026-11-01T09:43:00Z board"),
    "what stands before a message": (r"\] board$", "board", "[2026-11-01 09:43:00] board"),
    "from where it is said": (r"wet\.py:\d+\] board$", "INFO 11-01 09:43:00 [dry.py:7] board", "INFO 11-01 09:43:00 [wet.py:7] board"),
}


@pytest.mark.parametrize(("pattern", "other", "telling"), PAIRS.values(), ids=PAIRS)
def test_a_line_is_not_taken_for_another_that_a_rule_tells_apart(tmp_path: Path, pattern: str, other: str, telling: str) -> None:
    table = own_table(pattern)
    assert "coffee-spill/board" not in rules_in(tmp_path / "other.log", f"{other}\n", table)
    assert "coffee-spill/board" in rules_in(tmp_path / "telling.log", f"{telling}\n", table)


def test_what_an_echo_hides_it_hides_in_its_own_line_only(tmp_path: Path) -> None:
    """The echo reads a figure, so the line without its figure is another one."""
    table = own_table("board", ECHO)
    assert "coffee-spill/board" not in rules_in(tmp_path / "echo.log", "board 00\n", table)
    assert "coffee-spill/board" in rules_in(tmp_path / "fault.log", "board 17\n", table)


def test_a_line_that_a_rule_does_not_match_begins_no_minute_of_it(tmp_path: Path) -> None:
    """Else it would depend on what was read before how many lines are told of a flood that is stamped anew."""
    table = own_table("board wet")
    flood = "09:00:00 board wet\n" * 100 + "09:01:00 board dry\n" + "09:00:00 board wet\n" * 5
    alone = read(tmp_path / "flood.log", flood, table).events
    read(tmp_path / "dry.log", "09:01:00 board dry\n", table)
    assert read(tmp_path / "flood.log", flood, table).events == alone


def test_where_the_words_of_a_user_begin_with_a_figure_lines_differ_by_figures(tmp_path: Path) -> None:
    table = own_table("board", words="question2=")
    assert "coffee-spill/board" not in rules_in(tmp_path / "user.log", "question2= board\n", table)
    assert "coffee-spill/board" in rules_in(tmp_path / "own.log", "question1= board\n", table)


def test_what_took_too_long_in_one_source_is_told_once_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another source may be read while the processor has less to do: what took too long says nothing of the line."""
    table = own_table("board")

    def too_long(_rule: Rule, _text: str) -> None:
        raise TimeoutError

    with monkeypatch.context() as patched:
        patched.setattr(Rule, "match", too_long)
        assert [problem.what[:30] for problem in read(tmp_path / "one.log", "board\n" * 3, table).info.problems] == ["rule coffee-spill/board took t"]
        assert len(read(tmp_path / "other.log", "board\n" * 3, table).info.problems) == 1
    assert "coffee-spill/board" in rules_in(tmp_path / "third.log", "board\n", table)


def test_lines_that_differ_in_stamps_figures_and_ids_are_one_unless_a_rule_reads_figures() -> None:
    known = Silent(TABLE, "engine", frozenset())
    plain, figures = frozenset({index_of("cublas-fault/status")}), frozenset(i for i, rule in enumerate(TABLE.rules) if rule.reads_figures)
    one, other = (b"09:00:0%d request chatcmpl-%s of 8%d" % (n, b"57d99d6b" if n else b"7e9f0734", n) for n in (0, 1))
    assert known.content(one, plain) == known.content(other, plain)
    assert known.content(one, figures) != known.content(other, figures)
    assert known.content(one, figures) == known.content(one.replace(b"09:00:00", b"09:00:07"), figures)


@pytest.mark.parametrize("raw", [b"x" * (LONGEST + 1), b"50%\r100%"], ids=["long", "several segments"])
def test_of_lines_that_may_be_several_nothing_is_remembered(raw: bytes) -> None:
    known = Silent(TABLE, "engine", frozenset())
    known.keep(known.content(raw, frozenset({1})), frozenset({1}))
    assert known.rules_in(known.content(raw, frozenset({1}))) == frozenset()


def test_what_is_remembered_is_bounded() -> None:
    known = Silent(TABLE, "engine", frozenset())
    for number in range(2 * KEPT + 1):
        known.keep(numbered(number), frozenset({number % 7}))
        known.miss(("rule", "", str(number)))
    assert sum(bool(known.rules_in(numbered(number))) for number in range(2 * KEPT + 1)) <= KEPT
    assert sum(known.is_miss(("rule", "", str(number))) for number in range(2 * KEPT + 1)) <= KEPT
    assert known.rules_in(numbered(2 * KEPT)) == frozenset({2 * KEPT % 7})


def numbered(number: int) -> Content:
    return frozenset({1}), b"%d" % number
