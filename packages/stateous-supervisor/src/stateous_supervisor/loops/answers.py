"""The client's errors as answers: who answered, and what (`docs/spec/authoring.md` 8.6)."""

from __future__ import annotations

from stateous_client import BadAnswer, ClientError, Refused, Unavailable, Unreachable
from stateous_supervisor import verdict


def unanswered(error: ClientError) -> verdict.Unanswered | None:
    """Whether ``error`` means that no control plane answered, so that the call is tried again."""
    match error:
        case Unreachable():
            return verdict.Unanswered(error.why)
        case Unavailable():
            return verdict.Unanswered(f"{error.status}: {error.message}")
        case _:
            return None


def refusal(error: ClientError) -> verdict.Refused:
    """An answer that is no acceptance, or a call that could not even be sent, as a value."""
    if isinstance(error, Refused):
        return verdict.Refused(error.status, error.code, error.message)
    return verdict.Refused(0, None, error.why if isinstance(error, BadAnswer) else str(error))
