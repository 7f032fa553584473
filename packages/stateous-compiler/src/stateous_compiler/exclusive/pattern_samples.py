"""A few texts that match a regular expression, for examples of fields that have a ``pattern``.

Most patterns of models are plain: characters, classes, groups, repetitions. What else there is
counts as nothing, so a sample is a guess, which the validator looks at like at all proposals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Final, TypeAlias

_PRINTABLE: Final = ascii_lowercase + ascii_uppercase + digits + " -_.:/@#"
_CLASSES: Final = {"d": digits, "w": ascii_letters + digits + "_", "s": " "}
_OUTSIDE: Final = {"D": ascii_letters, "W": " -.", "S": ascii_letters}
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_NOTHING: Final = frozenset("bBAZz")
_MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which of the ways to match is taken: the how many-th, and how many repetitions more."""

    number: int
    more: int

    def of(self, options: str | list[_Maker]) -> int:
        """The place of the option that is taken, from the end for a negative number."""
        return max(-len(options), min(self.number, len(options) - 1))


_Maker: TypeAlias = Callable[[_Choice], str]


def samples(pattern: str, least: int = 0) -> Iterable[str]:
    """Texts that may match ``pattern``, some of ``least`` characters or more. Maybe none."""
    try:
        make = _Parser(pattern).whole()
        choices = [_Choice(number, more) for more in (0, least) for number in (0, 1, 2, -1)]
        return list(dict.fromkeys(map(make, choices)))
    except (IndexError, ValueError, RecursionError):
        return []


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._left = list(reversed(pattern))

    def whole(self) -> _Maker:
        """All of the pattern."""
        make = self._alternatives()
        if self._left:
            raise ValueError("a bracket too many")
        return make

    def _alternatives(self) -> _Maker:
        options = [self._sequence()]
        while self._next_is("|"):
            options.append(self._sequence())
        return lambda choice: options[choice.of(options)](choice)

    def _sequence(self) -> _Maker:
        parts: list[_Maker] = []
        while self._left and self._left[-1] not in "|)":
            parts.append(self._repeated(self._atom()))
        return lambda choice: "".join(part(choice) for part in parts)

    def _atom(self) -> _Maker:
        match self._left.pop():
            case "(":
                return self._group()
            case "[":
                return _one_of(self._class())
            case ".":
                return _one_of(_PRINTABLE)
            case "^" | "$":
                return _one_of("")
            case "\\":
                return _one_of(self._escaped())
            case letter:
                return _one_of(letter)

    def _group(self) -> _Maker:
        looks = False
        if self._next_is("?"):
            kind = self._left.pop()
            if kind == "P":
                kind = self._left.pop()
            looks = kind in "=!" or (kind == "<" and self._left[-1] in "=!")
            if kind == "<" and not looks:
                while self._left.pop() != ">":
                    pass
        inside = self._alternatives()
        if not self._next_is(")"):
            raise ValueError("a bracket too few")
        return _one_of("") if looks else inside

    def _class(self) -> str:
        negated = self._next_is("^")
        found = ""
        while not self._next_is("]"):
            letters = self._in_class()
            if len(letters) == 1 and self._left[-1] == "-" and self._left[-2] != "]":
                self._left.pop()
                last = self._in_class()
                letters = "".join(
                    map(chr, range(ord(letters), min(ord(last), ord(letters) + 99) + 1))
                )
            found += letters
        return "".join(each for each in _PRINTABLE if each not in found) if negated else found

    def _in_class(self) -> str:
        letter = self._left.pop()
        return self._escaped() if letter == "\\" else letter

    def _escaped(self) -> str:
        letter = self._left.pop()
        if letter in _NOTHING:
            return ""
        return _CLASSES.get(letter) or _OUTSIDE.get(letter) or _CONTROLS.get(letter, letter)

    def _repeated(self, make: _Maker) -> _Maker:
        least, most = 0, _MOST
        if self._next_is("?"):
            most = 1
        elif self._next_is("+"):
            least = 1
        elif self._left and self._left[-1] == "{":
            bounds = ""
            while not bounds.endswith("}"):
                bounds += self._left.pop()
            low, comma, high = bounds.strip("{}").partition(",")
            least = int(low)
            most = int(high) if high else most if comma else least
        elif not self._next_is("*"):
            return make
        self._next_is("?")  # lazy or not, the same texts match
        if least > _MOST:
            raise ValueError("too many repetitions")
        return lambda choice: make(choice) * min(most, least + choice.more)

    def _next_is(self, letter: str) -> bool:
        if self._left and self._left[-1] == letter:
            self._left.pop()
            return True
        return False


def _one_of(letters: str) -> _Maker:
    return lambda choice: letters[choice.of(letters)] if letters else ""
