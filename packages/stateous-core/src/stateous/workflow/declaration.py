"""The `Workflow` that authors declare (`docs/spec/authoring.md` 2.3 to 2.5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel

from stateous import names
from stateous.guards import Guard
from stateous.workflow.arguments import Arguments, plain, shown
from stateous.workflow.elements import END, START, Event, State, Terminal, Transition
from stateous.workflow.places import calling_place


class Workflow:
    """A graph of states through which tokens move.

    ``context`` is the pydantic model of the data that a token carries, or None for any JSON
    object. ``states`` and ``events`` hold what was declared, by name, and ``transitions`` lists
    the ways between them, all in the order of the declarations::

        flow = Workflow("orders", context=Order)
        packing = flow.state("packing", timeout="2d")
        packed = flow.event("packed")
        flow.transition(START, packing)
        flow.transition(packing, END, on=packed)

    A wrong call raises :class:`stateous.errors.DefinitionError` at once, with the file and line
    where it begins. What needs the whole graph is checked by ``stateous compile``.
    """

    def __init__(self, name: str, *, context: type[BaseModel] | None = None) -> None:
        self.place = calling_place()
        arguments = Arguments(self.place)
        self.name = arguments.name("a workflow", name)
        self.context = arguments.model("context", context)
        self.states: dict[str, State] = {}
        self.events: dict[str, Event] = {}
        self.transitions: list[Transition] = []

    def __repr__(self) -> str:
        return f"Workflow({self.name!r})"

    def state(
        self,
        name: str,
        *,
        timeout: str | None = None,
        retries: int = 0,
        parallel: Iterable[Workflow] = (),
        join: Literal["all", "any"] = "all",
        inputs: Iterable[str] = (),
        into: str | None = None,
    ) -> State:
        """Declare a state.

        An ordinary state is worked on by the routine of that name. A state with ``parallel`` has
        no routine: it starts one child token per workflow.

        Args:
            name: new in this workflow.
            timeout: a duration such as ``"15m"``, set at each entry and covering all attempts.
                When it is over the event ``timeout`` fires.
            retries: how many more attempts a failed routine gets before the event ``error``.
                A parallel state has none.
            parallel: the child workflows to run.
            join: ``"all"``: the event ``joined`` fires when each child has ended; ``"any"``: when
                the first has.
            inputs: the keys of the context that each child starts with.
            into: the key of the context that keeps the payload of ``joined``; its type is
                :class:`stateous.Branches`.

        Raises:
            DefinitionError: an argument breaks one of these rules.
        """
        arguments = Arguments(calling_place())
        name = arguments.name("a state", name, own=(names.START, names.END))
        if name in self.states:
            raise arguments.refuse(
                f"the state {name!r} is declared already, at {self.states[name].place}"
            )
        timeout = arguments.timeout(timeout)
        attempts = arguments.retries(retries)
        children = self._children(arguments, parallel)
        if children and attempts:
            raise arguments.refuse(
                f"the parallel state {name!r} has no task that could be retried: leave out retries"
            )
        join = arguments.join(join)
        keys = arguments.keys("inputs", inputs)
        into = arguments.into(into)
        if not children and (join == "any" or keys or into is not None):
            raise arguments.refuse(
                f"join, inputs and into belong to a parallel state, and {name!r} is none"
            )
        state = State(
            name=name,
            workflow=self,
            timeout=timeout,
            retries=attempts,
            parallel=children,
            join=join,
            inputs=keys,
            into=into,
            place=arguments.place,
        )
        self.states[name] = state
        return state

    def event(
        self, name: str, *, payload: type[BaseModel] | None = None, into: str | None = None
    ) -> Event:
        """Declare an event.

        Args:
            name: new in this workflow, and none of Stateous's own (``timeout``, ``error``,
                ``joined``).
            payload: the pydantic model of the data that the event carries; None for no data.
            into: the key of the context that keeps the payload when the event is accepted.

        Raises:
            DefinitionError: an argument breaks one of these rules.
        """
        arguments = Arguments(calling_place())
        name = arguments.name("an event", name, own=names.OWN_EVENTS)
        if name in self.events:
            raise arguments.refuse(
                f"the event {name!r} is declared already, at {self.events[name].place}"
            )
        event = Event(
            name=name,
            payload=arguments.model("payload", payload),
            into=arguments.into(into),
            workflow=self,
            place=arguments.place,
        )
        self.events[name] = event
        return event

    def transition(
        self,
        source: State | Terminal,
        target: State | Terminal,
        *,
        on: Event | str | None = None,
        when: str | None = None,
        otherwise: bool = False,
    ) -> Transition:
        """Declare a way from ``source`` to ``target``.

        A transition from a state to itself leaves the state and enters it again.

        Args:
            source: a state of this workflow, or START.
            target: a state of this workflow, or END.
            on: the event that takes it, or its name; also ``"timeout"``, ``"error"`` and, from a
                parallel state, ``"joined"``. From START there is none.
            when: a guard, for example ``"count('failed') < 3"``. Guards of one event from one
                state must exclude each other.
            otherwise: take it when no guard of the same event is true. It has no guard itself,
                and there is one per event and state.

        Raises:
            DefinitionError: an argument breaks one of these rules, or the guard does not parse.
        """
        arguments = Arguments(calling_place())
        self._check_ends(arguments, source, target)
        event = self._event_name(arguments, source, on)
        fallback = arguments.truth("otherwise", otherwise)
        if when is not None and fallback:
            raise arguments.refuse("a transition has a guard or is the fallback, not both")
        guard = arguments.guard(when)
        if guard is not None:
            self._check_reads(arguments, guard, source, event)
        else:
            self._check_only_fallback(arguments, source, event)
        transition = Transition(
            source=source,
            target=target,
            event=event,
            when=guard,
            otherwise=fallback,
            place=arguments.place,
        )
        self.transitions.append(transition)
        return transition

    def _children(self, arguments: Arguments, parallel: object) -> tuple[Workflow, ...]:
        if isinstance(parallel, Workflow):
            raise arguments.refuse(f"parallel must be a list: write [{parallel!r}]")
        children: dict[str, Workflow] = {}
        for child in arguments.listed("parallel", parallel):
            if not isinstance(child, Workflow):
                raise arguments.refuse(f"parallel holds Workflow objects, not {shown(child)}")
            if child is self:
                raise arguments.refuse(f"the workflow {self.name!r} cannot run itself")
            if child.name in children:
                raise arguments.refuse(f"parallel names two workflows {child.name!r}")
            children[child.name] = child
        return tuple(children.values())

    def _check_ends(self, arguments: Arguments, source: object, target: object) -> None:
        for role, end in (("source", source), ("target", target)):
            if isinstance(end, Terminal):
                continue
            if not isinstance(end, State):
                raise arguments.refuse(
                    f"the {role} must be a state, START or END, not {shown(end)}"
                )
            if end.workflow is not self:
                raise arguments.refuse(
                    f"the {role} {end.name!r} is a state of the workflow {end.workflow.name!r}, "
                    f"not of {self.name!r}"
                )
        if target == START:
            raise arguments.refuse("no transition leads to START")
        if source == END:
            raise arguments.refuse("no transition leaves END")
        if source == START and target == END:
            raise arguments.refuse("a transition from START leads to a state, not to END")

    def _event_name(self, arguments: Arguments, source: State | Terminal, on: object) -> str:
        if isinstance(source, Terminal):
            if on is not None:
                raise arguments.refuse("a transition from START waits for no event: leave out on")
            return names.STARTED
        if isinstance(on, Event):
            if on.workflow is not self:
                raise arguments.refuse(
                    f"{on.name!r} is an event of the workflow {on.workflow.name!r}, "
                    f"not of {self.name!r}"
                )
            return on.name
        if on is None:
            raise arguments.refuse(f"a transition from {source.name!r} needs on=, its event")
        if isinstance(on, str) and on == names.STARTED:
            raise arguments.refuse(
                f"{names.STARTED!r} is never written: it belongs to transitions from START"
            )
        if not isinstance(on, str) or (
            on not in self.events and on not in names.ROUTABLE_OWN_EVENTS
        ):
            raise arguments.refuse(
                f"on must be an event of this workflow, 'timeout', 'error' or 'joined', "
                f"not {shown(on)}"
            )
        if on == names.JOINED and not source.parallel:
            raise arguments.refuse(
                f"'joined' fires only in a parallel state, and {source.name!r} is none"
            )
        return plain(on)

    def _check_reads(
        self, arguments: Arguments, guard: Guard, source: State | Terminal, event: str
    ) -> None:
        prefix = f"guard {guard.text!r}: "
        if guard.branches and event != names.JOINED:
            raise arguments.refuse(
                f"{prefix}branches.all and branches.any belong to the event 'joined'"
            )
        if isinstance(source, Terminal):
            if guard.payload_fields:
                raise arguments.refuse(f"{prefix}a start has no payload to read")
            if guard.events:
                raise arguments.refuse(f"{prefix}before the start there is nothing to count")
            return
        declared = self.events.get(event)
        if guard.payload_fields and (declared is None or declared.payload is None):
            raise arguments.refuse(f"{prefix}the event {event!r} carries no payload")

    def _check_only_fallback(
        self, arguments: Arguments, source: State | Terminal, event: str
    ) -> None:
        for earlier in self.transitions:
            if earlier.source == source and earlier.event == event and earlier.when is None:
                where = "START" if isinstance(source, Terminal) else f"{source.name!r} on {event!r}"
                raise arguments.refuse(
                    f"{where} has an unguarded transition already, at {earlier.place}"
                )
