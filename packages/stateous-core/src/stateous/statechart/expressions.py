"""Expressions: what stands in ``${…}``, in CEL (`docs/spec/statechart.md` 12).

CEL always ends and has no side effects. Its engine stops an evaluation after 10,000 steps of loops,
and a text that nests more than 32 levels deep is none. An expression is compiled once; evaluating
it gives a JSON value or fails, and nothing between.
"""

from __future__ import annotations

import ctypes
import math
import re
import sys
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, Final

from stateous.errors import StateousError
from stateous.json import Json
from stateous.limits import MAX_EXPRESSION_BYTES
from stateous.statechart.syntax import Path, names_of

#: What an expression can read.
ROOTS: Final = ("input", "run", "states", "tickets", "event")

#: The name of the type that a failed evaluation has.
_ERROR: Final = "ERROR"
_INT64: Final = range(-(2**63), 2**63)
# `INVALID_ARGUMENT: ERROR: <input>:1:7: no such thing\n | the line\n | ..^ [INVALID_ARGUMENT]`
_WHERE: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): ([^\n]*)")
_CODE: Final = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_CONTAINER: Final = " (in container '')"
# What could stand at a place, by the names of the engine's grammar: it helps nobody.
_EXPECTED: Final = re.compile(r" expecting (?:\{'.*\}|<EOF>)")
#: What those write who know another language, or the guards of workflows, by what the engine says.
_MEANT: Final = (
    (re.compile(r"recognition error at: '="), "equality is =="),
    (re.compile(r"input 'and'"), "and is &&"),
    (re.compile(r"input 'or'"), "or is ||"),
    (re.compile(r"input '<EOF>'"), "it ends too early"),
)
_NOT: Final = re.compile(r"(?:^|[ (])not\b")
_NONE: Final = ctypes.py_object(None)


class ExpressionError(StateousError, ValueError):
    """A text that is no expression: bad syntax, an unknown name or function, or too long."""


class EvaluationError(StateousError, ValueError):
    """An expression that gave no JSON value: a missing member, types that do not mix."""


class Expression:
    """A compiled expression. ``source`` is the text between ``${`` and ``}``, trimmed."""

    def __init__(self, source: str, compiled: Any) -> None:
        self.source = source
        self._compiled = compiled

    @cached_property
    def names(self) -> frozenset[Path]:
        """What it reads: paths from a root on, as far as they are fixed in the text."""
        return names_of(self._compiled.serialize())

    @cached_property
    def _roots(self) -> frozenset[str]:
        return frozenset(path[0] for path in self.names)

    def reads(self, root: str) -> bool:
        """Whether it reads ``root`` or something of it."""
        return root in self._roots

    def evaluate(self, scope: Mapping[str, Json]) -> Json:
        """Its value; ``scope`` has a value for each root that it reads.

        Raises:
            EvaluationError: it has none, or one that JSON has no form for.
        """
        data = {root: _into_cel(scope[root]) for root in self._roots if root in scope}
        try:
            value = self._compiled.eval(data=data)
            plain = value.plain_value()
            _own_nulls(plain)
        except RuntimeError as error:
            raise EvaluationError(_reason(str(error))) from None
        if value.type().name() == _ERROR:
            raise EvaluationError(_reason(str(plain)))
        return _into_json(plain)


def compile_expression(source: str) -> Expression:
    """The expression that ``source`` is.

    Raises:
        ExpressionError: it is none, or over 4 KiB.
    """
    trimmed = source.strip()
    if len(trimmed.encode()) > MAX_EXPRESSION_BYTES:
        raise ExpressionError(
            f"the expression is longer than {MAX_EXPRESSION_BYTES} bytes: {trimmed[:40]!r}…"
        )
    try:
        return _compiled(trimmed)
    except RuntimeError as error:
        raise ExpressionError(_advised(_reason(str(error)), trimmed)) from None


def _advised(reason: str, source: str) -> str:
    """``reason`` in short, with what was likely meant by ``source``."""
    short = _EXPECTED.sub("", reason)
    advice = [told for pattern, told in _MEANT if pattern.search(reason)]
    if not advice and short != reason and _NOT.search(source):
        advice = ["not is !"]
    return "; ".join([short, *advice])


# One text stands in a chart for each document that has it: a new document compiles little.
@lru_cache(4096)
def _compiled(source: str) -> Expression:
    return Expression(source, _environment().compile(source))


@lru_cache(1)
def _environment() -> Any:
    # Loaded on use: a control plane that serves a workflow only never needs it.
    from cel_expr_python import cel

    return cel.NewEnv(variables=dict.fromkeys(ROOTS, cel.Type.DYN))


def _reason(told: str) -> str:
    """The engine's sentence without its frame: the first error, with its place when it has one."""
    placed = _WHERE.search(told)
    if placed is None:
        return _CODE.sub("", _CODE.sub("", told)).split("\n")[0] or "it has no value"
    line, column, sentence = placed.groups()
    sentence = sentence.replace(_CONTAINER, "").removesuffix("]").strip()
    at = f"column {column}" if line == "1" else f"line {line}, column {column}"
    return f"{_CODE.sub('', sentence)}, at {at}"


def _into_cel(value: Json) -> Any:
    """Whole numbers that 64 bits do not hold become doubles; the rest is as it is."""
    if isinstance(value, int):
        if isinstance(value, bool) or value in _INT64:
            return value
        try:
            return float(value)
        except OverflowError:
            raise EvaluationError("a whole number is too large for a double") from None
    if isinstance(value, dict):
        return {key: _into_cel(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_into_cel(member) for member in value]
    return value


def _own_nulls(plain: Any) -> None:
    """Take the references to None that ``plain`` will give up, and that nobody has taken.

    `plain_value` of cel-expr-python 0.1.3 gives each null out without counting it. Before Python
    3.12 None is counted like any other object: after some thousand nulls the process would abort
    (`none_dealloc`). Should a later release count them, these references are too many, which harms
    nothing.
    """
    if sys.version_info >= (3, 12):
        return
    if plain is None:
        ctypes.pythonapi.Py_IncRef(_NONE)
    elif isinstance(plain, list):
        for member in plain:
            _own_nulls(member)
    elif isinstance(plain, dict):
        for member in plain.values():
            _own_nulls(member)


def _into_json(value: Any) -> Json:
    """What CEL computed as JSON. Members are sorted: CEL's maps have no order of their own."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return _text(value)
        case float():
            if not math.isfinite(value):
                raise EvaluationError(f"the result {value} has no form in JSON")
            return value
        case list():
            return [_into_json(member) for member in value]
        case dict():
            for key in value:
                if not isinstance(key, str):
                    raise EvaluationError(f"the key {key!r} is no text, which JSON needs")
            return {_text(key): _into_json(value[key]) for key in sorted(value)}
        case _:
            raise EvaluationError(f"a {_kind(value)} has no form in JSON")


def _text(value: str) -> str:
    if "\x00" in value:
        raise EvaluationError("a text holds U+0000, which cannot be stored")
    return value


def _kind(value: object) -> str:
    names = {"bytearray": "value of bytes", "datetime": "time", "timedelta": "length of time"}
    return names.get(type(value).__name__, "type")
