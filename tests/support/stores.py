"""Databases for the suite of the store port, and rows to put into them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString, Protocol

import psycopg

from stateous.json import JsonText
from stateous_controlplane.engine.rows import (
    Active,
    Entry,
    Status,
    Task,
    TaskStatus,
    Timer,
    TimerKind,
    Token,
)
from stateous_controlplane.store.memory.database import MemoryDatabase
from stateous_controlplane.store.memory.store import MemoryStore
from stateous_controlplane.store.port import Changes, GraphRecord, Loaded, Needs, Store
from stateous_controlplane.store.postgres.store import PostgresStore
from stateous_controlplane.store.sqlite.store import SqliteStore

HOLDER = "box-1:4711:9f3c01aa"
NOW = datetime(2027, 3, 1, 14, 51, 53, 873706, tzinfo=UTC)


class Database(Protocol):
    """A database that several control planes can open."""

    #: Whether no host can have the lock while another one has it.
    locks_out_other_hosts: bool

    def open(self) -> Store:
        """One control plane's store; closed with the database."""
        ...

    def drop_lock(self) -> None:
        """Lose the hold's lock, as a disk that two hosts share may."""
        ...

    def close(self) -> None: ...


class InMemory:
    """A database in memory."""

    locks_out_other_hosts = False

    def __init__(self) -> None:
        self._database = MemoryDatabase()

    def open(self) -> Store:
        return MemoryStore(self._database, busy_timeout=0.05)

    def drop_lock(self) -> None:
        self._database.held_by = None

    def close(self) -> None: ...


class SqliteFile:
    """A copy of an empty database, at the newest version, in a file."""

    locks_out_other_hosts = False

    def __init__(self, template: Path, file: Path) -> None:
        shutil.copyfile(template, file)
        self.file = file
        self._opened: list[Store] = []

    def open(self) -> Store:
        store = SqliteStore(self.file, busy_timeout=0.05)
        self._opened.append(store)
        return store

    def drop_lock(self) -> None:
        self.file.with_name(f"{self.file.name}.lock").unlink()

    def close(self) -> None:
        for store in self._opened:
            store.close()


class OnPostgres:
    """An empty database, at the newest version, on a server."""

    locks_out_other_hosts = True

    def __init__(self, url: str) -> None:
        self.url = url
        self._opened: list[Store] = []

    def open(self) -> Store:
        store = PostgresStore(self.url)
        self._opened.append(store)
        return store

    def query(self, text: LiteralString, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement as somebody else, and commit it."""
        with psycopg.connect(self.url) as connection:
            done = connection.execute(text, values)
            return [] if done.description is None else done.fetchall()

    def drop_lock(self) -> None:
        self.query(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory' "
            "AND granted AND database = (SELECT oid FROM pg_database "
            "WHERE datname = current_database())"
        )

    def close(self) -> None:
        for store in self._opened:
            store.close()


def after(seconds: float) -> datetime:
    """So many seconds after :data:`NOW`."""
    return NOW + timedelta(seconds=seconds)


def token(token_id: str = "T-1", **changes: Any) -> Token:
    """A top token that is in `coding` for the first time."""
    made = Token(
        token=token_id,
        top=token_id,
        graph="graph-1",
        status=Status.ACTIVE,
        context=JsonText('{"repo":"acme/api"}'),
        entered_by=JsonText('{"name":"__started__"}'),
        started_at=NOW,
        entered_at=NOW,
        at=NOW,
        seq=4,
        configuration=(Active("coding", 1),),
        counts={"__started__": 1},
        visits={"coding": 1},
    )
    return replace(made, **changes)


def child(parent: Token, workflow: str, **changes: Any) -> Token:
    """A child that ``parent`` started in its state."""
    return token(
        f"{parent.token}.{parent.state}.{parent.visit}.{workflow}",
        **{
            "top": parent.top,
            "parent": parent.token,
            "parent_state": parent.state,
            "parent_visit": parent.visit,
            "workflow": workflow,
            **changes,
        },
    )


def task(task_id: int = 1, token_id: str = "T-1", **changes: Any) -> Task:
    """A task that is queued for `coding`."""
    made = Task(task_id, token_id, "coding", 1, "coding", NOW)
    return replace(made, **changes)


def claimed(task_id: int, token_id: str = "T-1", **changes: Any) -> Task:
    """A task that box-1 works on."""
    return task(
        task_id,
        token_id,
        **{
            "status": TaskStatus.CLAIMED,
            "ready": False,
            "attempt": 1,
            "claimed_by": "box-1",
            "lease_until": after(120),
            **changes,
        },
    )


def timer(timer_id: int = 1, token_id: str = "T-1", **changes: Any) -> Timer:
    """A timeout of `coding` that is pending."""
    made = Timer(
        timer_id, token_id, "coding", 1, TimerKind.TIMEOUT, "timeout", None, NOW, after(3600)
    )
    return replace(made, **changes)


def entry(token_id: str = "T-1", seq: int = 1, **changes: Any) -> Entry:
    """A ledger entry."""
    return Entry(token_id, seq, NOW, "note", JsonText('{"task":1,"text":"x"}'))._replace(**changes)


def graph(checksum: str = "graph-2", structure: str = "structure-1") -> GraphRecord:
    """A document of the workflow `ticket`."""
    return GraphRecord(
        checksum, "workflow", "ticket", structure, "contract-1", '{"format": 1, "é": 1.0}'
    )


def write(store: Store, **changes: Any) -> None:
    """Write changes in a transaction of their own."""
    with store.transaction(HOLDER) as transaction:
        transaction.write(Changes(**changes))


def load(store: Store, **needs: Any) -> Loaded:
    """Load in a transaction of its own."""
    with store.transaction(HOLDER) as transaction:
        return transaction.load(Needs(**needs))
