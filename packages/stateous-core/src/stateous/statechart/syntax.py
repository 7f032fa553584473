"""Which names a CEL expression reads, found in its checked syntax tree.

The engine hands its tree out as a serialized ``cel.expr.CheckedExpr`` only. The few message types
that such a tree is made of are read here off the protobuf wire format: tags and lengths, no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

#: A name and the members behind it, as far as they are fixed: ``states["a"].output`` is
#: ``("states", "a", "output")``.
Path: TypeAlias = tuple[str, ...]

# Field numbers of cel/expr/checked.proto and cel/expr/syntax.proto. Of the payload of an Any the
# serialized tree is field 2.
_ANY_VALUE: Final = 2
_CHECKED_EXPR: Final = 4
_CONST, _IDENT, _SELECT, _CALL, _LIST, _STRUCT, _COMPREHENSION = 3, 4, 5, 6, 7, 8, 9
_CONST_STRING: Final = 6
_INDEX: Final = "_[_]"


def names_of(serialized: bytes) -> frozenset[Path]:
    """The paths that the expression reads, without variables of its own loops.

    ``serialized`` is what ``Expression.serialize()`` of the CEL engine returns.
    """
    found: set[Path] = set()
    checked = _message(_message(serialized, _ANY_VALUE), _CHECKED_EXPR)
    _read(checked, frozenset(), found)
    return frozenset(found)


class _Field(NamedTuple):
    number: int
    value: bytes


def _fields(data: bytes) -> Iterator[_Field]:
    """The length-delimited fields of a message; numbers in it are passed over."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
            yield _Field(tag >> 3, data[at : at + size])
            at += size
        else:
            at += 8 if kind == 1 else 4


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _message(data: bytes, number: int) -> bytes:
    return next((field.value for field in _fields(data) if field.number == number), b"")


def _text(data: bytes, number: int) -> str:
    return _message(data, number).decode()


def _read(expr: bytes, bound: frozenset[str], found: set[Path]) -> None:
    """Add the paths of ``expr``; names in ``bound`` are variables of a loop around it."""
    path = _path(expr, bound, found)
    if path is not None:
        found.add(path)


def _path(expr: bytes, bound: frozenset[str], found: set[Path]) -> Path | None:
    """The path that ``expr`` is, or None when it is none; what it has inside goes to ``found``."""
    for number, body in _fields(expr):
        match number:
            case 4:
                name = _text(body, 1).removeprefix(".")
                return None if name in bound else (name,)
            case 5:
                return _longer(_message(body, 1), _text(body, 2), bound, found)
            case 6:
                return _called(body, bound, found)
            case 9:
                _read_loop(body, bound, found)
            case _ if number in (_LIST, _STRUCT):
                for inside in _parts(number, body):
                    _read(inside, bound, found)
    return None


def _longer(operand: bytes, member: str, bound: frozenset[str], found: set[Path]) -> Path | None:
    path = _path(operand, bound, found)
    return None if path is None else (*path, member)


def _called(call: bytes, bound: frozenset[str], found: set[Path]) -> Path | None:
    function = _text(call, 2)
    arguments = [field.value for field in _fields(call) if field.number == 3]
    if function == _INDEX and len(arguments) == 2:
        key = _message(_message(arguments[1], _CONST), _CONST_STRING)
        if key:
            return _longer(arguments[0], key.decode(), bound, found)
    target = _message(call, 1)
    for inside in (target, *arguments) if target else arguments:
        _read(inside, bound, found)
    return None


def _parts(number: int, body: bytes) -> Iterator[bytes]:
    if number == _LIST:
        yield from (field.value for field in _fields(body) if field.number == 1)
        return
    for entry in _fields(body):
        if entry.number == 2:
            # map_key is field 3 of an entry, value field 4.
            yield from (field.value for field in _fields(entry.value) if field.number in (3, 4))


def _read_loop(loop: bytes, bound: frozenset[str], found: set[Path]) -> None:
    fields = {field.number: field.value for field in _fields(loop)}
    # The range and the first value of the accumulator stand outside the loop's own names.
    for outside in (2, 4):
        _read(fields.get(outside, b""), bound, found)
    own = bound | {fields[name].decode() for name in (1, 3, 8) if name in fields}
    for inside in (5, 6, 7):
        _read(fields.get(inside, b""), own, found)
