"""How ranks, sizes and lengths of time are put in a reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triage.parsers.flight_recorder.records import Signature

SIZES_SHOWN = 2
RUNS_SHOWN = 12


def ranks(numbers: Iterable[int]) -> str:
    """`rank 3`, `ranks 0-3, 8`."""
    found = sorted(set(numbers))
    return f"rank{'s' if len(found) != 1 else ''} {spans(found)}"


def spans(numbers: Iterable[int]) -> str:
    """Numbers as runs: `0-3, 8`; of a great many runs the first.

    >>> spans([8, 0, 1, 2, 3])
    '0-3, 8'
    >>> spans(range(0, 64, 2))
    '0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and 20 more'
    """
    runs: list[list[int]] = []
    found = sorted(set(numbers))
    for number in found:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        elif len(runs) == RUNS_SHOWN:
            break
        else:
            runs.append([number, number])
    hidden = len(found) - sum(b - a + 1 for a, b in runs)
    told = ", ".join(str(a) if a == b else f"{a}-{b}" if b > a + 1 else f"{a}, {b}" for a, b in runs)
    return told + (f" and {hidden} more" if hidden else "")


def size(signature: Signature) -> str:
    """`8192x1x5120 BFloat16`, with the output where it differs."""
    inputs, outputs = _tensors(signature.input_sizes), _tensors(signature.output_sizes)
    dtypes = " ".join(dict.fromkeys(signature.input_dtypes or signature.output_dtypes))
    shape = inputs if inputs == outputs or not outputs else f"{inputs or '-'} to {outputs}"
    return f"{shape} {dtypes}".strip()


def _tensors(sizes: Sequence[Sequence[int]]) -> str:
    shown = ["x".join(map(str, dimensions)) or "1" for dimensions in sizes[:SIZES_SHOWN]]
    return "+".join(shown) + (f" and {len(sizes) - SIZES_SHOWN} more" if len(sizes) > SIZES_SHOWN else "")


def seconds(nanoseconds: float) -> str:
    value = nanoseconds / 1e9
    return f"{value:.1f} s" if value < 100 else f"{value:.0f} s"


def several(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def verb(subjects: Iterable[int], plain: str) -> str:
    """`waits` for one, `wait` for several."""
    return plain if len(set(subjects)) != 1 else f"{plain}s"
