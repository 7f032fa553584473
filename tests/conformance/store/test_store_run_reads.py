"""What every store shows of runs and of documents on record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stateous.json import JsonText
from stateous_controlplane.engine.rows import (
    Active,
    Failure,
    JobPart,
    Kept,
    Run,
    Status,
    TaskStatus,
    Ticket,
    TicketStatus,
    TimerKind,
    TimerStatus,
    Token,
)
from stateous_controlplane.store.port import GraphRecord, NewGraph, Reads, Store
from stateous_controlplane.store.run_views import (
    GraphView,
    JobView,
    KeptView,
    NewestPlace,
    RunFilter,
    RunState,
    Step,
    TicketView,
    TimerView,
)
from tests.support.stores import NOW, after, claimed, entry, graph, task, timer, token, write

CHART = GraphRecord(
    "sha256:chart",
    "statechart",
    "review",
    "",
    "",
    '{"statechart":"review"}',
    {".": "review", "../chat.yaml": "chat", "#inner": "inner"},
)


def run(run_id: str = "run-1", at: float = 0, **changes: Any) -> Token:
    """A run of the chart that began ``at`` seconds after the others."""
    part = Run(input=JsonText("{}"), entered=(after(at), after(at)))
    fields = {
        "run": part,
        "workflow": ".",
        "graph": CHART.checksum,
        "configuration": (Active("outer", 1), Active("inner", 2)),
        "started_at": after(at),
    }
    return token(run_id, **{**fields, **changes})


def with_part(row: Token, **changes: Any) -> Token:
    assert row.run is not None
    return replace(row, run=replace(row.run, **changes))


@pytest.fixture
def reads(store: Store) -> Any:
    write(store, graphs=[NewGraph(CHART, NOW)])
    opened = store.reads()
    yield opened
    opened.close()


def ids(reads: Reads, limit: int = 9, behind: NewestPlace | None = None, **where: Any) -> list[str]:
    views, _ = reads.runs(RunFilter(**where), behind=behind, limit=limit)
    return [view.run for view in views]


def test_runs_come_newest_first_and_no_tokens(store: Store, reads: Reads) -> None:
    write(store, new_tokens=[run("b", 1), run("a", 1), run("c", 2), run("d", 0), token("T")])
    assert ids(reads) == ["c", "a", "b", "d"]
    assert ids(reads, limit=2) == ["c", "a"]
    assert ids(reads, behind=NewestPlace(after(1), "a")) == ["b", "d"]
    assert reads.runs(RunFilter(), behind=None, limit=4)[1] is False
    assert reads.runs(RunFilter(), behind=None, limit=3)[1] is True


def test_the_filters_of_runs_combine(store: Store, reads: Reads) -> None:
    ended = {"status": Status.FAILED, "ended_at": after(9)}
    rows = [
        with_part(run("a", 1), key="k"),
        with_part(run("b", 2, **ended), key="k"),
        run("c", 3, workflow="../chat.yaml", parent="a", parent_state="s", parent_visit=1, top="a"),
    ]
    write(store, new_tokens=rows)
    assert ids(reads, status="failed") == ["b"]
    assert ids(reads, machine="review") == ["b", "a"]
    assert ids(reads, machine="chat") == ["c"]
    assert ids(reads, key="k") == ["b", "a"]
    assert ids(reads, key="k", status="active") == ["a"]
    assert ids(reads, parent="a") == ["c"]
    assert ids(reads, parent="a", machine="review") == []
    assert ids(reads, key="nosuch") == []


def test_a_run_is_shown_with_all_that_belongs_to_it(store: Store, reads: Reads) -> None:
    row = with_part(
        run(),
        input=JsonText('{"n":1.0}'),
        key="k",
        outputs={"drafting": JsonText("[1]")},
        starter="ab",
    )
    below = {"parent": "run-1", "parent_state": "inner", "parent_visit": 2, "top": "run-1"}
    part = JobPart("one", JsonText("null"))
    spent = Ticket("run-1", "inner", 1, "old", "d3", NOW, TicketStatus.ANSWERED)

    def queued(seq: int, number: int, job: str) -> Any:
        data = f'{{"task":{number},"job":"{job}","state":"inner","visit":2}}'
        return entry("run-1", seq, kind="task_queued", data=JsonText(data))

    write(
        store,
        new_tokens=[row, run("run-2", 1, **below, status=Status.COMPLETED, ended_at=NOW)],
        new_tasks=[
            claimed(1, "run-1", queue="job:scripts", job=part),
            task(2, "run-1", queue="job:review/price", job=replace(part, job="two")),
            claimed(
                3, "run-1", queue="job:scripts", job=part, status=TaskStatus.DONE, claimed_by=None
            ),
        ],
        new_timers=[
            timer(1, "run-1", kind=TimerKind.LENGTH, event="late", text="48h"),
            timer(2, "run-1", event="over", text="1s", status=TimerStatus.FIRED, ready=False),
        ],
        tickets=[
            Ticket("run-1", "inner", 2, "verdict", "d2", after(1)),
            Ticket("run-1", "outer", 1, "boss", "d1", NOW),
            spent,
        ],
        entries=[
            queued(1, 3, "past"),
            entry("run-1", 2, kind="entered", data=JsonText('{"state":"inner","visit":2}')),
            queued(3, 1, "one"),
            queued(4, 2, "two"),
            entry(
                "run-1",
                5,
                kind="branch_started",
                data=JsonText('{"run":"run-2","job":"three","state":"inner","visit":2}'),
            ),
            queued(6, 3, "four"),
            entry(
                "run-1",
                7,
                at=after(2),
                kind="event_kept",
                data=JsonText('{"event":"order","data":1,"from":"client"}'),
            ),
        ],
        kept=[Kept("run-1", 7, "run-1", after(2), "order", JsonText("1"), "client")],
    )
    full = reads.run("run-1")
    assert full is not None
    assert full.view.machine == "review"
    assert full.view.configuration == (Step("outer", 1, NOW), Step("inner", 2, NOW))
    assert (full.input, full.output, full.starter) == ('{"n":1.0}', None, "ab")
    assert JsonText(full.outputs).value == {"drafting": [1]}
    assert full.jobs == (
        JobView("one", "inner", "script", "claimed", 1, task=1),
        JobView("two", "inner", "routine", "queued", 0, task=2),
        JobView("three", "inner", "machine", "done", run="run-2"),
        JobView("four", "inner", "script", "done", 1, task=3),
    )
    assert full.timers == (TimerView("late", "coding", "48h", after(3600)),)
    assert full.tickets == (
        TicketView("boss", "outer", 1, "d1", NOW),
        TicketView("verdict", "inner", 2, "d2", after(1)),
    )
    assert full.kept == (KeptView("order", "client", after(2)),)
    assert reads.run_state("run-1") == RunState("active", "ab", has_tickets=True)


def test_a_run_that_ended_shows_how(store: Store, reads: Reads) -> None:
    row = run(status=Status.FAILED, ended_at=after(5))
    row = with_part(row, error=Failure("job", "no"), output=JsonText("7"))
    write(store, new_tokens=[row])
    full = reads.run("run-1")
    assert full is not None
    assert (full.view.status, full.view.error) == ("failed", Failure("job", "no"))
    assert (full.view.ended_at, full.output) == (after(5), "7")
    assert (full.jobs, full.timers, full.tickets, full.kept) == ((), (), (), ())
    assert reads.run_state("run-1") == RunState("failed", None, has_tickets=False)


def test_a_token_is_no_run_and_a_run_no_token(store: Store, reads: Reads) -> None:
    write(store, new_tokens=[run(), token("T")], entries=[entry("run-1"), entry("T")])
    for name in ("T", "RUN-1", "nosuch"):
        assert reads.run(name) is None
        assert reads.run_state(name) is None
        assert reads.run_history(name, after=0, limit=None) is None
    assert reads.token("run-1") is None
    assert reads.history("run-1", after=0, limit=None) is None
    assert [each.seq for each in reads.run_history("run-1", after=0, limit=9) or []] == [1]
    assert reads.run_history("run-1", after=1, limit=9) == []


def test_documents_come_newest_first_with_what_is_live(store: Store, reads: Reads) -> None:
    other = replace(CHART, checksum="sha256:other", machines={".": "review"})
    workflow = graph("sha256:workflow")
    write(store, graphs=[NewGraph(other, after(1)), NewGraph(workflow, after(1))])
    write(store, graphs=[NewGraph(replace(CHART, document="{}"), after(9))])
    ended = {"status": Status.CANCELLED, "ended_at": NOW}
    write(
        store,
        new_tokens=[run("a"), run("b", **ended), token("T", graph="sha256:workflow")],
    )
    views, more = reads.graphs(behind=None, limit=9)
    assert views == [
        GraphView("sha256:other", "statechart", "review", (), after(1), 0),
        GraphView("sha256:workflow", "workflow", "ticket", (), after(1), 1),
        GraphView("sha256:chart", "statechart", "review", ("inner", "chat"), NOW, 1),
    ]
    assert more is False
    page, more = reads.graphs(behind=NewestPlace(after(1), "sha256:other"), limit=1)
    assert ([view.graph for view in page], more) == (["sha256:workflow"], True)
    assert reads.graph("sha256:chart") == CHART.document
    assert reads.graph("nosuch") is None
