"""`ctx` of a job's routine: its input, and what it can say before it returns.

Emitted values, notes and memory writes go to the :class:`~stateous.routine.sink.JobSink` at once, and
stay whatever becomes of the attempt (`docs/spec/statechart.md` 10.2, 10.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final, NoReturn

from stateous.json import depth_of, write_json
from stateous.limits import MAX_EMITTED, MAX_JSON_DEPTH, MAX_RUN_VALUE_BYTES
from stateous.routine.jsonable import as_json, copied
from stateous.routine.sink import JobSink
from stateous.routine.task_context import TaskContext

#: Events that only the control plane makes (`docs/spec/statechart.md` 5.1).
RESERVED_EVENTS: Final = frozenset({"start", "done", "failed", "timer"})

_EVENT: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
# The request that carries a value is an object that has a list of objects, and may be 64 deep.
_DEPTH: Final = MAX_JSON_DEPTH - 3


class JobContext(TaskContext):
    """What the routine of a job is called with.

    ``token`` is the run's id. A run has no context: what the chart gives the job is its ``input``,
    what it gives back is its output, and what it tells meanwhile it emits.
    """

    def __init__(self, grant: Mapping[str, Any], sink: JobSink) -> None:
        """``grant`` is what the control plane answered to the claim (10.4)."""
        super().__init__(grant, sink)
        self._input = grant["input"]
        self._emits = sink
        self._numbers = count(1)

    @property
    def input(self) -> Any:
        """A copy of the job's input, any JSON value; None when the chart gives none."""
        return copied(self._input)

    def emit(self, event: str, value: object = None) -> None:
        """Raise ``event`` in the run, with ``value`` as its data, before this job is done.

        Sent at once, in order; an attempt that fails takes nothing back.

        Raises:
            ValueError: the name is reserved or no name; the value has more than 1 MiB as JSON or is
                too deep; the attempt has emitted 10,000 values.
            TypeError: ``event`` is not text, or ``value`` is not JSON.
        """
        if not isinstance(event, str):
            raise TypeError(f"emit takes the name of an event, not {event!r:.100}")
        if event in RESERVED_EVENTS:
            raise ValueError(f"the event {event!r} is reserved: only the control plane makes it")
        if _EVENT.fullmatch(event) is None:
            raise ValueError(
                f"{event!r:.100} cannot name an event: a name is a letter and at most 63 more letters, "
                f"digits, '-' and '_'"
            )
        data = as_json(f"the value of {event!r}", value)
        size = len(write_json(data).encode())
        if size > MAX_RUN_VALUE_BYTES:
            raise ValueError(
                f"the value of {event!r} has {size} bytes as JSON, more than {MAX_RUN_VALUE_BYTES}"
            )
        if depth_of(data) > _DEPTH:
            raise ValueError(f"the value of {event!r} nests more than {_DEPTH} levels deep")
        if next(self._numbers) > MAX_EMITTED:
            raise ValueError(f"more than {MAX_EMITTED} values were emitted by this attempt")
        self._emits.emit(event, data)

    def _no_context(self) -> NoReturn:
        raise TypeError("a job has no context: it reads ctx.input, and returns its output")

    def __getitem__(self, key: str) -> NoReturn:
        self._no_context()

    def __setitem__(self, key: str, value: object) -> NoReturn:
        self._no_context()

    def __delitem__(self, key: str) -> NoReturn:
        self._no_context()

    def __contains__(self, key: object) -> bool:
        self._no_context()

    def __iter__(self) -> Iterator[str]:
        self._no_context()

    def __len__(self) -> int:
        self._no_context()

    def get(self, key: str, default: Any = None) -> NoReturn:
        """A job has no context.

        Raises:
            TypeError: always.
        """
        self._no_context()

    def schedule(self, event: object, *, after: str) -> NoReturn:
        """A job has no timers of its own: its chart has them.

        Raises:
            TypeError: always.
        """
        raise TypeError("a job sets no timers: write them under timers in the chart")

    def __repr__(self) -> str:
        return f"<JobContext of task {self.task}, run {self.token}>"
