"""A load of callers and supervisors who keep account of what they were told, and the check of it.

They repeat what is safe to repeat until it is answered; whoever kills something under them can so
find out what was lost or done twice.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from stateous_client import (
    AttemptOver,
    Client,
    TaskNotHeld,
    TokenNotActive,
    Unavailable,
    Unreachable,
)

T = TypeVar("T")


@dataclass
class Answered:
    """What callers were told, so far as they got an answer."""

    started: set[str] = field(default_factory=set)
    granted: Counter[tuple[int, int]] = field(default_factory=Counter)
    #: Keys of pokes that were applied.
    poked: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


def until_answered(call: Callable[[], T]) -> T:
    """Repeat a call that is safe to repeat until the control plane answers it."""
    while True:
        try:
            return call()
        except (Unreachable, Unavailable):
            time.sleep(0.02)


def start_and_poke(url: str, caller: int, answered: Answered, enough: threading.Event) -> None:
    with Client(url, retries=0) as client:
        for number in count():
            if enough.is_set():
                return
            token = f"T-{caller}-{number}"
            until_answered(lambda token=token: client.start(token, {"name": token}))
            answered.started.add(token)
            for _ in range(2):
                key = uuid.uuid4().hex
                try:
                    until_answered(lambda token=token, key=key: client.fire(token, "poke", key=key))
                    answered.poked[token] += 1
                except TokenNotActive:  # it has landed in the meantime
                    answered.refused[token] += 1


def work(url: str, name: str, answered: Answered, over: threading.Event) -> None:
    with Client(url, retries=0) as client:
        while not over.is_set():
            request = uuid.uuid4().hex
            grant = until_answered(
                lambda request=request: client.claim(
                    name, ["carry", "land"], request=request, wait=1
                )
            )
            if grant is None:
                continue
            answered.granted[grant["task"], grant["attempt"]] += 1
            event = {"carry": "carried", "land": "landed"}[grant["state"]]
            outcome = {
                "kind": "event",
                "event": event,
                "attempt": grant["attempt"],
                "supervisor": name,
                "context": {},
                "schedules": [],
            }
            if event == "carried":
                outcome |= {"payload": {"weight": 1}, "context": {"weight": 1}}
            # A poke may have taken the task away; or the first answer was lost.
            with contextlib.suppress(TaskNotHeld, AttemptOver):
                until_answered(
                    lambda task=grant["task"], outcome=outcome: client.send_report(task, outcome)
                )


@contextlib.contextmanager
def load(url: str, *, callers: int = 3, supervisors: int = 3) -> Iterator[Answered]:
    """Start and poke tokens for as long as the block lasts, and work on them until all completed.

    The block is what happens meanwhile; behind it everybody has come to an end.
    """
    answered = Answered()
    enough, over = threading.Event(), threading.Event()
    starting = [
        threading.Thread(target=start_and_poke, args=(url, caller, answered, enough))
        for caller in range(callers)
    ]
    working = [
        threading.Thread(target=work, args=(url, f"box-{part}", answered, over))
        for part in range(supervisors)
    ]
    for thread in (*starting, *working):
        thread.start()
    try:
        yield answered
        enough.set()
        for thread in starting:
            thread.join(60)
        with Client(url) as client:
            for name in sorted(answered.started):
                ended = until_answered(lambda name=name: client.wait(name, timeout=60))
                assert ended["status"] == "completed"
    finally:
        enough.set()
        over.set()
        for thread in (*starting, *working):
            thread.join(30)
    assert not any(thread.is_alive() for thread in (*starting, *working))


def check_ledger(client: Client, answered: Answered) -> None:
    """What callers were told stands in the ledgers, and nothing stands there twice."""
    claimed: Counter[tuple[int, int]] = Counter()
    for name in sorted(answered.started):
        history = client.history(name)
        assert [entry["seq"] for entry in history] == list(range(1, len(history) + 1))
        kinds = Counter(entry["kind"] for entry in history)
        assert kinds["started"] == 1
        assert kinds["completed"] == 1
        moves = Counter(
            entry["data"]["event"] for entry in history if entry["kind"] == "event_accepted"
        )
        assert moves["carried"] == 1
        assert moves["landed"] == 1
        assert moves["poke"] == answered.poked[name]
        done = Counter(entry["data"]["task"] for entry in history if entry["kind"] == "task_done")
        assert set(done.values()) == {1}
        claimed.update(
            (entry["data"]["task"], entry["data"]["attempt"])
            for entry in history
            if entry["kind"] == "task_claimed"
        )
    assert set(claimed.values()) == {1}
    assert set(answered.granted) <= set(claimed)
    assert set(answered.granted.values()) == {1}, "an attempt was granted to two claims"
