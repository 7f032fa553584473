"""What Alembic runs for each upgrade: the migrations, on the caller's connection."""

from __future__ import annotations

from alembic import context

from stateous_controlplane.store.versions import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
