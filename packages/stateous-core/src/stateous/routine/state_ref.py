"""A state as routines name it: what it is called, and which events it may report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from stateous.routine.occurrence import Occurrence
from stateous.routine.outcome import make_occurrence, schema_of_outcomes

E = TypeVar("E", bound=Occurrence[Any], covariant=True)


@dataclass(frozen=True)
class StateRef(Generic[E]):
    """A state of the contract. ``name`` is ``<state>``, of a child ``<workflow>/<state>``.

    ``emits`` are the events that its routine may return, exactly these classes.
    """

    name: str
    emits: tuple[type[E], ...] = ()

    def may_emit(self, occurrence: object) -> bool:
        """Whether ``occurrence`` is of exactly one of the classes in ``emits``."""
        return any(type(occurrence) is event for event in self.emits)

    def outcome_schema(self) -> dict[str, Any]:
        """The JSON Schema of what :meth:`outcome` takes, to ask a language model for.

        ``{"oneOf": [...]}``, a branch per event. No ``$defs`` and no ``$ref`` stand in it.

        Raises:
            OutcomeError: the state emits nothing, or a payload's model refers to itself.
        """
        return schema_of_outcomes(self.name, self.emits)

    def outcome(self, data: object) -> E:
        """The occurrence that ``data`` describes: ``{"event": ..., "payload": ...}``.

        Raises:
            OutcomeError: ``data`` does not match :meth:`outcome_schema`. The sentence names the
                first bad field and the allowed events.
        """
        return cast(E, make_occurrence(self.name, self.emits, data))
