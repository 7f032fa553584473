"""Opening the store that a database URL asks for."""

from __future__ import annotations

from stateous_controlplane.store.port import Store
from stateous_controlplane.store.url import sqlite_file


def open_store(url: str) -> Store:
    """The store for ``url``. Nothing is opened or written before its hold is taken.

    Raises:
        StoreError: no database can be named like that, said without the URL's password.
    """
    file = sqlite_file(url)
    # A store is imported for its own URLs only: no process loads a driver that it does not use.
    from stateous_controlplane.store.sqlite.store import SqliteStore

    return SqliteStore(file)
