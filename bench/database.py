"""The databases under a control plane: where one is, and what the self-checks ask of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Database(Protocol):
    """An empty database for one workload."""

    @property
    def url(self) -> str:
        """What `serve --db` takes."""
        ...

    def count(self, query: str) -> int:
        """The one number that ``query`` selects."""
        ...


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """A file in a folder of its own."""

    file: Path

    @property
    def url(self) -> str:
        """What `serve --db` takes."""
        return f"sqlite:///{self.file}"

    def count(self, query: str) -> int:
        """The one number that ``query`` selects."""
        with closing(sqlite3.connect(self.file)) as connection:
            found: int = connection.execute(query).fetchone()[0]
        return found
