"""Who may come in: the `Host` header and the browser rules (`docs/spec/wire.md` 1.2).

There is no authentication; these rules keep pages of other sites, which a browser on the same
computer shows, from reaching a control plane that listens on loopback.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from stateous.wire.problems import Code, Refusal

#: Header name, in lower case, to value; of a header given twice the first.
Headers = Mapping[bytes, bytes]

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^:\[\]/@\s]+)(?::(?P<port>[0-9]*))?", re.ASCII)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#]+)", re.ASCII)


class Admission:
    """The rules of one control plane.

    ``loopback``: it listens on loopback only, and answers to loopback names and ``allow_hosts``.
    """

    def __init__(self, *, loopback: bool, allow_hosts: frozenset[str] = frozenset()) -> None:
        self._names = None
        if loopback:
            self._names = _LOOPBACK_NAMES | {name.lower() for name in allow_hosts}

    def refuse(self, method: str, headers: Headers) -> Refusal | None:
        """Why the request is not let in: 421 before 403; None when it is."""
        host = headers.get(b"host")
        # HTTP/1.0 has no Host; a browser always sends one, so its absence is no danger.
        if self._names is not None and host is not None and not self._answers_to(host):
            return Refusal(
                Code.WRONG_HOST,
                f"this control plane does not answer to the host {_shown(host)}; "
                "allow it with --allow-host",
            )
        if method in _READS:
            return None
        if headers.get(b"sec-fetch-site", b"").strip().lower() == b"cross-site":
            return Refusal(Code.CROSS_SITE, "a page of another site may not send this request")
        origin = headers.get(b"origin")
        if origin is not None and not _same_place(origin, host or b""):
            return Refusal(Code.CROSS_SITE, f"a page of {_shown(origin)} may not send this request")
        return None

    def _answers_to(self, host: bytes) -> bool:
        match = _HOST.fullmatch(host.decode("latin-1").lower())
        return match is not None and self._names is not None and match["name"] in self._names


def _same_place(origin: bytes, host: bytes) -> bool:
    """Whether ``origin`` names the host and port that the request was sent to."""
    page = _ORIGIN.fullmatch(origin.decode("latin-1").lower())
    if page is None:
        return False
    default = _DEFAULT_PORTS[page["scheme"]]
    there = _place(page["host"], default)
    return there is not None and there == _place(host.decode("latin-1").lower(), default)


def _place(host: str, default_port: str) -> tuple[str, str] | None:
    match = _HOST.fullmatch(host)
    return None if match is None else (match["name"], match["port"] or default_port)


def _shown(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    return repr(text if len(text) <= 100 else text[:99] + "…")
