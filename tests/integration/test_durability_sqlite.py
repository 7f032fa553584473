"""No answer leaves before its commit is on disk: what the kernel is asked for, in which order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from stateous_client import Client
from tests.support.processes import control_plane
from tests.support.served import ticket_graph
from tests.support.syscalls import Call, traced, why_not

CALLERS = 6
ROUNDS = 4
#: Start, claim, fire, start, claim, report: what a caller of the test below does in a round.
COMMANDS_A_ROUND = 6


def test_an_answered_command_was_synced_to_the_log_before_its_answer(tmp_path: Path) -> None:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    database = tmp_path / "durable.db"
    with (
        control_plane(ticket_graph(tmp_path), f"sqlite:///{database}", cwd=tmp_path) as (plane, _),
        traced(plane.pid) as trace,
    ):
        in_threads(CALLERS, lambda number: work(plane.url, number))
        plane.kill()
    log = str(database.resolve()) + "-wal"
    answers = [*judged(trace.calls, log)]
    assert len(answers) == CALLERS * ROUNDS * COMMANDS_A_ROUND
    assert answers.count("synced") == len(answers), answers
    # Many commands share a sync: that is where the speed comes from.
    syncs = trace.calls.count(Call("sync", "done", log))
    assert 0 < syncs <= len(answers)


def work(url: str, number: int) -> None:
    """Each request of it is a command that changes something; none goes out before the answer."""
    with Client(url, retries=0) as client:
        for turn in range(ROUNDS):
            token, name = f"T-{number}-{turn}", f"box-{number}"
            client.start(token, {"repo": "acme/api"})
            assert client.claim(name, ["coding"]) is not None
            client.fire(token, "done")
            client.start(f"{token}-b", {"repo": "acme/api"})
            grant = client.claim(name, ["coding", "testing"])
            assert grant is not None
            client.note(grant["task"], "seen")


def in_threads(count: int, act: Callable[[int], None]) -> None:
    failed: list[BaseException] = []

    def safely(number: int) -> None:
        try:
            act(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=safely, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed, failed


def judged(calls: Iterable[Call], log: str) -> Iterator[str]:
    """For each answer on a socket: what was done to the log between its request and its sending.

    `synced`: the log was written, then a sync came to its end. Else the first that is missing.
    """
    # Per socket how far its request has come: it arrived, the log was written, the log was synced.
    progress: dict[str, str] = {}
    further = {("write", "arrived"): "written", ("sync", "written"): "synced"}
    for call in calls:
        if call.on.startswith("socket:"):
            if call.what == "read" and call.when == "done":
                progress[call.on] = "arrived"
            elif call.what == "write" and call.when == "begun" and call.on in progress:
                yield progress.pop(call.on)
        elif call.on == log and call.when == "done":
            for socket, reached in progress.items():
                progress[socket] = further.get((call.what, reached), reached)


REQUEST, ANSWER = Call("read", "done", "socket:[1]"), Call("write", "begun", "socket:[1]")
WRITTEN, SYNCED = Call("write", "done", "log"), Call("sync", "done", "log")


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        pytest.param([REQUEST, WRITTEN, SYNCED, ANSWER], ["synced"], id="as it must be"),
        pytest.param([REQUEST, ANSWER, WRITTEN, SYNCED], ["arrived"], id="answered at once"),
        pytest.param([REQUEST, WRITTEN, ANSWER, SYNCED], ["written"], id="not synced yet"),
        pytest.param([WRITTEN, REQUEST, SYNCED, ANSWER], ["arrived"], id="another one's write"),
        pytest.param(
            [REQUEST, WRITTEN, Call("sync", "begun", "log"), ANSWER], ["written"], id="syncing"
        ),
        pytest.param(
            [REQUEST, WRITTEN, Call("sync", "done", "other"), ANSWER], ["written"], id="elsewhere"
        ),
        pytest.param([REQUEST, REQUEST, WRITTEN, SYNCED, ANSWER], ["synced"], id="in two pieces"),
        pytest.param([ANSWER], [], id="nobody asked"),
    ],
)
def test_what_counts_as_synced(calls: list[Call], found: list[str]) -> None:
    assert [*judged(calls, "log")] == found
