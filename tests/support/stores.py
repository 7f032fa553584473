"""Rows for the suite of the store port, and how they are put into a store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

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
from stateous_controlplane.store.port import Changes, GraphRecord, Loaded, Needs, Store

HOLDER = "box-1:4711:9f3c01aa"
NOW = datetime(2027, 3, 1, 14, 51, 53, 873706, tzinfo=UTC)


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
