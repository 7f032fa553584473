"""The marks that make a function the routine of a state (`docs/spec/authoring.md` 8.3), or of jobs.

A job's is in `docs/spec/statechart.md` 10.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from stateous.routine.state_ref import StateRef

R = TypeVar("R", bound=Callable[..., Any])

_MARK: Final = "__stateous_state__"
_JOB_MARK: Final = "__stateous_job__"

_JOB_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}/[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)


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


def on_job(name: str) -> Callable[[R], R]:
    """Make the decorated function the routine of the jobs that name it.

    ``name`` is ``<machine>/<routine>``: of a chart `review` with `job: { routine: price }` it is
    ``"review/price"``. What the function returns is the job's output, any JSON value::

        @on_job("review/price")
        def price(ctx):
            ctx.emit("progress", 10)
            return {"price": ctx.input["cost"] * 2}

    The function is returned as it is. It has one name; a second decorator replaces the first.

    Raises:
        TypeError: ``name`` is not text.
        ValueError: it is not ``<machine>/<routine>``.
    """
    if not isinstance(name, str):
        raise TypeError(f"on_job takes <machine>/<routine> as text, not {name!r:.100}")
    if _JOB_NAME.fullmatch(name) is None:
        raise ValueError(f"on_job takes <machine>/<routine>, as 'review/price', not {name!r:.100}")

    def mark(routine: R) -> R:
        setattr(routine, _JOB_MARK, name)
        return routine

    return mark


def job_of(routine: object) -> str | None:
    """The job that ``routine`` was marked for; None when it is the routine of none."""
    name = getattr(routine, _JOB_MARK, None)
    return name if isinstance(name, str) and callable(routine) else None
