"""What follows a failed attempt, in words for the log (pure).

A supervisor is not told what becomes of its report; but the control plane answers with the token as
it is afterwards, and the grant said how it was before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """A token's stay in a state: what an attempt belongs to."""

    token: str
    state: str
    visit: int


def what_follows(entry: Entry, after: Mapping[str, Any]) -> str:
    """What the control plane made of a failed attempt at ``entry``, from the token ``after`` it."""
    state, status = after.get("state"), after.get("status")
    if status == "failed":
        return "no retry is left, and the token has failed"
    if status == "completed":
        return "no retry is left, and 'error' has ended the token"
    # A child's state stands alone here, and behind its workflow's name in a grant.
    same = state == entry.state.rpartition("/")[2] and after.get("visit") == entry.visit
    if not same:
        return f"no retry is left, and 'error' has moved the token to {state}"
    if status == "paused":
        return "the token is paused, so nothing follows before its resume"
    return "it is tried again"
