"""What tokens do where front-ends differ: one conduct for each way of delivering events.

Tasks with their leases and retries, timers, pauses and cancelling are the same for all tokens. What
they lead to in the end is not: an event that is routed, or one that is offered. The policy of a
flow names its delivery, and :data:`.conducts.CONDUCTS` is the one place that makes something of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from stateous.json import JsonText
from stateous_controlplane.engine.rows import Held, Task, Timer, Token

if TYPE_CHECKING:
    from stateous_controlplane.engine.draft import Draft


class AttemptFailure(NamedTuple):
    """Why an attempt failed: a sentence, a status of `docs/spec/statechart.md` 5.1, an output."""

    error: str
    status: str = "failed"
    output: JsonText | None = None

    @property
    def lost(self) -> bool:
        """Whether the runner died, and not the work."""
        return self.status == LOST


LOST = "lost"


class Conduct(Protocol):
    """How tokens meet what time, tasks and pauses bring."""

    def timer_due(self, draft: Draft, timer: Timer) -> None:
        """The timer, one of an active state, has just fired."""
        ...

    def attempt_failed(self, draft: Draft, task: Task, failure: AttemptFailure) -> None:
        """Record that an attempt failed."""
        ...

    def given_up(self, draft: Draft, task: Task, failure: AttemptFailure) -> None:
        """The task has failed for good, and is closed."""
        ...

    def replay(self, draft: Draft, held: Held) -> None:
        """Apply what a pause has held, or drop it and say why."""
        ...

    def drop_waiting(self, draft: Draft, token: Token) -> None:
        """The token is cancelled: drop the events that wait for it, and say why."""
        ...
