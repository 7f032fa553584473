"""What is on record in a real database, as the tables that the witness looks at.

All rows are read whenever something may have been committed. A row that is as it was is not made
again: what has been read is known by all its values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from stateous.json import JsonText
from stateous_controlplane.engine.rows import Entry, Task, Timer, Token
from stateous_controlplane.store import rows, run_rows
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
    # What only runs have.
    f"SELECT {run_rows.RUN} FROM tokens WHERE kind = 'run'",
    f"SELECT {run_rows.JOB} FROM tasks WHERE job IS NOT NULL",
    "SELECT id, text FROM timers WHERE text IS NOT NULL",
    f"SELECT {run_rows.TICKET} FROM tickets",
    "SELECT kept.token, kept.seq, kept.top, entry.at, entry.data FROM kept "
    "JOIN ledger AS entry ON entry.token = kept.token AND entry.seq = kept.seq "
    "WHERE kept.why = 'deferred'",
    f"SELECT {run_rows.SENT} FROM outbox",
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
            tokens, tasks, timers, ledger, memory, kept, *of_runs = self._read()
            runs, jobs, texts, tickets, deferred, outbox = of_runs
            run = {row[0]: row for row in runs}
            job = {row[0]: row for row in jobs}
            text = {row[0]: row for row in texts}
            self._tables = Tables(
                tokens={row[0]: self._of(_token, (row, run.get(row[0]))) for row in tokens},
                tasks={row[0]: self._of(_task, (row, job.get(row[0]))) for row in tasks},
                timers={row[0]: self._of(_timer, (row, text.get(row[0]))) for row in timers},
                ledger={(row[0], row[1]): self._of(_entry, row) for row in ledger},
                memory={row[:3]: JsonText(row[3]) for row in memory},
                kept={row[:2]: Kept(*row[2:]) for row in kept},
                tickets={row[4]: self._of(run_rows.ticket_of, row) for row in tickets},
                deferred={row[:2]: self._of(run_rows.kept_of, row) for row in deferred},
                outbox={row[:2]: self._of(run_rows.sent_of, row) for row in outbox},
            )
        return self._tables

    def _of(self, make: Callable[[Row], Any], row: Row) -> Any:
        known = make, row
        if known not in self._made:
            self._made[known] = make(row)
        return self._made[known]


def _token(found: tuple[Row, Row | None]) -> Token:
    row, run = found
    token = rows.token_of(row)
    if run is not None:
        token.run = run_rows.run_of(run)
        token.configuration = run_rows.configuration_of(run[1])
    return token


def _task(found: tuple[Row, Row | None]) -> Task:
    row, job = found
    task = rows.task_of(row)
    if job is not None:
        task.job = run_rows.job_of(job)
    return task


def _entry(row: Row) -> Entry:
    (entry,) = rows.entries_of([row])
    return entry


def _timer(found: tuple[Row, Row | None]) -> Timer:
    row, text = found
    timer = rows.timer_of(row)
    if text is not None:
        timer.text = text[1]
    return timer
