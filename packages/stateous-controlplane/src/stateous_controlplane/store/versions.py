"""Which version of the tables a database has, and what is to be done about it (`wire.md` 5.4).

Pure, and without Alembic: a start on a database of the newest version costs two small look-ups,
and the serving process never imports what only a migration needs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Final

from stateous_controlplane.store.port import StoreError

#: The table that Alembic keeps the version in.
VERSION_TABLE: Final = "stateous_version"

_FIRST: Final = frozenset(
    {
        "tokens",
        "tasks",
        "timers",
        "ledger",
        "kept",
        "memory",
        "claims",
        "tickets",
        "outbox",
        "graphs",
        "control_plane",
    }
)

#: Each version, oldest first, with the tables that a database of it has.
VERSIONS: Final[dict[str, frozenset[str]]] = {"0001": _FIRST, "0002": _FIRST | {"machines"}}

NEWEST: Final = next(reversed(VERSIONS))


class Verdict(Enum):
    """What a database needs before it can be served."""

    EMPTY = "it has none of our tables, and gets them all"
    OLDER = "it is upgraded"
    CURRENT = "nothing"


def judge(tables: Collection[str], recorded: Sequence[str]) -> Verdict:
    """What a database with these ``tables`` (all that it has) needs.

    ``recorded`` are the rows of its version table, none when it has no such table.

    Raises:
        StoreError: it must be left alone: a newer or unknown version, tables with our names but
            no version, or a table missing.
    """
    if VERSION_TABLE not in tables:
        ours = sorted(VERSIONS[NEWEST].intersection(tables))
        if not ours:
            return Verdict.EMPTY
        raise StoreError(
            f"the database has tables with the names of Stateous ({', '.join(ours)}) but no "
            f"version: give Stateous a database of its own"
        )
    version = recorded[0] if len(recorded) == 1 else None
    if version is None or version not in VERSIONS:
        if version is not None and version.isdecimal() and version > NEWEST:
            raise StoreError(
                f"a newer Stateous made this database (version {version}, this one knows {NEWEST})"
                ": upgrade Stateous"
            )
        found = ", ".join(sorted(recorded)) or "none"
        raise StoreError(
            f"the database has an unknown version ({found}, this Stateous knows {NEWEST}): "
            "restore it from a backup, or give Stateous a database of its own"
        )
    missing = sorted(VERSIONS[version].difference(tables))
    if missing:
        raise StoreError(
            f"the database lacks {'a table' if len(missing) == 1 else 'tables'} of its version "
            f"{version} ({', '.join(missing)}): restore it from a backup"
        )
    return Verdict.CURRENT if version == NEWEST else Verdict.OLDER
