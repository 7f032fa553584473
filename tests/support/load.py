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
from typing import TypeVar

from stateous_client import (
    AttemptOver,
    Client,
    EventNotAllowed,
    TaskNotHeld,
    Unavailable,
    Unreachable,
)
from tests.support.processes import eventually

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


def start_and_poke(url: str, tokens: list[str], answered: Answered) -> None:
    with Client(url, retries=0) as client:
        for token in tokens:
            until_answered(lambda token=token: client.start(token, {"name": token}))
            answered.started.add(token)
            for _ in range(2):
                key = uuid.uuid4().hex
                try:
                    until_answered(lambda token=token, key=key: client.fire(token, "poke", key=key))
                    answered.poked[token] += 1
                except EventNotAllowed:
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
def load(
    url: str, names: list[str], *, callers: int = 3, supervisors: int = 3
) -> Iterator[Answered]:
    """Start and poke the tokens ``names``, and work on them until all have completed.

    The block is what happens meanwhile; behind it everybody has come to an end.
    """
    answered = Answered()
    over = threading.Event()
    threads = [
        threading.Thread(target=start_and_poke, args=(url, names[part::callers], answered))
        for part in range(callers)
    ]
    threads += [
        threading.Thread(target=work, args=(url, f"box-{part}", answered, over))
        for part in range(supervisors)
    ]
    for thread in threads:
        thread.start()
    try:
        yield answered
        with Client(url) as client:
            eventually(lambda: len(answered.started) == len(names), within=60)
            eventually(
                lambda: until_answered(
                    lambda: all(client.get(name)["status"] == "completed" for name in names)
                ),
                within=60,
            )
    finally:
        over.set()
        for thread in threads:
            thread.join(30)
    assert not any(thread.is_alive() for thread in threads)


def check_ledger(client: Client, names: list[str], answered: Answered) -> None:
    claimed: Counter[tuple[int, int]] = Counter()
    for name in names:
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
