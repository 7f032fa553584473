"""Opening the store that a database URL asks for."""

from __future__ import annotations

from stateous_controlplane.store.port import Store
from stateous_controlplane.store.url import is_postgres, sqlite_file


def open_store(url: str) -> Store:
    """The store for ``url``. Nothing is opened or written before its hold is taken.

    Raises:
        StoreError: no database can be named like that, said without the URL's password.
    """
    # A store is imported for its own URLs only: no process loads a driver that it does not use.
    if is_postgres(url):
        from stateous_controlplane.store.postgres.store import PostgresStore

        return PostgresStore(url)
    file = sqlite_file(url)
    from stateous_controlplane.store.sqlite.store import SqliteStore

    return SqliteStore(file)
