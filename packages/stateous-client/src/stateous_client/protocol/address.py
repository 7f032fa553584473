"""The URL of a control plane, checked once, and what of it may be shown."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from stateous_client.errors import InvalidArgument

_LABELS = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*", re.ASCII)
_DOTTED_DIGITS = re.compile(r"[0-9]+(\.[0-9]+){3}", re.ASCII)
_MAX_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """Where a control plane answers. None of the three ends with a slash."""

    #: What requests are sent to, credentials and base path included. Never shown.
    base: str
    #: Without the password: the clients' attribute ``url``.
    url: str
    #: With ``***`` for the password: for errors and ``repr``.
    masked: str

    @property
    def encrypted(self) -> bool:
        """Whether the connection is TLS."""
        return self.base.startswith("https:")

    def __repr__(self) -> str:
        return f"Address({self.masked!r})"

    @classmethod
    def parse(cls, url: str) -> Address:
        """The address that ``url`` names.

        Raises:
            InvalidArgument: no ``http`` or ``https``; a host that is neither an IP address nor
                labels of letters, digits, ``-`` and ``_`` with dots between; a port out of range;
                a query, a fragment, white space.
        """
        if not isinstance(url, str):
            raise InvalidArgument(f"the URL of a control plane is a text, not {url!r}")
        shown = repr(without_credentials(url))
        # urlsplit drops some control characters silently, so they are looked for before.
        if any(not char.isprintable() or char.isspace() for char in url):
            raise InvalidArgument(f"{shown} is no URL: it holds white space or a control character")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise InvalidArgument(f"{shown} is no URL: its host or port cannot be read") from None
        if parts.scheme not in ("http", "https"):
            raise InvalidArgument(f"{shown} is no http:// or https:// URL")
        if not _is_host(host, bracketed="[" in parts.netloc.rpartition("@")[2]):
            raise InvalidArgument(f"the host of {shown} is neither an IP address nor a name")
        if port is not None and not 0 < port <= _MAX_PORT:
            raise InvalidArgument(f"the port of {shown} is not from 1 to {_MAX_PORT}")
        if "?" in url or "#" in url:
            raise InvalidArgument(f"{shown} holds a query or a fragment; write the URL without it")
        return cls._of(parts.scheme, parts.netloc, parts.path.rstrip("/"))

    @classmethod
    def _of(cls, scheme: str, netloc: str, path: str) -> Address:
        credentials, at, place = netloc.rpartition("@")
        user, colon, _ = credentials.partition(":")
        return cls(
            base=f"{scheme}://{netloc}{path}",
            url=f"{scheme}://{user}{at if user else ''}{place}{path}",
            masked=f"{scheme}://{user}{':***' if colon else ''}{at}{place}{path}",
        )


def without_credentials(url: str) -> str:
    """``url``, which may be no URL at all, with ``***`` for whatever stands before its last ``@``.

    A password that was not encoded may hold any character, so nothing finer is safe.
    """
    before, at, after = url.rpartition("@")
    if not at:
        return url
    scheme, slashes, _ = before.partition("//")
    return f"{scheme}{slashes}***@{after}" if slashes else f"***@{after}"


def _is_host(host: str, *, bracketed: bool) -> bool:
    if bracketed or _DOTTED_DIGITS.fullmatch(host):
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return bracketed == (address.version == 6)
    return _LABELS.fullmatch(host) is not None
