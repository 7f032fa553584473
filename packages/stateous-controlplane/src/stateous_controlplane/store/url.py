"""Which database a URL names (`docs/spec/wire.md` 5.2, 5.3)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from stateous_controlplane.store.port import StoreError

_SQLITE: Final = "sqlite:///"
_POSTGRES: Final = ("postgresql://", "postgres://")
_CREDENTIALS = re.compile(r"(?<=://)([^:/@]*):.*@")
_PASSWORD = re.compile(r"(?i)([?&](?:ssl)?password=)[^&]*")


def masked(url: str) -> str:
    """``url`` as it may be shown: with ``***`` for a password."""
    return _PASSWORD.sub(r"\1***", _CREDENTIALS.sub(r"\1:***@", url))


def is_postgres(url: str) -> bool:
    """Whether ``url`` names a Postgres database."""
    return url.startswith(_POSTGRES)


def sqlite_file(url: str) -> Path:
    """The file that an SQLite ``url`` names, as an absolute path without symbolic links.

    Raises:
        StoreError: it is not `sqlite:///relative.db` or `sqlite:////absolute.db`.
    """
    name = url.removeprefix(_SQLITE)
    if name == url or not name or name.startswith(":memory:") or "\x00" in name:
        raise StoreError(
            f"{masked(url)!r} is not the URL of a database; write sqlite:///relative.db, "
            "sqlite:////absolute.db or postgresql://user:password@host:5432/name"
        )
    if "?" in name:
        raise StoreError(f"the database URL {masked(url)!r} has options, and none are known")
    return Path(name).resolve()
