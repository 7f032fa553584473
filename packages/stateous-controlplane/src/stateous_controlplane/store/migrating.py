"""Migrating a database in a child process, so that the serving process never imports Alembic."""

from __future__ import annotations

import subprocess
import sys

from stateous_controlplane.store.port import StoreError

_MODULE = "stateous_controlplane.store.migrations"


def migrate(url: str) -> None:
    """Bring the database that ``url`` names to the newest version, in one transaction.

    Only under the hold. The URL goes through a pipe: it may have a password, which the list of
    processes must not show.

    Raises:
        StoreError: it failed, and the database is as it was.
    """
    child = subprocess.run(
        [sys.executable, "-m", _MODULE],
        input=url,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
    )
    if child.returncode != 0:
        lines = child.stderr.strip().splitlines()
        raise StoreError(lines[-1] if lines else "the migration of the database was stopped")
