"""What runs are found by: machines by name, runs, open tickets, attempts that last too long."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from stateous_controlplane.store.columns import Id

revision = "0002"
down_revision = "0001"


def _index(name: str, table: str, *columns: str, where: str) -> None:
    condition: dict[str, Any] = {"sqlite_where": sa.text(where), "postgresql_where": sa.text(where)}
    parts = [sa.text(column) if " " in column else column for column in columns]
    op.create_index(name, table, parts, unique=False, **condition)


def upgrade() -> None:
    """Make them. No row that is there already has to change: there were no runs."""
    op.create_table(
        "machines",
        sa.Column("graph", Id(), primary_key=True),
        sa.Column("path", Id(), primary_key=True),
        sa.Column("name", Id(), nullable=False),
    )
    runs = "kind = 'run'"
    _index("runs_key", "tokens", "key", where="key IS NOT NULL")
    newest = ("started_at DESC", "token")
    _index("runs_newest", "tokens", "kind", *newest, where=runs)
    _index("runs_status_newest", "tokens", "kind", "status", *newest, where=runs)
    _index("tickets_open", "tickets", "token", where="status = 'open'")
    _index("tasks_timeout", "tasks", "timeout", where="timeout IS NOT NULL")
