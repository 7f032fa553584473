"""What a writer knows from earlier batches: it loads the rest, and nothing that may not be so."""

from __future__ import annotations

import pytest

from stateous.json import JsonText
from stateous_controlplane.engine.commands import (
    Claim,
    Fire,
    Heartbeat,
    Pause,
    ReportEvent,
    ReportWaiting,
    Request,
    Resume,
    WriteMemory,
)
from stateous_controlplane.store.memory.store import MemoryStore
from stateous_controlplane.store.port import CommitUnknown, DatabaseBusy, Needs
from tests.support.known import assert_known_is_on_record
from tests.support.writer import BOX, Writer


def claim(request: str | None = None) -> Claim:
    return Claim(BOX, ("work", "rest"), request=request)


@pytest.fixture
def writer() -> Writer:
    """T-1 has a claimed task, T-2 a queued one; all queues were looked at."""
    writer = Writer()
    writer.start("T-1", "T-2")
    writer.ask(claim("r0"))
    return writer


def loads(writer: Writer) -> list[Needs]:
    """What the last batch loaded."""
    return writer.store.loads


@pytest.mark.parametrize(
    "request_",
    [
        claim("r1"),
        ReportEvent(1, "done"),
        ReportWaiting(1, supervisor=BOX),
        Heartbeat(BOX, (1,)),
        Fire("T-2", "done"),
        Pause("T-2"),
        WriteMemory(1, "branch", JsonText('"main"')),
    ],
    ids=lambda request: type(request).__name__,
)
def test_what_earlier_batches_left_is_not_loaded_again(writer: Writer, request_: Request) -> None:
    writer.ask(request_)
    assert loads(writer) == []
    assert_known_is_on_record(writer)


def test_a_family_that_has_ended_is_loaded_when_it_is_named_again(writer: Writer) -> None:
    writer.fire("T-2", "stop")
    assert writer.ask(Fire("T-2", "done"))["code"] == "token_not_active"
    assert loads(writer) == [Needs(tokens={"T-2"})]


def test_a_task_that_is_done_is_loaded_when_it_is_named_again(writer: Writer) -> None:
    writer.ask(ReportEvent(1, "done"))
    assert writer.ask(ReportEvent(1, "done"))["code"] == "task_not_held"
    assert loads(writer) == [Needs(tasks={1})]


def test_events_that_a_pause_holds_are_loaded_when_it_ends(writer: Writer) -> None:
    writer.ask(Pause("T-2"))
    writer.fire("T-2", "done")
    assert writer.ask(Resume("T-2"))["state"] == "rest"
    assert loads(writer) == [Needs(held={"T-2"})]
    assert_known_is_on_record(writer)


def test_nothing_is_known_after_a_commit_that_failed(writer: Writer) -> None:
    def full(_: object) -> None:
        raise DatabaseBusy("the disk is full")

    writer.store.faults.commit = full
    assert writer.ask(ReportEvent(1, "done"))["code"] == "database_busy"
    writer.store.faults.commit = None
    assert writer.ask(ReportEvent(1, "done"))["state"] == "rest"
    assert loads(writer) == [Needs(tasks={1})]
    assert_known_is_on_record(writer)


def test_nothing_is_known_after_a_commit_that_was_done_or_was_not(writer: Writer) -> None:
    def lost(_: object) -> None:
        raise CommitUnknown("the connection was lost")

    writer.store.faults.commit = lost
    writer.ask(ReportEvent(1, "done"))
    writer.store.faults.commit = None
    writer.ask(Heartbeat(BOX, (1,)))
    assert loads(writer) == [Needs(tasks={1})]


def test_nothing_is_known_once_somebody_else_may_have_written(writer: Writer) -> None:
    with MemoryStore(writer.database).transaction(writer.name):
        pass
    writer.ask(Heartbeat(BOX, (1,)))
    assert loads(writer) == [Needs(tasks={1})]
    writer.ask(Heartbeat(BOX, (1,)))
    assert loads(writer) == []


def test_nothing_is_known_once_the_hold_was_taken_back(writer: Writer) -> None:
    MemoryStore(writer.database).give_up_hold(writer.name)
    writer.pass_time(1)
    writer.ask(Heartbeat(BOX, (1,)))
    assert loads(writer) == [Needs(tasks={1})]


def test_a_claim_is_repeated_with_tasks_that_are_known_no_longer() -> None:
    writer = Writer(kept=0)
    writer.start("T-1")
    first = writer.ask(claim("r1"))
    assert writer.ask(claim("r1")) == first
    assert writer.task(1).attempt == 1


def test_the_oldest_task_comes_first_although_the_youngest_are_known_best() -> None:
    writer = Writer(kept=8000)
    tokens = [f"T-{number}" for number in range(1, 41)]
    writer.start(*tokens)
    assert [writer.ask(claim(f"r{number}"))["token"] for number in range(40)] == tokens


@pytest.mark.parametrize("kept", [0, 5000, 2**30])
def test_what_is_kept_has_a_limit(kept: int) -> None:
    writer = Writer(kept=kept)
    writer.start(*(f"T-{number}" for number in range(30)))
    known = writer.sequencer._known
    assert known is not None
    assert known._weight == sum(known._weights.values()) <= kept
    assert (
        len(known.tokens) == len(known._families) == (30 if kept > 100_000 else len(known._weights))
    )
    assert known.tasks.keys() == {task for each in known._families.values() for task in each.tasks}
