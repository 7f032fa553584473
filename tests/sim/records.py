"""What is on record in a real database, as the tables that the witness looks at.

All rows are read whenever something may have been committed. A row that is as it was is not made
again: what has been read is known by all its values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stateous.json import JsonText
from stateous_controlplane.store import rows
from stateous_controlplane.store.memory.tables import Kept, Tables
from stateous_controlplane.store.rows import Row

#: The statements whose rows :class:`Records` reads.
SELECTS: Final = (
    f"SELECT {rows.TOKEN} FROM tokens",
    f"SELECT {rows.TASK} FROM tasks",
    f"SELECT {rows.TIMER} FROM timers",
    f"SELECT {rows.ENTRY} FROM ledger",
    "SELECT token, state, key, value FROM memory",
    "SELECT token, seq, top, arrival FROM kept WHERE why = 'held'",
)


class Records:
    """Tables of what ``read`` gives; of the hold, the documents and the claims they say nothing."""

    def __init__(self, read: Callable[[], list[list[Row]]]) -> None:
        self._read = read
        self._tables: Tables | None = None
        self._made: dict[tuple[Any, Row], Any] = {}

    def forget(self) -> None:
        """Read anew when the tables are looked at next."""
        self._tables = None

    @property
    def tables(self) -> Tables:
        """What is on record."""
        if self._tables is None:
            tokens, tasks, timers, ledger, memory, kept = self._read()
            self._tables = Tables(
                tokens={row[0]: self._of(rows.token_of, row) for row in tokens},
                tasks={row[0]: self._of(rows.task_of, row) for row in tasks},
                timers={row[0]: self._of(rows.timer_of, row) for row in timers},
                ledger={(row[0], row[1]): self._of(rows.entry_of, row) for row in ledger},
                memory={row[:3]: JsonText(row[3]) for row in memory},
                kept={row[:2]: Kept(*row[2:]) for row in kept},
            )
        return self._tables

    def _of(self, make: Callable[[Row], Any], row: Row) -> Any:
        known = make, row
        if known not in self._made:
            self._made[known] = make(row)
        return self._made[known]
