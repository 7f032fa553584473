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
    """What the control plane made of a failed attempt at ``entry``.

    ``after`` is its answer: the token, or the run, as it is then.
    """
    if "configuration" in after:
        return _in_run(entry, after)
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


def _in_run(entry: Entry, after: Mapping[str, Any]) -> str:
    path = [(it["state"], it["visit"]) for it in after["configuration"]]
    match after.get("status"):
        case "failed":
            return "no retry is left, and the run has failed"
        case "completed" | "cancelled" as ended:
            return f"no retry is left, and the run is {ended}"
        case "paused":
            return "the run is paused, so nothing follows before its resume"
        case _ if (entry.state, entry.visit) in path:
            return "it is tried again, or no retry is left and the run stays where it is"
        case _:
            states = "/".join(state for state, _ in path)
            return f"no retry is left, and 'failed' has moved the run to {states}"
