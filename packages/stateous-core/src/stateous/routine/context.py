"""`ctx`: all that a routine sees of its token, and can say before it reports (8.4).

Writes to the context and timers are only collected: they go out with the report, and a failed
attempt drops them. Notes and memory writes go to the :class:`~stateous.routine.sink.Sink` at once
and stay whatever becomes of the attempt (`docs/spec/authoring.md` 8.4, 8.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypedDict

from typing_extensions import TypeVar

from stateous.durations import parse_duration
from stateous.json import Json, JsonObject
from stateous.names import STARTED
from stateous.routine.jsonable import as_json, copied
from stateous.routine.occurrence import Occurrence
from stateous.routine.payload import payload_of
from stateous.routine.sink import Sink
from stateous.routine.task_context import TaskContext

#: The model of the workflow's context: for readers, nothing is checked against it here. A workflow
#: without one has the bare `Context`.
M = TypeVar("M", covariant=True, default=Any)


@dataclass(frozen=True, slots=True)
class EnteredBy:
    """The last accepted event: the one that entered the state."""

    name: str
    payload: JsonObject | None = None


class _ScheduleEvent(TypedDict):
    event: str
    after: str


class Schedule(_ScheduleEvent, total=False):
    """A timer as a report carries it (`docs/spec/wire.md` 1.5)."""

    payload: JsonObject


class Context(TaskContext, Generic[M]):
    """What a routine is called with.

    Reading and writing keys works on the token's context::

        order = ctx["order"]          # a copy of the JSON value, never a model
        ctx["packed_at"] = "2027-03-01"

    ``task`` is the number of the task, ``visit`` is 1 at the first entry into the state, and
    ``attempt`` is 1, then 2 after a retry.
    """

    def __init__(self, grant: Mapping[str, Any], sink: Sink) -> None:
        """``grant`` is what the control plane answered to the claim (`docs/spec/wire.md` 1.5)."""
        super().__init__(grant, sink)
        self.entered_by = _entered_by(grant.get("entered_by"))
        self._context: JsonObject = grant["context"]
        self._writes: JsonObject = {}
        self._schedules: list[Schedule] = []

    def __getitem__(self, key: str) -> Any:
        kept = self._writes if key in self._writes else self._context
        return copied(kept[key])

    def get(self, key: str, default: Any = None) -> Any:
        """A copy of the value at ``key``; ``default`` when there is none."""
        try:
            return self[key]
        except KeyError:
            return default

    def __setitem__(self, key: str, value: object) -> None:
        """Write ``value``; it is sent with the report, and checked there against the model.

        Raises:
            TypeError: ``key`` is not text, or ``value`` is not JSON (a model, NaN, ...).
        """
        if not isinstance(key, str):
            raise TypeError(f"a key of the context is text, not {key!r:.100}")
        as_json("a key of the context", key)
        self._writes[key] = as_json(f"ctx[{key!r}]", value)

    def __delitem__(self, key: str) -> NoReturn:
        raise TypeError(
            f"a key of the context cannot be deleted: write ctx[{key!r}] = None instead"
        )

    def __contains__(self, key: object) -> bool:
        return key in self._writes or key in self._context

    def __iter__(self) -> Iterator[str]:
        return iter({**self._context, **self._writes})

    def __len__(self) -> int:
        return len({**self._context, **self._writes})

    def schedule(self, event: type[Occurrence[Any]] | Occurrence[Any], *, after: str) -> None:
        """Let ``event`` happen to the token when the duration ``after`` is over.

        The timer is set with the report, and cancelled when the token leaves this visit of the
        state. When due it is routed like any event.

        Args:
            event: an occurrence, or the class of an event without payload.
            after: a duration such as ``"2h"``.

        Raises:
            ValueError: a payload is missing or does not fit, or ``after`` is no duration.
            TypeError: ``event`` is neither.
        """
        parse_duration(after)
        occurrence = _occurrence_of(event)
        payload = payload_of(occurrence)
        timer: Schedule = {"event": occurrence.name, "after": after}
        if payload is not None:
            timer["payload"] = payload
        self._schedules.append(timer)

    def writes(self) -> dict[str, Json]:
        """The keys written so far, as the report will carry them."""
        return copied(self._writes)

    def schedules(self) -> list[Schedule]:
        """The timers set so far, as the report will carry them."""
        return copied(self._schedules)

    def __repr__(self) -> str:
        return f"<Context of task {self.task}, token {self.token}>"


def _occurrence_of(event: object) -> Occurrence[Any]:
    occurrence = event() if isinstance(event, type) and issubclass(event, Occurrence) else event
    if not isinstance(occurrence, Occurrence) or not hasattr(occurrence, "name"):
        raise TypeError(f"schedule takes an event of contract.events, not {event!r:.100}")
    if isinstance(event, type) and occurrence.payload_type() is not None:
        raise ValueError(f"{occurrence.name!r} carries a payload: schedule an occurrence of it")
    return occurrence


def _entered_by(grant: Mapping[str, Any] | None) -> EnteredBy:
    if grant is None:
        return EnteredBy(STARTED)
    return EnteredBy(grant["name"], copied(grant.get("payload")))
