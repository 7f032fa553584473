"""SIGKILL of the control plane at any moment loses no answered request and doubles none."""

from __future__ import annotations

import contextlib
import random
import threading
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stateous_client import (
    AttemptOver,
    Client,
    EventNotAllowed,
    TaskNotHeld,
    Unavailable,
    Unreachable,
)
from tests.support.processes import ControlPlane, control_plane, eventually
from tests.support.relay import compiled

pytestmark = pytest.mark.e2e

TOKENS = 60
KILLS = 5


@dataclass
class Answered:
    """What callers were told, so far as they got an answer."""

    started: set[str] = field(default_factory=set)
    granted: Counter[tuple[int, int]] = field(default_factory=Counter)
    #: Keys of pokes that were applied.
    poked: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)


def until_answered(call):
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


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{tmp_path}/relay.db"


def test_no_answered_request_is_lost_and_none_is_doubled(tmp_path: Path, db: str) -> None:
    graph = compiled(tmp_path)
    answered = Answered()
    over = threading.Event()
    names = [f"T-{number}" for number in range(TOKENS)]
    with control_plane(graph, db, cwd=tmp_path) as (first, client):
        url, port = first.url, first.port
        threads = [
            threading.Thread(target=start_and_poke, args=(url, names[part::3], answered))
            for part in range(3)
        ]
        threads += [
            threading.Thread(target=work, args=(url, f"box-{part}", answered, over))
            for part in range(3)
        ]
        for thread in threads:
            thread.start()
        plane = first
        chance = random.Random(4711)
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.05, 0.4))  # a moment of chance: the point of the test
            plane.kill()
            plane = ControlPlane(graph, db, cwd=tmp_path, port=port)
        try:
            eventually(lambda: len(answered.started) == TOKENS)
            eventually(
                lambda: all(
                    client.get(name)["status"] == "completed" for name in list(answered.started)
                )
            )
            over.set()
            for thread in threads:
                thread.join(30)
                assert not thread.is_alive()
            check_ledger(client, names, answered)
        finally:
            over.set()
            plane.kill()


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
