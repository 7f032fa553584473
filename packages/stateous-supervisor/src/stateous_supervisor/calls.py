"""A routine with what it is called with, and what its end is reported as: of a state, or of a job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from stateous.json import JsonObject
from stateous.routine import Context, JobContext, JobSink
from stateous_supervisor import job_outcome, outcome
from stateous_supervisor.messages import Attempt
from stateous_supervisor.registry import JobRoutine, Routine


@dataclass(frozen=True, slots=True)
class Call(ABC):
    """What both have. ``name`` is that of the state or job; ``ctx`` is the only argument."""

    name: str
    function: Callable[..., Any]
    attempt: Attempt
    ctx: Context[Any] | JobContext

    @property
    def title(self) -> str:
        """What names of threads and event loops' tasks say."""
        return f"{self.name} of {self.ctx.token} (task {self.attempt.task})"

    @abstractmethod
    def returned(self, value: object) -> JsonObject:
        """The outcome of having returned ``value``.

        Raises:
            BaseException: whatever code of the author's raises that is run for it.
        """

    @abstractmethod
    def raised(self, error: BaseException) -> JsonObject:
        """The outcome of having raised ``error``, of whatever class."""

    @abstractmethod
    def failed(self, error: str) -> JsonObject:
        """The outcome of having failed otherwise."""


@dataclass(frozen=True, slots=True)
class _StateCall(Call):
    routine: Routine
    context: Context[Any]

    def returned(self, value: object) -> JsonObject:
        return outcome.returned(self.routine.ref, value, self.context)

    def raised(self, error: BaseException) -> JsonObject:
        return outcome.raised(error, self.attempt.number)

    def failed(self, error: str) -> JsonObject:
        return outcome.failed(error, self.attempt.number)


@dataclass(frozen=True, slots=True)
class _JobCall(Call):
    def returned(self, value: object) -> JsonObject:
        return job_outcome.returned(value, self.attempt.number)

    def raised(self, error: BaseException) -> JsonObject:
        return job_outcome.raised(error, self.attempt.number)

    def failed(self, error: str) -> JsonObject:
        return job_outcome.failed(error, self.attempt.number)


def call_of(
    routine: Routine | JobRoutine, attempt: Attempt, grant: Mapping[str, Any], sink: JobSink
) -> Call:
    """The call that does the work of a grant.

    Raises:
        Exception: no `ctx` can be made of the grant.
    """
    match routine:
        case Routine():
            ctx: Context[Any] = Context(grant, sink)
            return _StateCall(routine.ref.name, routine.call, attempt, ctx, routine, ctx)
        case JobRoutine():
            return _JobCall(routine.name, routine.call, attempt, JobContext(grant, sink))
        case _:
            assert_never(routine)
