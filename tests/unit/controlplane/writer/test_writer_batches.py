"""Batches: order of arrival, one commit, answers after it, and what fails alone."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from stateous.graph.machine import Machine, freeze
from stateous.graph.reading import check_graph
from stateous.json import JsonText
from stateous_controlplane.engine.commands import (
    AddNote,
    Fire,
    Heartbeat,
    ReportEvent,
    Start,
    WriteMemory,
)
from stateous_controlplane.store.port import Changes, DatabaseBusy, HoldLost
from stateous_controlplane.writer.sequencer import MAX_BATCH
from tests.support.graphs import flow, graph
from tests.support.writer import LOOP, Writer, claim, given


def breaking(broken: str) -> Any:
    """A commit that fails while it has entries of the token ``broken``."""

    def commit(changes: Changes) -> None:
        if any(entry.token == broken for entry in changes.entries):
            raise RuntimeError("the database refused the changes")

    return commit


def with_a_defect() -> Machine:
    """The loop, in which nobody can enter ``rest``."""
    good = freeze(check_graph(LOOP))
    states = dict(good.top.states)
    states["rest"] = replace(states["rest"], work=None)  # type: ignore[arg-type]
    return replace(good, top=replace(good.top, states=MappingProxyType(states)))


def test_what_came_together_is_one_commit_in_order_of_arrival() -> None:
    writer = Writer()
    first = writer.submit(Start("A"))
    second = writer.submit(Start("B"))
    again = writer.submit(Start("A"))
    moved = writer.submit(Fire("A", "done"))
    refused = writer.submit(Fire("A", "nosuch"))
    writer.run()
    started = ["started", "event_accepted", "entered", "task_queued"]
    assert writer.store.commits == [
        [
            *(f"A {kind}" for kind in started),
            *(f"B {kind}" for kind in started),
            "A event_accepted",
            "A task_cancelled",
            "A entered",
            "A task_queued",
            "A event_rejected",
        ]
    ]
    statuses = [writer.status(each) for each in (first, second, again, moved, refused)]
    assert statuses == [201, 201, 200, 200, 409]
    assert writer.body(again)["state"] == "work"
    assert writer.body(moved)["state"] == "rest"
    assert writer.token("A").seq == 9


def test_answers_leave_after_the_commit() -> None:
    writer = Writer()
    writer.store.committed = lambda: times.append(len(writer.answers))
    times: list[int] = []
    asked = writer.submit(Start("A"))
    writer.run()
    assert times == [0]
    assert writer.status(asked) == 201


def test_what_changes_nothing_commits_nothing() -> None:
    writer = Writer()
    writer.start("A")
    writer.store.commits.clear()
    for request in (
        Start("A"),
        Heartbeat("box-1", (1, 99)),
        claim("nothing"),
        claim("nothing", request="r"),
        Fire("unknown", "done"),
        Start("bad id"),
        AddNote(1, "x"),
    ):
        writer.ask(request)
    assert writer.store.commits == []


def test_each_command_has_a_time_of_its_own() -> None:
    writer = Writer()
    for token in ("A", "B"):
        writer.submit(Start(token))
    writer.submit(Fire("A", "done"))
    writer.run()
    entries = sorted(writer.database.tables.ledger.values(), key=lambda each: each.at)
    assert len({entry.at for entry in entries}) == 3
    writer.clock.wall -= writer.clock.wall - writer.clock.wall.replace(hour=1)
    writer.fire("B", "done")
    assert writer.token("B").at > entries[-1].at


def test_a_time_is_later_than_the_tokens_last_entry_though_the_clock_was_put_back() -> None:
    writer = Writer()
    writer.start("A")
    writer.clock.advance(-3600)
    after = writer.restarted()
    after.fire("A", "again")
    reads = after.store.reads()
    times = [entry.at for entry in reads.history("A", after=0, limit=None) or []]
    assert times == sorted(times)
    assert len(set(times)) == 2


def test_a_batch_is_bounded() -> None:
    writer = Writer()
    asked = [writer.submit(Start(f"T-{number}")) for number in range(MAX_BATCH + 1)]
    assert writer.sequencer.step()
    assert len(writer.answers) == MAX_BATCH
    assert writer.waits(asked[-1])
    writer.run()
    assert len(writer.store.commits) == 2
    assert [writer.token(f"T-{number}").seq for number in range(MAX_BATCH + 1)] == [4] * 65


def test_those_who_follow_tokens_learn_which_changed() -> None:
    writer = Writer()
    writer.start("A", "B")
    writer.deliveries.clear()
    writer.submit(Fire("A", "nosuch"))
    writer.submit(Start("B"))
    writer.submit(Start("C"))
    writer.run()
    (_, tokens), = writer.deliveries  # fmt: skip
    assert tokens == {"A", "C"}


def test_ids_stand_in_the_ledger_before_any_insert() -> None:
    writer = Writer()
    for token in ("A", "B", "C"):
        writer.submit(Start(token))
    writer.run()
    assert [writer.task(number).token for number in (1, 2, 3)] == ["A", "B", "C"]
    data = [entry.data.value for entry in writer.database.tables.ledger.values()]
    assert [each["task"] for each in data if "task" in each] == [1, 2, 3]


# ── what fails alone ────────────────────────────────────────────────────


def test_a_defect_in_one_command_leaves_its_neighbours_alone() -> None:
    writer = Writer(machine=with_a_defect())
    writer.start("A", "B")
    writer.store.commits.clear()
    good = writer.submit(Fire("B", "again"))
    bad = writer.submit(Fire("A", "done"))
    late = writer.submit(Fire("A", "again"))
    writer.run()
    assert [writer.status(each) for each in (good, bad, late)] == [200, 500, 200]
    assert writer.body(bad)["code"] == "unexpected"
    assert "Traceback" not in writer.body(bad)["error"]
    assert len(writer.store.commits) == 1
    assert writer.token("A").configuration == (("work", 2),)
    assert writer.token("A").counts == {"__started__": 1, "again": 1}
    assert writer.kinds("A").count("event_accepted") == 2


def test_what_cannot_be_written_as_an_answer_changes_nothing() -> None:
    writer = Writer()
    broken = writer.submit(Start("A", JsonText('{"a":"\ud800"}')))
    good = writer.submit(Start("B"))
    writer.run()
    assert (writer.status(broken), writer.status(good)) == (500, 201)
    assert set(writer.database.tables.tokens) == {"B"}


def test_a_batch_that_cannot_be_committed_is_done_one_by_one() -> None:
    writer = Writer()
    writer.start("A", "B", "C")
    writer.store.commits.clear()
    writer.store.faults.commit = breaking("B")
    asked = [writer.submit(Fire(token, "again")) for token in ("A", "B", "C")]
    writer.run()
    assert [writer.status(each) for each in asked] == [200, 500, 200]
    assert [commit[0] for commit in writer.store.commits] == [
        "A event_accepted",
        "C event_accepted",
    ]
    assert writer.token("B").visits == {"work": 1}
    writer.store.faults.commit = None
    assert writer.fire("B", "again")["visit"] == 2


def test_ids_are_not_given_again_after_a_failure() -> None:
    writer = Writer()
    writer.store.faults.commit = breaking("A")
    assert writer.ask(Start("A"))["code"] == "unexpected"
    writer.store.faults.commit = None
    writer.start("B")
    assert set(writer.database.tables.tasks) == {2}


def test_a_claim_that_waits_outlives_a_failed_commit() -> None:
    writer = Writer()
    waiting = writer.submit(claim(wait=30))
    writer.run()
    writer.store.faults.commit = breaking("A")
    writer.ask(Start("A"))
    assert writer.waits(waiting)
    writer.store.faults.commit = None
    writer.start("B")
    assert writer.body(waiting)["token"] == "B"


def test_a_busy_database_is_told_to_all_who_waited() -> None:
    writer = Writer()
    writer.store.faults.begin = DatabaseBusy("it is locked")
    asked = [writer.submit(Start(f"T-{number}")) for number in range(MAX_BATCH + 5)]
    assert writer.sequencer.step()
    assert [writer.status(each) for each in asked] == [503] * (MAX_BATCH + 5)
    assert writer.body(asked[0])["code"] == "database_busy"
    writer.store.faults.begin = None
    writer.start("T-0")


def test_a_command_that_stays_busy_fails_alone() -> None:
    writer = Writer()
    writer.start("A", "B")

    def commit(changes: Changes) -> None:
        if any(entry.token == "A" for entry in changes.entries):
            raise DatabaseBusy("a deadlock")

    writer.store.faults.commit = commit
    asked = [writer.submit(Fire(token, "again")) for token in ("A", "B", "A")]
    writer.run()
    assert [writer.status(each) for each in asked] == [503, 200, 503]


def test_a_database_that_goes_away_in_between_is_not_asked_for_each() -> None:
    writer = Writer()
    writer.start("A", "B", "C")

    def commit(_: Changes) -> None:
        writer.store.faults.begin = DatabaseBusy("no connection")
        raise DatabaseBusy("the connection was lost")

    writer.store.faults.commit = commit
    before = writer.store.asked
    asked = [writer.submit(Fire(token, "again")) for token in ("A", "B", "C")]
    writer.run()
    assert [writer.status(each) for each in asked] == [503, 503, 503]
    assert writer.store.asked == before + 2


def test_who_has_gone_away_is_not_served() -> None:
    writer = Writer()
    writer.start("A")
    gone = writer.submit(claim())
    gone.withdrawn = True
    other = writer.submit(claim(supervisor="box-2"))
    writer.run()
    assert writer.waits(gone)
    assert given(writer.body(other)) == [(1, 1)]


def test_who_goes_away_while_a_batch_fails_is_not_served_after_it() -> None:
    writer = Writer()
    writer.start("A", "B")

    def commit(_: Changes) -> None:
        gone.withdrawn = True
        writer.store.faults.commit = None
        raise RuntimeError("once")

    writer.store.faults.commit = commit
    there = writer.submit(Fire("A", "again"))
    gone = writer.submit(claim())
    writer.run()
    assert writer.status(there) == 200
    assert writer.waits(gone)
    assert not [task for task in writer.database.tables.tasks.values() if task.claimed_by]


# ── the hold ────────────────────────────────────────────────────────────


def test_a_lost_hold_is_told_to_everybody_at_once_and_for_ever() -> None:
    writer = Writer()
    waiting = writer.submit(claim(wait=30))
    writer.run()
    writer.store.faults.begin = HoldLost("another's name")
    asked = [writer.submit(Start(f"T-{number}")) for number in range(MAX_BATCH + 5)]
    writer.run()
    for each in (waiting, *asked):
        assert writer.status(each) == 503
        assert writer.body(each)["code"] == "not_serving"
    assert writer.lost == 1
    assert writer.sequencer.lost
    assert writer.sequencer.wake_at() is None
    late = writer.submit(Start("late"))
    writer.run()
    assert writer.body(late)["code"] == "not_serving"
    assert not writer.database.tables.tokens
    assert writer.lost == 1


def test_a_hold_lost_in_a_commit_changes_nothing() -> None:
    writer = Writer()

    def commit(_: Changes) -> None:
        raise HoldLost("another's name")

    writer.store.faults.commit = commit
    asked = [writer.submit(Start(token)) for token in ("A", "B")]
    writer.run()
    assert [writer.body(each)["code"] for each in asked] == ["not_serving"] * 2
    assert writer.lost == 1
    assert not writer.database.tables.tokens


# ── documents ───────────────────────────────────────────────────────────


def test_an_ended_token_keeps_its_document_which_is_fetched_from_the_record() -> None:
    writer = Writer()
    writer.start("A")
    writer.fire("A", "stop")
    other = graph("START -> x\nx -> END on go", workflow="other")
    writer.store.close()
    after = Writer(other, writer.database, writer.clock, "host:3:00000003")
    assert after.fire("A", "done")["code"] == "token_not_active"
    assert after.token("A").graph != after.served.checksum
    after.start("B")
    assert after.token("B").state == "x"


@pytest.mark.parametrize(
    ("token", "code"),
    [("a-1", "invalid_token_id"), ("A-1.all.1.code", "invalid_token_id"), ("A-1.all.0.code", None)],
)
def test_ids_are_compared_in_any_case_inside_a_batch_too(token: str, code: str | None) -> None:
    document = graph(
        "START -> work\nwork -> all on go\nall -> END on joined",
        states={"all": {"parallel": ["code"]}},
        workflows={"code": flow("START -> look\nlook -> END on seen")},
    )
    for apart in (False, True):
        writer = Writer(document)
        writer.submit(Start("A-1"))
        if apart:
            writer.run()
        asked = writer.submit(Start(token))
        writer.run()
        assert writer.body(asked).get("code") == code


def test_memory_and_reports_of_one_batch_see_one_another() -> None:
    writer = Writer()
    writer.start("A")
    writer.ask(claim())
    writer.submit(WriteMemory(1, "k", JsonText("[1]")))
    writer.submit(WriteMemory(1, "gone", JsonText("2")))
    writer.submit(WriteMemory(1, "gone", None))
    writer.submit(ReportEvent(1, "again"))
    asked = writer.submit(claim())
    writer.run()
    assert writer.body(asked)["memory"] == {"k": [1]}
    assert writer.ask(claim()) is None
    writer.ask(ReportEvent(2, "stop"))
    assert not any(value for value in writer.database.tables.memory.values())
