"""Which traceback ends in a line, and which lines only look like the end of one."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from triage.parsers.traceback import Traceback, traceback_before


class Said(NamedTuple):
    """One line of a log."""

    text: str
    number: int = 0
    rank: int | None = None
    pid: int | None = None


def ending(log: str) -> Traceback:
    """The traceback that ends in the last line of a log."""
    lines = [Said(text, number) for number, text in enumerate(log.strip("\n").split("\n"))]
    return traceback_before(lines[-1], lambda line: lines[line.number - 1] if line.number else None)


RAISED = """
Traceback (most recent call last):
  File "/opt/engine/model.py", line 812, in forward
    raise RuntimeError(f"NCCL error: {text}")
RuntimeError: NCCL error: unhandled system error"""


def test_the_frames_of_an_exception() -> None:
    assert ending(RAISED) == Traceback(("/opt/engine/model.py:812 forward",))


def test_an_exception_raised_while_another_was_handled_follows_it() -> None:
    assert ending(f"KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n{RAISED}").follows


@pytest.mark.parametrize("source", [line for line in RAISED.split("\n") if "raise " in line])
def test_the_source_text_of_a_frame_is_no_exception(source: str) -> None:
    assert ending(RAISED[: RAISED.index(source) + len(source)]).quoted


def test_nor_is_it_where_the_log_lost_its_indentation() -> None:
    assert ending('File "/opt/engine/comm.py", line 350, in check\nraise RuntimeError(f"NCCL error: {text}")').quoted


def test_nor_are_the_further_lines_of_a_long_statement() -> None:
    log = '  File "/opt/engine/loader.py", line 9, in load\n    raise ValueError(\n        f"Error(s) in loading state_dict for {name}:"'
    assert ending(log).quoted


def test_an_exception_without_source_text_above_it_counts() -> None:
    assert not ending('Traceback (most recent call last):\n  File "<frozen importlib>", line 1, in load\nImportError: no such module').quoted


def test_an_indented_line_of_a_message_counts() -> None:
    assert not ending(f"{RAISED}\n    size mismatch for head.weight").quoted


@pytest.mark.parametrize("where", ["in atexit callback: <function flush at 0x7f97>", "in: <function LLM.__del__ at 0x7f2a>"])
def test_what_the_interpreter_ignored_is_told_as_ignored(where: str) -> None:
    assert ending(f"Exception ignored {where}{RAISED}").ignored


def test_also_where_another_process_wrote_between_its_lines() -> None:
    log = "Exception ignored in: <function flush at 0x7f97>\nFileNotFoundError: Traceback (most recent call last):\n"
    assert ending(f'{log}  File "/opt/cache.py", line 105, in put\n    os.replace(a, b)\nFileNotFoundError: [Errno 2] No such file').ignored
    first = log.split(chr(10), maxsplit=1)[0]
    assert ending(f'{first}\n  File "/opt/cache.py", line 105, in put\n    os.replace(a, b)\nFileNotFoundError: none').ignored


def test_the_first_frame_of_a_whole_traceback_is_the_program_and_not_an_import() -> None:
    log = (
        'Traceback (most recent call last):\n  File "<frozen runpy>", line 88, in _run_code\n'
        '  File "/src/vllm/examples/ask.py", line 9, in <module>\n'
    )
    imported = '    import vllm\n  File "/src/vllm/__init__.py", line 3, in <module>\n'
    assert ending(f"{log}TypeError: no").frames[-1] == "/src/vllm/examples/ask.py:9 <program>"
    assert ending(f"{log}{imported}TypeError: no").frames[1:] == ("/src/vllm/examples/ask.py:9 <program>", "/src/vllm/__init__.py:3 <module>")


def test_of_a_traceback_without_its_beginning_nobody_knows_which_frame_is_the_program() -> None:
    assert ending('  File "/src/ask.py", line 9, in <module>\n    main()\nTypeError: no').frames == ("/src/ask.py:9 <module>",)


def test_frames_are_found_where_the_log_lost_its_indentation() -> None:
    log = 'Traceback (most recent call last):\nFile "/opt/web/routing.py", line 409, in run\nreturn await app(scope)\n'
    log += 'File "/opt/video.py", line 136, in read\nassert count == wanted, "frames"\nAssertionError: 17 frames'
    assert ending(log).frames == ("/opt/web/routing.py:409 run", "/opt/video.py:136 read")


def test_an_exception_of_a_traceback_that_is_indented_as_a_whole_counts() -> None:
    log = '  Traceback (most recent call last):\n    File "/opt/device.py", line 5, in init\n      lazy_init()\n  RuntimeError: no device'
    assert ending(log) == Traceback(("/opt/device.py:5 init",))


def test_a_traceback_that_begins_behind_a_progress_bar() -> None:
    lines = [
        Said('  File "/opt/old.py", line 1, in earlier', 0, rank=0),
        Said("Processed prompts:   0%|          | 0/9 [00:00<?, ?it/s][rank0]: Traceback (most recent call last):", 1),
        Said('  File "/src/bench.py", line 9, in <module>', 2, rank=0),
        Said("TypeError: no", 3, rank=0),
    ]
    assert traceback_before(lines[-1], lambda line: lines[line.number - 1] if line.number else None).frames == ("/src/bench.py:9 <program>",)


def test_what_a_task_raised_that_nobody_waited_for_is_told_as_ignored() -> None:
    log = "Task exception was never retrieved\nfuture: <Task finished name='Task-4' coro=<listen()> exception=KeyError('a')>"
    assert ending(f"{log}{RAISED}").ignored
