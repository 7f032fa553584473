"""All tables, and the row of control_plane."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from stateous_controlplane.store.columns import Id, Moment, Whole

revision = "0001"
down_revision = None


def _index(
    name: str, table: str, *columns: str, where: str | None = None, unique: bool = False
) -> None:
    condition: dict[str, Any] = {}
    if where is not None:
        condition = {"sqlite_where": sa.text(where), "postgresql_where": sa.text(where)}
    parts = [sa.text(column) if " " in column else column for column in columns]
    op.create_index(name, table, parts, unique=unique, **condition)


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "tokens",
        sa.Column("token", Id(), primary_key=True),
        sa.Column("folded", Id(), nullable=False),
        sa.Column("kind", Id(), nullable=False),
        sa.Column("top", Id(), nullable=False),
        sa.Column("parent", Id()),
        sa.Column("parent_state", Id()),
        sa.Column("parent_visit", Whole()),
        sa.Column("workflow", Id()),
        sa.Column("graph", Id(), nullable=False),
        sa.Column("state", Id(), nullable=False),
        sa.Column("visit", Whole(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("configuration", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("entered_by", sa.Text(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("visits", sa.Text(), nullable=False),
        sa.Column("seq", Whole(), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("entered_at", Moment(), nullable=False),
        sa.Column("started_at", Moment(), nullable=False),
        sa.Column("paused_at", Moment()),
        sa.Column("ended_at", Moment()),
        sa.Column("key", Id()),
        sa.Column("job", Id()),
        sa.Column("input", sa.Text()),
        sa.Column("output", sa.Text()),
        sa.Column("outputs", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("starter", sa.Text()),
    )
    _index("tokens_folded", "tokens", "folded", unique=True)
    _index("tokens_graph_live", "tokens", "graph", where="status IN ('active', 'paused')")
    _index("tokens_key_live", "tokens", "key", where="status IN ('active', 'paused')", unique=True)
    _index("tokens_moved", "tokens", "kind", "entered_at DESC", "token")
    _index("tokens_parent", "tokens", "parent", "parent_state", "parent_visit")
    _index("tokens_status_moved", "tokens", "kind", "status", "entered_at DESC", "token")
    _index("tokens_top", "tokens", "top", "status")
    op.create_table(
        "tasks",
        sa.Column("id", Whole(), primary_key=True),
        sa.Column("token", Id(), nullable=False),
        sa.Column("state", Id(), nullable=False),
        sa.Column("visit", Whole(), nullable=False),
        sa.Column("queue", Id(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("ready", sa.Boolean(), nullable=False),
        sa.Column("attempt", Whole(), nullable=False),
        sa.Column("claimed_by", Id()),
        sa.Column("lease_until", Moment()),
        sa.Column("queued_at", Moment(), nullable=False),
        sa.Column("job", Id()),
        sa.Column("input", sa.Text()),
        sa.Column("timeout", sa.Text()),
        sa.Column("lost", Whole()),
        sa.Column("emitted", Whole()),
        sa.Column("last_number", Whole(), nullable=False),
        sqlite_autoincrement=True,
    )
    _index("tasks_lease", "tasks", "lease_until", where="status = 'claimed'")
    _index(
        "tasks_open",
        "tasks",
        "token",
        where="status = 'queued' OR status = 'claimed' OR status = 'waiting'",
    )
    _index("tasks_queue", "tasks", "queue", "queued_at", "id", where="ready")
    _index("tasks_unclaimed", "tasks", "status", "id", where="status IN ('waiting', 'queued')")
    op.create_table(
        "timers",
        sa.Column("id", Whole(), primary_key=True),
        sa.Column("token", Id(), nullable=False),
        sa.Column("state", Id(), nullable=False),
        sa.Column("visit", Whole(), nullable=False),
        sa.Column("kind", Id(), nullable=False),
        sa.Column("event", Id(), nullable=False),
        sa.Column("payload", sa.Text()),
        sa.Column("text", sa.Text()),
        sa.Column("set_at", Moment(), nullable=False),
        sa.Column("due_at", Moment(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("ready", sa.Boolean(), nullable=False),
        sqlite_autoincrement=True,
    )
    _index("timers_due", "timers", "due_at", "id", where="ready")
    _index("timers_pending", "timers", "token", where="status = 'pending'")
    op.create_table(
        "ledger",
        sa.Column("token", Id(), primary_key=True),
        sa.Column("seq", Whole(), primary_key=True),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("kind", Id(), nullable=False),
        sa.Column("key", Id()),
        sa.Column("data", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
    _index("ledger_key", "ledger", "token", "key", where="key IS NOT NULL", unique=True)
    op.create_table(
        "kept",
        sa.Column("token", Id(), primary_key=True),
        sa.Column("seq", Whole(), primary_key=True),
        sa.Column("top", Id(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("arrival", Whole(), nullable=False),
        sqlite_with_rowid=False,
    )
    _index("kept_top", "kept", "top", "arrival")
    op.create_table(
        "memory",
        sa.Column("token", Id(), primary_key=True),
        sa.Column("state", Id(), primary_key=True),
        sa.Column("key", Id(), primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "claims",
        sa.Column("supervisor", Id(), primary_key=True),
        sa.Column("request", Id(), primary_key=True),
        sa.Column("task", Whole(), primary_key=True),
        sa.Column("attempt", Whole(), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tickets",
        sa.Column("token", Id(), primary_key=True),
        sa.Column("state", Id(), primary_key=True),
        sa.Column("visit", Whole(), primary_key=True),
        sa.Column("ticket", Id(), primary_key=True),
        sa.Column("digest", Id(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("issued_at", Moment(), nullable=False),
    )
    _index("tickets_digest", "tickets", "digest", unique=True)
    op.create_table(
        "outbox",
        sa.Column("id", Whole(), primary_key=True),
        sa.Column("token", Id(), nullable=False),
        sa.Column("seq", Whole(), nullable=False),
        sa.Column("target", Id(), nullable=False),
        sa.Column("event", Id(), nullable=False),
        sa.Column("data", sa.Text()),
        sa.Column("at", Moment(), nullable=False),
        sqlite_autoincrement=True,
    )
    _index("outbox_sent", "outbox", "token", "seq", unique=True)
    op.create_table(
        "graphs",
        sa.Column("graph", Id(), primary_key=True),
        sa.Column("kind", Id(), nullable=False),
        sa.Column("name", Id(), nullable=False),
        sa.Column("structure", Id(), nullable=False),
        sa.Column("contract", Id(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("added_at", Moment(), nullable=False),
    )
    op.create_table(
        "control_plane",
        sa.Column("id", Whole(), primary_key=True, autoincrement=False),
        sa.Column("structure", Id()),
        sa.Column("checksum", Id()),
        sa.Column("serving", Id()),
        sa.Column("since", Moment()),
        sa.Column("ticket_key", sa.Text()),
        sa.Column("key_fingerprint", sa.Text()),
    )
    op.execute("INSERT INTO control_plane (id) VALUES (1)")
