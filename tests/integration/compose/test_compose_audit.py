"""The audit of a history finds what is lost or doubled; it needs no engine."""

from __future__ import annotations

from typing import Any

import pytest

from stateous_client.values import Entry
from tests.support.ledgers import audit, claimers

WHOLE: list[tuple[str, dict[str, Any]]] = [
    ("started", {"context": {}}),
    ("event_accepted", {"event": "__started__", "payload": None, "state": "START"}),
    ("entered", {"state": "coding", "visit": 1}),
    ("task_queued", {"task": 7, "state": "coding"}),
    ("task_claimed", {"task": 7, "supervisor": "box-1", "attempt": 1}),
    ("task_failed", {"task": 7, "error": "box-1 stopped answering: no heartbeat for 4 seconds"}),
    ("task_retrying", {"task": 7, "attempt": 2}),
    ("task_claimed", {"task": 7, "supervisor": "box-2", "attempt": 2}),
    ("event_accepted", {"event": "coded", "payload": None, "state": "coding"}),
    ("task_done", {"task": 7}),
    ("completed", {}),
]


def history(*entries: tuple[str, dict[str, Any]]) -> list[Entry]:
    return [
        {"seq": seq, "at": "2027-03-01T12:00:00Z", "kind": kind, "data": data}
        for seq, (kind, data) in enumerate(entries, 1)
    ]


def test_a_whole_history_passes() -> None:
    audit(history(*WHOLE))
    assert claimers(history(*WHOLE)) == ["box-1", "box-2"]


@pytest.mark.parametrize("missing", [0, 1, 2, 6, 8, 9, 10])
def test_a_lost_entry_is_found(missing: int) -> None:
    with pytest.raises(AssertionError):
        audit(history(*WHOLE[:missing], *WHOLE[missing + 1 :]))


@pytest.mark.parametrize("twice", [0, 1, 2, 3, 4, 7, 8, 9, 10])
def test_a_doubled_entry_is_found(twice: int) -> None:
    with pytest.raises(AssertionError):
        audit(history(*WHOLE[: twice + 1], *WHOLE[twice:]))


def test_a_hole_is_found() -> None:
    whole = history(*WHOLE)
    with pytest.raises(AssertionError):
        audit([*whole[:3], *whole[4:]])
