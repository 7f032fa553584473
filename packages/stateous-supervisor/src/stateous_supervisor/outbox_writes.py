"""What is asked of the outbox's writer, and what becomes of it when it cannot be done."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from stateous_supervisor.crashpoints import reached
from stateous_supervisor.errors import OutboxError
from stateous_supervisor.messages import Attempt, Draft, Message


def _promise() -> Future[Message]:
    done: Future[Message] = Future()
    # A write that was asked for is done, also when nobody waits for it any more.
    done.set_running_or_notify_cancel()
    return done


@dataclass(frozen=True, slots=True)
class Put:
    """Write a message. Without ``keep`` it fails at once while the disk takes nothing."""

    draft: Draft
    keep: bool
    done: Future[Message] = field(default_factory=_promise)


@dataclass(frozen=True, slots=True)
class Replace:
    """Write ``draft`` and remove the message ``id``, both or neither."""

    id: int
    draft: Draft
    done: Future[Message] = field(default_factory=_promise)


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove an answered message."""

    message: Message


@dataclass(frozen=True, slots=True)
class Forget:
    """Remove all messages of an attempt."""

    attempt: Attempt


Write: TypeAlias = Put | Replace | Remove | Forget


def passes(when: str, batch: Iterable[Write]) -> None:
    """The batch is ``before`` its transaction, or ``after`` it: points at which tests let it die."""
    for write in batch:
        match write:
            case Put(draft) | Replace(_, draft):
                reached(f"{when}-write-{draft.kind}")
            case Remove(message):
                reached(f"{when}-removal-{message.kind}")
            case Forget():
                pass
            case _:
                assert_never(write)


def fail(write: Write, why: str) -> bool:
    """Tell whoever asked for it that it is not done, and will not be; false: nobody waits for it."""
    match write:
        case Put(done=done) | Replace(done=done):
            done.set_exception(OutboxError(f"cannot write to the outbox: {why}"))
            return True
        case Remove() | Forget():
            return False
        case _:
            assert_never(write)
