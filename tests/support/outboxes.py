"""What waits in the outbox of a supervisor, whether or not one uses it now."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.processes import eventually


def kinds_on_disk(folder: Path, attempt: int) -> list[str]:
    """The kinds of an attempt's messages that a supervisor would find if it started now.

    They are read from a copy, because the file may be locked; another one is made when a commit
    came in between. What is not committed does not count.
    """
    copy = Path(f"{folder}-outbox")

    def read() -> list[list[str]] | None:
        shutil.rmtree(copy, ignore_errors=True)
        try:
            shutil.copytree(folder / ".stateous", copy)
            with closing(sqlite3.connect(copy / "outbox.db")) as outbox:
                rows = outbox.execute("SELECT kind FROM messages WHERE attempt = ?", (attempt,))
                return [[str(kind) for (kind,) in rows]]
        except (sqlite3.DatabaseError, shutil.Error):
            return None

    return eventually(read)[0]
