"""Splits shell text into commands of words, as a shell does it: quotes, escapes, comments, and variables as far as their values are known.

>>> [[w.text for w in command] for command in commands("A=1 vllm serve 'my model' \\\\\\n --seed $S # x", {"S": "7"}, "run.sh")]
[['A=1', 'vllm', 'serve', 'my model', '--seed', '7']]
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from triage.ledger.drift.asked import Word

LONGEST = 1 << 20
_VARIABLE = re.compile(r"\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<name>[A-Za-z_]\w*)(?:(?P<op>:?[-=?+])(?P<rest>[^{}]*))?\})")
_OTHER = re.compile(r"\$(?:[@*#?$!\d-]|\{[^{}]*\})")  # arguments, arrays, parts of a value: never known
_MANY = ("$@", "$*", "[@]}", "[*]}")
_SEPARATOR = re.compile(r"&&|\|\||[;&|()\n]")
_REDIRECT = re.compile(r"\d*(?:>>?|<<?<?)&?\s*[^\s;&|]*")
_SPECIAL = "$`"


def commands(
    text: str, variables: Mapping[str, str | None] | None, file: str = "", *, first_line: int = 1, separators: bool = True
) -> list[list[Word]]:
    """The commands in a text. `variables` are those that are known before it (a value of None: set, to what is not known); with None
    nothing is put in the place of a dollar.

    Without `separators` the whole text is one command, as in a compose file or a unit: there a `;` or a line's end is nothing special.
    """
    return _Splitter(text[:LONGEST], variables, file, first_line, separators).split()


def assignment(word: Word) -> tuple[str, Word] | None:
    """The name and the value of `NAME=value`; None for any other word."""
    found = re.match(r"([A-Za-z_]\w*)=", word.text)
    return (found[1], word._replace(text=word.text[found.end() :])) if found else None


class _Splitter:
    """Goes through a text once. `word` holds the parts of the open word, None between words: an empty quoted word is a word, too."""

    def __init__(self, text: str, variables: Mapping[str, str | None] | None, file: str, line: int, separators: bool) -> None:
        self.text, self.variables, self.file, self.line, self.separators = text, dict(variables or {}), file, line, separators
        self.special = "" if variables is None else _SPECIAL
        self.at = 0
        self.word: list[str] | None = None
        self.why = ""
        self.several = False
        self.started = line
        self.done: list[list[Word]] = [[]]

    def split(self) -> list[list[Word]]:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        self._end_word()
        self._end_command()
        return [command for command in self.done if command]

    def _step(self, here: str) -> None:
        if here == "\\":
            self._escape()
        elif here == "'":
            self._single()
        elif here == '"':
            self._double()
        elif here in self.special:
            self._substitute(quoted=False)
        elif here == "#" and self.word is None:
            self.at = _end_of_line(self.text, self.at)
        elif self.separators and (found := _SEPARATOR.match(self.text, self.at)):
            self._separate(found[0])
        elif self.separators and self.word is None and (found := _REDIRECT.match(self.text, self.at)) and "=" not in found[0]:
            self.at = found.end()
        elif here.isspace():
            self._end_word()
            self._pass(here)
        else:
            self._add(here)
            self.at += 1

    def _separate(self, mark: str) -> None:
        self._end_word()
        self._end_command()
        self._pass(mark)

    def _escape(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following not in ("\n", ""):
            self._add(following)
        self.line += following == "\n"
        self.at += 2

    def _single(self) -> None:
        end = self.text.find("'", self.at + 1)
        end = len(self.text) if end < 0 else end
        inside = self.text[self.at + 1 : end]
        self._add(inside)
        self.line += inside.count("\n")
        self.at = end + 1

    def _double(self) -> None:
        self._add("")
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            here = self.text[self.at]
            if here == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`", "\n"):
                self._escape()
            elif here in self.special:
                self._substitute(quoted=True)
            else:
                self._add(here)
                self._pass(here)
        self.at += 1

    def _substitute(self, *, quoted: bool) -> None:
        found = _VARIABLE.match(self.text, self.at)
        if found:
            text = self._value(found)
            self.several |= bool(self.why) and not quoted
            self._add(text, quoted=quoted)
            self.at = found.end()
            return
        if found := _OTHER.match(self.text, self.at):
            self.several |= not quoted or found[0].endswith(_MANY)
            self._add(self._unknown(f"it is that of {found[0]}", found[0]))
            self.at = found.end()
            return
        if self.text.startswith(("$(", "`"), self.at):
            closing = ")" if self.text[self.at] == "$" else "`"
            end = self.text.find(closing, self.at + 2)
            end = len(self.text) - 1 if end < 0 else end
            self._unknown("it is what a command prints")
            self.several |= not quoted
            self._add(self.text[self.at : end + 1])
            self.at = end + 1
            return
        self._add(self.text[self.at])
        self.at += 1

    def _value(self, found: re.Match[str]) -> str:
        name, op, rest = found["bare"] or found["name"], found["op"] or "", found["rest"] or ""
        value = self.variables.get(name)
        if op in (":-", "-", ":=", "=") and not value:
            return rest if name not in self.variables or value is not None else self._unknown(f"it is that of ${name}", found[0])
        if op in (":+", "+"):
            return rest if value else ""
        return value if value is not None else self._unknown(f"it is that of ${name}", found[0])

    def _unknown(self, why: str, text: str = "") -> str:
        self.why = self.why or why
        return text

    def _add(self, text: str, *, quoted: bool = True) -> None:
        if self.word is None:
            if not quoted and not text:
                return  # an empty variable without quotes is no word
            self.word, self.started = [], self.line
        parts = [text] if quoted or not any(c.isspace() for c in text) else text.split()
        for number, part in enumerate(parts):
            if number:
                self._end_word()
                self.word, self.started = [], self.line
            if self.word is None:
                self.word = []
            self.word.append(part)

    def _pass(self, text: str) -> None:
        self.line += text.count("\n")
        self.at += len(text)

    def _end_word(self) -> None:
        if self.word is not None:
            place = f"{self.file}:{self.started}" if self.file else ""
            self.done[-1].append(Word("".join(self.word), place, self.why, self.several))
        self.word, self.why, self.several = None, "", False

    def _end_command(self) -> None:
        self._learn(self.done[-1])
        if self.done[-1]:
            self.done.append([])

    def _learn(self, command: list[Word]) -> None:
        """A command that only assigns, or exports, changes the variables of those after it."""
        words = command[1:] if command and command[0].text in ("export", "declare", "readonly", "local", "typeset") else command
        told = [assignment(word) for word in words if not word.text.startswith("-")]
        if all(pair is not None for pair in told) or (command and words is not command):
            self.variables |= {pair[0]: None if pair[1].why else pair[1].text for pair in told if pair is not None}


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
