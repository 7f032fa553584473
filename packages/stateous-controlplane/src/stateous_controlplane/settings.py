"""The settings of `stateous serve`, and the refusals of their forms (`docs/spec/wire.md` 6.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from stateous.durations import parse_duration
from stateous.errors import StateousError
from stateous.limits import DEFAULT_LEASE, MIN_LEASE
from stateous_controlplane.logs import LogFormat

_LISTEN = re.compile(r"(?:(\[[0-9A-Fa-f:.%]+\]|[^\[\]:]*):)?([0-9]{1,5})", re.ASCII)
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class ServeError(StateousError):
    """The control plane cannot start or go on: one sentence, exit code 1."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where the API listens; port 0 picks a free one."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this computer can connect."""
        return self.host in _LOOPBACK

    @property
    def url(self) -> str:
        """What a client on this computer connects to."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """How one control plane is started. Without ``graph``, or with a chart's, it serves no workflow."""

    graph: Path | None = None
    db: str = "sqlite:///stateous.db"
    listen: str = "127.0.0.1:8080"
    #: A duration, at least 4 s.
    lease: str = f"{DEFAULT_LEASE}s"
    max_connections: int = 1000
    allow_hosts: tuple[str, ...] = ()
    access_log: bool = False
    log_format: LogFormat = "text"
    standby: bool = False
    #: What keeps the ticket key; None: a file beside an SQLite database, else the database.
    key_file: Path | None = None
    #: Touched about once a second while it stands by, and gone afterwards.
    standby_file: Path | None = None


def parse_listen(text: str) -> ListenAddress:
    """``HOST:PORT``, ``:PORT``, ``PORT`` or ``[IPV6]:PORT``; an empty host is 127.0.0.1.

    Raises:
        ServeError: it is none of them.
    """
    match = _LISTEN.fullmatch(text)
    if match is None or int(match[2]) > 65535 or any(map(str.isspace, text)):
        raise ServeError(
            f"--listen {text!r} is not HOST:PORT with a port from 0 to 65535; "
            "write, for example, 127.0.0.1:8080 or [::1]:8080"
        )
    return ListenAddress((match[1] or "127.0.0.1").strip("[]"), int(match[2]))


def parse_lease(text: str) -> timedelta:
    """The length of a lease.

    Raises:
        ServeError: it is no duration, or shorter than 4 s.
    """
    try:
        lease = parse_duration(text)
    except ValueError as error:
        raise ServeError(f"--lease: {error}") from None
    if lease.total_seconds() < MIN_LEASE:
        raise ServeError(f"--lease {text}: a lease is at least {MIN_LEASE}s long")
    return lease
