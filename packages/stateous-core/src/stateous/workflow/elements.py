"""What a workflow is made of: states, events, transitions, and its two ends.

All of them are made by the methods of :class:`stateous.Workflow`, never by hand. They are frozen,
and compared by identity: a state of another workflow is another state, whatever its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel

from stateous import names
from stateous.guards import Guard
from stateous.workflow.places import Place

if TYPE_CHECKING:
    from stateous.workflow.declaration import Workflow


@dataclass(frozen=True, slots=True)
class Terminal:
    """:data:`START` or :data:`END`. Both belong to no workflow, and a token rests in neither."""

    name: str

    def __repr__(self) -> str:
        return "START" if self.name == names.START else "END"


#: Where every token begins: the source of the transitions that choose its first state.
START: Final = Terminal(names.START)
#: Where a token completes: the target of its last transition.
END: Final = Terminal(names.END)


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """A state that a token can be in, made by :meth:`stateous.Workflow.state`."""

    name: str
    workflow: Workflow = field(repr=False)
    timeout: str | None
    retries: int
    parallel: tuple[Workflow, ...]
    join: Literal["all", "any"]
    inputs: tuple[str, ...]
    into: str | None
    place: Place = field(repr=False)

    @property
    def emits(self) -> tuple[Event, ...]:
        """The events that a routine of this state may report (`docs/spec/authoring.md` 2.6).

        They are the declared events with a transition from here, in the order of their first one.
        A parallel state has no routine and emits nothing.
        """
        if self.parallel:
            return ()
        leaving = dict.fromkeys(
            transition.event
            for transition in self.workflow.transitions
            if transition.source is self
        )
        events = self.workflow.events
        return tuple(events[name] for name in leaving if name in events)


@dataclass(frozen=True, eq=False, slots=True)
class Event:
    """Something that can happen to a token, made by :meth:`stateous.Workflow.event`."""

    name: str
    payload: type[BaseModel] | None
    into: str | None
    workflow: Workflow = field(repr=False)
    place: Place = field(repr=False)


@dataclass(frozen=True, eq=False, slots=True)
class Transition:
    """A way from one state to the next, made by :meth:`stateous.Workflow.transition`.

    ``event`` is the name of the event that takes it, ``__started__`` on the way out of START:
    own events have a name, and no :class:`Event`.
    """

    source: State | Terminal
    target: State | Terminal
    event: str
    when: Guard | None
    otherwise: bool
    place: Place = field(repr=False)
