"""Paths of requests: percent-decoding, and which route a path belongs to (`docs/spec/wire.md` 1.1).

A path is matched after decoding, one segment for each parameter. A slash that was encoded belongs
to no segment, so such a path belongs to no route.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar
from urllib.parse import unquote, unquote_to_bytes

import httptools

_Endpoint = TypeVar("_Endpoint")

_VALUE = re.compile(r"tk_[A-Za-z0-9_-]{43}")
_PARAMETER = re.compile(r"\{([a-z]+)\}")
#: What a parameter matches; those that are not named here match any text.
_PATTERNS: Final = {"task": "[0-9]+"}


def split_target(target: bytes) -> tuple[bytes, bytes]:
    """Path and query of a request's target, which may be a whole URL."""
    if not target.startswith(b"/"):
        try:
            parsed = httptools.parse_url(target)
        except httptools.HttpParserInvalidURLError:
            return target, b""
        return parsed.path or b"/", parsed.query or b""
    path, _, query = target.partition(b"#")[0].partition(b"?")
    return path, query


def decode_path(raw: bytes) -> str | None:
    """The path that ``raw`` is the percent-encoded form of; None when it can belong to no route."""
    if b"%" not in raw and raw.isascii():
        return raw.decode("ascii")
    if b"%2f" in raw.lower():
        return None
    try:
        path = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in path else path


def loggable_path(raw: bytes) -> str:
    """``raw`` for the access log: without the value of a ticket, which is a secret."""
    text = raw.decode("latin-1")
    plain = unquote(text)
    if plain.lower().lstrip("/").startswith("tickets/"):
        return "/tickets/***"
    if _VALUE.search(plain):
        text = _VALUE.sub("***", plain)
    return text.encode("ascii", "backslashreplace").decode("ascii")


@dataclass(slots=True)
class Place(Generic[_Endpoint]):
    """A path that exists: the endpoint of each method, and how long a body may be."""

    template: str
    max_body: int
    endpoints: dict[str, _Endpoint] = field(default_factory=dict)

    @property
    def allowed(self) -> str:
        """The methods, as an `Allow` header names them."""
        return ", ".join(sorted(self.endpoints))


class Found(NamedTuple, Generic[_Endpoint]):
    """A path's place, and the values of its parameters."""

    place: Place[_Endpoint]
    parameters: dict[str, str]


class PathTable(Generic[_Endpoint]):
    """All paths of the API. Those without a parameter win."""

    def __init__(self, places: Iterable[Place[_Endpoint]]) -> None:
        self._fixed: dict[str, Found[_Endpoint]] = {}
        # By first segment and number of slashes: few are tried for a path.
        self._patterns: dict[tuple[str, int], list[tuple[re.Pattern[str], Place[_Endpoint]]]] = {}
        for place in places:
            if "{" in place.template:
                alike = self._patterns.setdefault(_likeness(place.template), [])
                alike.append((_compiled(place.template), place))
            else:
                self._fixed[place.template] = Found(place, {})

    def find(self, path: str) -> Found[_Endpoint] | None:
        """The place of a decoded path."""
        fixed = self._fixed.get(path)
        if fixed is not None:
            return fixed
        for pattern, place in self._patterns.get(_likeness(path), ()):
            match = pattern.fullmatch(path)
            if match is not None:
                return Found(place, match.groupdict())
        return None


def _likeness(path: str) -> tuple[str, int]:
    return path[: path.find("/", 1)], path.count("/")


def _compiled(template: str) -> re.Pattern[str]:
    # [^/] takes line breaks too: any text can be an event's name.
    pattern = _PARAMETER.sub(
        lambda match: f"(?P<{match[1]}>{_PATTERNS.get(match[1], '[^/]+')})", template
    )
    return re.compile(pattern)
