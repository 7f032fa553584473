"""Nothing lost, nothing doubled: what must hold of the history of a token that ran to its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stateous_client import Client
from stateous_client.values import Entry

_TASK_ENDS = {"task_done", "task_failed", "task_cancelled"}


def audit(history: Sequence[Entry]) -> None:
    """Check one token's whole history: each step stands in it once, and each has its successor."""
    assert [entry["seq"] for entry in history] == list(range(1, len(history) + 1))
    kinds = Counter(entry["kind"] for entry in history)
    assert kinds["started"] == 1
    assert kinds["completed"] == 1
    assert history[-1]["kind"] == "completed"

    entered = [e["data"]["state"] for e in history if e["kind"] == "entered"]
    left = [e["data"]["state"] for e in history if e["kind"] == "event_accepted"]
    assert left[1:] == entered, "each visit of a state is left by one event"

    queued = [e["data"]["task"] for e in history if e["kind"] == "task_queued"]
    assert len(set(queued)) == len(queued)
    claims = [
        (e["data"]["task"], e["data"]["attempt"]) for e in history if e["kind"] == "task_claimed"
    ]
    assert len(set(claims)) == len(claims), "each attempt is given to one supervisor"
    for task in queued:
        ends = [e["kind"] for e in history if e["kind"] in _TASK_ENDS and e["data"]["task"] == task]
        # A failed attempt that is tried again is told as failed, and is not the task's end.
        retried = sum(e["kind"] == "task_retrying" and e["data"]["task"] == task for e in history)
        assert len(ends) == 1 + retried, f"task {task} ended {ends}, and was retried {retried}x"


def audit_family(client: Client, token: str) -> None:
    """Check a token and its children."""
    assert client.get(token)["status"] == "completed"
    audit(client.history(token, limit=1000))
    for child in client.iter_tokens(parent=token):
        if child["status"] == "completed":
            audit(client.history(child["token"], limit=1000))


def claimers(history: Sequence[Entry]) -> list[str]:
    """The supervisors that took a token's tasks, in order."""
    return [e["data"]["supervisor"] for e in history if e["kind"] == "task_claimed"]
