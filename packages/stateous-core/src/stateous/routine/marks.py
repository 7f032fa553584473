"""The mark that makes a function the routine of a state (`docs/spec/authoring.md` 8.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from stateous.routine.state_ref import StateRef

R = TypeVar("R", bound=Callable[..., Any])

_MARK: Final = "__stateous_state__"


def on_state(ref: StateRef[Any]) -> Callable[[R], R]:
    """Make the decorated function the routine of the state ``ref``.

    The function is returned as it is. It serves one state: a second decorator replaces the first.

    Raises:
        TypeError: ``ref`` is not a StateRef.
    """
    if not isinstance(ref, StateRef):
        raise TypeError(f"on_state takes a state of contract.states, not {ref!r:.100}")

    def mark(routine: R) -> R:
        setattr(routine, _MARK, ref)
        return routine

    return mark


def state_of(routine: object) -> StateRef[Any] | None:
    """The state that ``routine`` was marked for; None when it is no routine."""
    ref = getattr(routine, _MARK, None)
    return ref if isinstance(ref, StateRef) and callable(routine) else None
