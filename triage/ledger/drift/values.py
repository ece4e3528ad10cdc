"""Whether what was asked for and what was booted are the same value, however each is written.

>>> same("0.90", 0.9, "float"), same("8k", 8000, "size"), same("8K", 8192, "size"), same("1", True, "bool"), same("1", "true", "text")
(True, True, True, True, False)
"""

from __future__ import annotations

import re
from typing import Any

from triage.ledger.literal import value

DEEPEST = 20
YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
# As vLLM reads them: k is 1,000 and K is 1,024.
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
NAMES = {"half": "float16", "float": "float32", "fp8_e4m3": "fp8", "none": "none", "null": "none"}
_GROUPED = re.compile(r"(?<=\d)_(?=\d)")  # 131_072, as int() reads it
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[kmgtKMGT]?)")


def same(asked: Any, booted: Any, kind: str) -> bool:
    """Whether two values of an option of this kind (a `Flag.type`) are the same. Of objects only what was asked for counts."""
    if kind == "bool":
        return truth(asked) is not None and truth(asked) == truth(booted)
    if isinstance(asked, dict) or isinstance(booted, dict):
        return _objects(_object(asked), _object(booted), 0)
    if kind == "list" or isinstance(asked, list) or isinstance(booted, list):
        return [_word(each) for each in _listed(asked)] == [_word(each) for each in _listed(booted)]
    one, other = _number(asked, kind), _number(booted, kind)
    if one is not None and other is not None:
        return one == other
    if isinstance(booted, bool) or isinstance(asked, bool):
        return truth(asked) is not None and truth(asked) == truth(booted)
    return _word(asked) == _word(booted)


def same_variable(asked: object, booted: object) -> bool:
    """Whether two values of a variable are the same: as text, or as numbers."""
    one, other = _number(asked, ""), _number(booted, "")
    return one == other if one is not None and other is not None else str(asked).strip() == str(booted).strip()


def truth(of: object) -> bool | None:
    """Yes or no; None for what is neither."""
    text = str(of).strip().casefold()
    return True if text in YES else False if text in NO else None


def _number(of: object, kind: str) -> float | None:
    if isinstance(of, bool) or of is None:
        return None
    if isinstance(of, int | float):
        return float(of) if abs(of) < 1e300 else None
    text = _GROUPED.sub("", str(of).strip())
    if kind == "size" and (found := _SIZE.fullmatch(text)):
        return float(found["number"]) * UNITS[found["unit"]]
    try:
        return float(text) if re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?", text) else None
    except ValueError:
        return None


def _word(of: object) -> str:
    text = str(of).strip().strip("'\"").removeprefix("torch.").casefold()
    return NAMES.get(text, text)


def _object(of: Any) -> Any:
    return value(of) if isinstance(of, str) and of.lstrip()[:1] in ("{", "[") else of


def _objects(asked: Any, booted: Any, depth: int) -> bool:
    """Whether all that was asked for is in the other, key by key."""
    if isinstance(asked, dict) and isinstance(booted, dict) and depth < DEEPEST:
        return all(key in booted and _objects(each, booted[key], depth + 1) for key, each in asked.items())
    if isinstance(asked, dict) or isinstance(booted, dict):
        return not asked and not booted
    return same(asked, booted, "")


def _listed(of: Any) -> list[Any]:
    told = _object(of)
    return told if isinstance(told, list) else [told]
