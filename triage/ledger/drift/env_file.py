"""Files of variables: a compose `.env` or `env_file`, systemd's EnvironmentFile, docker's --env-file.

>>> [(v.name, v.value) for v in variables_of("# note\\nexport A='x y'\\nB=1 # one\\nC\\n", "serve.env")]
[('A', 'x y'), ('B', '1'), ('C', None)]
"""

from __future__ import annotations

import re
from pathlib import Path

from triage.ledger.drift.asked import AskedError, Setting, variable

LARGEST = 1 << 20
WIDE = (b"\xff\xfe", b"\xfe\xff")  # the marks of UTF-16
_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][\w.-]*)\s*(?:(?P<sign>=)(?P<value>.*))?\s*")
_COMMENT = re.compile(r"\s+#.*")


def variables_of(text: str, file: str) -> list[Setting]:
    """The variables of a file, in order; a name without a value is one that comes from elsewhere. Lines that are none are passed over."""
    told = []
    for number, line in enumerate(text[:LARGEST].splitlines(), 1):
        found = _LINE.fullmatch(line) if not line.lstrip().startswith(("#", ";")) else None
        if found:
            told.append(variable(found["name"], _value(found["value"]) if found["sign"] else None, f"{file}:{number}"))
    return told


def read_variables(path: Path, shown: str = "") -> list[Setting]:
    """The variables of a file on disk. Raises AskedError naming it."""
    return variables_of(content_of(path), shown or str(path))


def content_of(path: Path) -> str:
    """A small text file. Raises AskedError naming it."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise AskedError(f"{path}: {error.strerror or error}") from error
    if len(raw) > LARGEST:
        raise AskedError(f"{path}: larger than {LARGEST >> 20} MB, which no such file is")
    return text_of(raw)


def text_of(raw: bytes) -> str:
    """The text of a file as an editor may have saved it: UTF-8 with or without a mark, UTF-16 with one; its lines end with a newline alone."""
    return raw.decode("utf-16" if raw.startswith(WIDE) else "utf-8-sig", "replace").replace("\r\n", "\n")


def _value(text: str) -> str:
    text = text.strip()
    for quote in "'\"":
        if text.startswith(quote) and (end := text.find(quote, 1)) > 0:
            return text[1:end]
    return _COMMENT.sub("", text).strip() if not text.startswith("#") else ""
