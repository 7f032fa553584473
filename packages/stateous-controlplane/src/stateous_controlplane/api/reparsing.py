"""Requests that the parser does not take as they are, written so that it does.

The library's parser knows a list of methods, and takes any other for malformed HTTP; `docs/spec/wire.md`
1.1 asks for 405 or 404. It also ends a request for another protocol with its head, and would take the
body for the next request; no other protocol is spoken here, so such a request is one like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import httptools

# The request line of RFC 9112, its method any token.
_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+)( [^ \r\n]+ HTTP/1\.[01]\r\n)")
#: A method that the parser knows and no route has.
_STAND_IN = b"UNLINK"


class Renamed(NamedTuple):
    """A request under a method that the parser knows; ``method`` is its own."""

    method: str
    data: bytes


def new_parser(protocol: Any) -> httptools.HttpRequestParser:
    """A parser at the beginning of a request, as lenient as the server's first."""
    parser = httptools.HttpRequestParser(protocol)
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def renamed(data: bytes) -> Renamed | None:
    """``data``, which begins with a request whose method the parser does not know; else None."""
    line = _LINE.match(data)
    if line is None or _is_known(line[1]):
        return None
    return Renamed(line[1].decode("ascii"), _STAND_IN + data[len(line[1]) :])


def without_upgrade(method: str, target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The head again of a request that asks for another protocol, without asking."""
    lines = [method.encode() + b" " + target + b" HTTP/1.1"]
    lines += (name + b": " + value for name, value in headers if name != b"upgrade")
    return b"\r\n".join((*lines, b"", b""))


def _is_known(method: bytes) -> bool:
    try:
        httptools.HttpRequestParser(object()).feed_data(method + b" /")
    except httptools.HttpParserInvalidMethodError:
        return False
    return True
