"""Which routines take part: marked functions, a supervisor's folder, and fakes for single states."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from stateous.graph.document import EventSpec, GraphDocument
from stateous.routine import Occurrence, StateRef, state_of
from stateous_cli.testing.errors import RehearsalError
from stateous_supervisor.folder import read_contract
from stateous_supervisor.registry import Routine, load_routines

#: A supervisor's folder, or functions that `@on_state` marked.
Routines: TypeAlias = "str | os.PathLike[str] | Iterable[Callable[..., Any]]"


class Cast:
    """The routines of a rehearsal, by the state's name as a claim has it."""

    def __init__(self, document: GraphDocument, routines: Routines) -> None:
        """Take ``routines`` in.

        Raises:
            RehearsalError: a routine does not fit the workflow.
            SupervisorError: the folder cannot be used.
        """
        self._document = document
        self._refs = _refs_of(document)
        self._import_path: str | None = None
        self.routines: dict[str, Routine] = {}
        if isinstance(routines, str | os.PathLike):
            self._take_folder(Path(routines))
        else:
            for function in routines:
                self._take(function)

    def put(self, state: str | StateRef[Any], fake: Callable[..., Any] | None) -> None:
        """Let ``fake`` be the routine of ``state`` from now on; None: nobody works on it.

        Raises:
            RehearsalError: the workflow has no such state, or it has no routine.
        """
        name = state.name if isinstance(state, StateRef) else state
        self._check_state(name)
        if fake is None:
            self.routines.pop(name, None)
            return
        if not callable(fake):
            raise RehearsalError(f"the routine of {name!r} must be a function, not {fake!r:.100}")
        known = self.routines.get(name)
        own = known.ref if known is not None else self._refs[name]
        ref = state if isinstance(state, StateRef) else own
        self.routines[name] = Routine(ref, _spoken(ref, fake), _place(fake), _is_async(fake))

    def close(self) -> None:
        """Take the folder from the import path again."""
        if self._import_path in sys.path:
            sys.path.remove(str(self._import_path))
        self._import_path = None

    def _take_folder(self, folder: Path) -> None:
        contract = read_contract(folder)
        document = self._document
        if contract.checksum != document.checksum and contract.contract != document.contract:
            raise RehearsalError(
                f"{folder}/contract.py is for another version of the workflow "
                f"{document.workflow!r}: run stateous init supervisor <flow.py> {folder} again"
            )
        before = list(sys.path)
        try:
            self.routines = load_routines(folder).states
        except BaseException:
            sys.path[:] = before
            raise
        # While the rehearsal lasts routines may import what stands beside them.
        self._import_path = str(folder.resolve())

    def _take(self, function: Callable[..., Any]) -> None:
        ref = state_of(function)
        if ref is None:
            raise RehearsalError(
                f"{function!r:.100} is no routine: decorate it with @on_state(states.<state>)"
            )
        self._check_state(ref.name)
        if ref.name in self.routines:
            raise RehearsalError(
                f"{ref.name!r} has two routines: {self.routines[ref.name].place} and "
                f"{_place(function)}"
            )
        emitted = {event.name for event in ref.emits}
        expected = {event.name for event in self._refs[ref.name].emits}
        if emitted != expected:
            raise RehearsalError(
                f"the contract of {_place(function)} is for another version of the workflow: "
                f"there {ref.name!r} emits {_listed(sorted(emitted))}, and here {_listed(sorted(expected))}"
            )
        self.routines[ref.name] = Routine(ref, function, _place(function), _is_async(function))

    def _check_state(self, name: str) -> None:
        if name not in self._refs:
            raise RehearsalError(
                f"the workflow {self._document.workflow!r} has no state {name!r} with a routine; "
                f"those are {_listed(self._refs)}"
            )


def _refs_of(document: GraphDocument) -> dict[str, StateRef[Any]]:
    """A reference to each state that has a routine, made from the document as a contract is."""
    refs: dict[str, StateRef[Any]] = {}
    for flow in document.flows:
        events = {name: _occurrence(event) for name, event in flow.events.items()}
        prefix = "" if flow is document.top else f"{flow.name}/"
        for state in flow.states.values():
            if not state.parallel:
                name = prefix + state.name
                refs[name] = StateRef(name, tuple(events[event] for event in state.emits))
    return refs


def _occurrence(event: EventSpec) -> type[Occurrence[Any]]:
    # The control plane checks the payload against the event's schema.
    base: Any = Occurrence[None] if event.payload is None else Occurrence[dict[str, Any]]

    class Made(base):  # type: ignore[misc]
        name = event.name

    return Made


def _spoken(ref: StateRef[Any], fake: Callable[..., Any]) -> Callable[..., Any]:
    """``fake``, which may say an event by its name, or by its name and payload."""
    events = {event.name: event for event in ref.emits}

    def said(value: object) -> object:
        match value:
            case str() if value in events:
                return events[value]()
            case (str() as name, Mapping() as payload) if name in events:
                return events[name](dict(payload))
            case _:
                return value

    if _is_async(fake):

        async def speak_later(ctx: Any) -> object:
            return said(await fake(ctx))

        return speak_later

    def speak(ctx: Any) -> object:
        return said(fake(ctx))

    return speak


def _is_async(routine: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(routine) or inspect.iscoroutinefunction(
        getattr(routine, "__call__", None)  # noqa: B004 - an object with an `async def __call__`
    )


def _place(function: Callable[..., Any]) -> str:
    module = getattr(function, "__module__", None) or "?"
    return f"{module}.{getattr(function, '__qualname__', repr(function))}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
