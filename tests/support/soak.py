"""How much of the chaos tests runs: in CI all on SQLite and some on Postgres, in a soak all, and longer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

#: How many times as long as in CI (`make soak`).
SOAK = int(os.environ.get("STATEOUS_SOAK", "1"))


def on_each_database(cases: Sequence[T], *, postgres_in_brief: Sequence[T]) -> list[tuple[str, T]]:
    """Kinds of databases with cases: in CI Postgres has those that it has ``in_brief``."""
    on_postgres = cases if SOAK > 1 else postgres_in_brief
    return [("sqlite", case) for case in cases] + [("postgres", case) for case in on_postgres]
