"""What every store does with runs, their jobs, timers, tickets, kept events and sends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stateous.json import JsonText
from stateous_controlplane.engine.rows import (
    Active,
    Failure,
    Held,
    JobPart,
    Kept,
    KeyUse,
    Run,
    Sent,
    Status,
    Task,
    TaskStatus,
    Ticket,
    TicketStatus,
    TimerKind,
    Token,
)
from stateous_controlplane.store.port import Store, StoreError
from tests.support.stores import (
    HOLDER,
    NOW,
    after,
    claimed,
    entry,
    load,
    task,
    timer,
    token,
    write,
)

ODD = JsonText('{"n":12345678901234567890123,"x":1.0,"é":"\\n","\\"":[null]}')
WHOLE = Run(
    input=ODD,
    key="chat:7",
    job="ask",
    entered=(NOW, after(0.000001)),
    output=JsonText("null"),
    outputs={"drafting": ODD, "other": JsonText("null")},
    finished={"inner": {"a": JsonText("null"), "b": None, "c": ODD}},
    error=Failure("job", "the job 'a' failed: \"no\""),
    starter="ab" * 32,
)
PATH = (Active("outer", 2), Active("inner", 1))


def run(run_id: str = "run-1", **changes: Any) -> Token:
    """A run that waits in its first state."""
    fields = {
        "run": Run(input=JsonText("{}"), entered=(NOW,)),
        "configuration": (Active("waiting", 1),),
        "workflow": ".",
        "context": JsonText("{}"),
        "seq": 3,
    }
    return token(run_id, **{**fields, **changes})


def one_state(**changes: Any) -> Run:
    """The part of a run that is in one state and has the key `chat:7`."""
    return replace(WHOLE, entered=(NOW,), finished={}, **changes)


def job(task_id: int, run_id: str = "run-1", **changes: Any) -> Task:
    """A script that is queued."""
    part = JobPart("drafting", JsonText('{"a":1}'))
    return task(task_id, run_id, **{"queue": "job:scripts", "job": part, **changes})


def ticket(digest: str = "d1", run_id: str = "run-1", **changes: Any) -> Ticket:
    """An open ticket of the state `waiting`."""
    return replace(Ticket(run_id, "waiting", 1, f"verdict-{digest}", digest, NOW), **changes)


def sent(seq: int, run_id: str = "run-1", **changes: Any) -> Sent:
    """A send to the key `chat:7`."""
    return replace(
        Sent(run_id, seq, "chat:7", None, "hello", JsonText('{"n":1.0}'), NOW), **changes
    )


@pytest.mark.parametrize(
    "part",
    [Run(input=JsonText("null")), replace(WHOLE, error=None), WHOLE],
    ids=["little", "much", "all"],
)
def test_a_run_keeps_each_of_its_fields(store: Store, part: Run) -> None:
    row = run(run=part, configuration=PATH[: len(part.entered)])
    write(store, new_tokens=[row, token()])
    assert load(store, tokens={"run-1", "T-1"}).tokens == {"run-1": row, "T-1": token()}


@pytest.mark.parametrize("how", ["tokens", "moves"])
def test_a_run_that_changed_keeps_what_it_has_now(store: Store, how: str) -> None:
    write(store, new_tokens=[run(run=replace(WHOLE, output=None, error=None), configuration=PATH)])
    row = run(run=WHOLE, configuration=PATH, seq=9)
    write(store, **{how: [row]})
    assert load(store, tokens={"run-1"}).tokens == {"run-1": row}


def test_a_run_that_only_wrote_a_note_keeps_the_rest(store: Store) -> None:
    write(store, new_tokens=[run(run=WHOLE, configuration=PATH)])
    write(store, positions=[run(seq=7, at=after(1))])
    row = run(run=WHOLE, configuration=PATH, seq=7, at=after(1))
    assert load(store, tokens={"run-1"}).tokens == {"run-1": row}


def test_a_run_that_is_not_there_cannot_change(store: Store) -> None:
    with pytest.raises(StoreError):
        write(store, tokens=[run()])


def test_a_run_brings_its_live_family_and_the_children_of_its_visit(store: Store) -> None:
    below = {"parent": "run-1", "parent_state": "waiting", "top": "run-1"}
    rows = [
        run(),
        run("run-2", **below, parent_visit=1),
        run("run-3", **below, parent_visit=1, status=Status.COMPLETED, ended_at=NOW),
        run("run-4", **below, parent_visit=0, status=Status.CANCELLED, ended_at=NOW),
        run("run-5"),
    ]
    write(store, new_tokens=rows)
    for named in ("run-1", "run-2"):
        assert load(store, tokens={named}).tokens.keys() == {"run-1", "run-2", "run-3"}


def test_jobs_keep_their_part(store: Store) -> None:
    ends = JobPart("drafting", JsonText("null"), after(300), 3, 9)
    write(store, new_tokens=[run(), token()], new_tasks=[job(1), job(2), task(3)])
    changed = claimed(2, "run-1", queue="job:scripts", job=ends)
    kept = replace(ends, job="drafting", input=JsonText('{"a":1}'))
    write(store, tasks=[changed])
    found = load(store, tokens={"run-1", "T-1"}).tasks
    assert found == {1: job(1), 2: replace(changed, job=kept), 3: task(3)}
    assert load(store, tasks={2}).tasks.keys() == {1, 2}


def test_claims_find_jobs_by_their_queues(store: Store) -> None:
    write(store, new_tokens=[run(), token()], new_tasks=[job(1), task(2)])
    assert load(store, queues={"job:scripts": 9}).tasks == {1: job(1)}
    assert load(store, queues={"scripts": 9, "coding": 9}).tasks.keys() == {2}


def test_timers_keep_their_text(store: Store) -> None:
    rows = [
        timer(1, "run-1", kind=TimerKind.LENGTH, event="late", text="48h"),
        timer(2, "run-1", kind=TimerKind.CLOCK, event="noon", text="12:00 Europe/London"),
    ]
    write(store, new_tokens=[run()], new_timers=rows)
    moved = replace(rows[0], due_at=after(7))
    write(store, timers=[moved])
    assert load(store, timers={1}).timers == {1: moved, 2: rows[1]}


def test_a_digest_finds_its_ticket_whatever_its_status_and_the_run(store: Store) -> None:
    write(store, new_tokens=[run()], tickets=[ticket(), ticket("d2"), ticket("d3")])
    write(store, tickets=[ticket("d2", status=TicketStatus.ANSWERED)])
    write(store, tickets=[ticket("d3", status=TicketStatus.VOID)])
    found = load(store, digests={"d2": set(), "nosuch": set()})
    assert found.tickets == {"d1": ticket(), "d2": ticket("d2", status=TicketStatus.ANSWERED)}
    assert found.tokens.keys() == {"run-1"}
    assert load(store, digests={"nosuch": set()}).tokens == {}


def test_a_run_brings_its_open_tickets_alone(store: Store) -> None:
    spent = ticket("d2", status=TicketStatus.ANSWERED)
    other = ticket("d3", "run-2")
    write(store, new_tokens=[run(), run("run-2")], tickets=[ticket(), spent, other])
    assert load(store, tokens={"run-1"}).tickets == {"d1": ticket()}


def test_a_digest_belongs_to_one_ticket(store: Store) -> None:
    write(store, new_tokens=[run(), run("run-2")], tickets=[ticket()])
    with pytest.raises(StoreError):
        write(store, tickets=[ticket("d1", "run-2")])


def test_kept_events_come_with_their_run_in_order(store: Store) -> None:
    data = '{"event":"order","data":null,"from":"run-9","sender":"run-9","send":4}'
    entries = [
        entry("run-1", seq, kind="event_kept", data=JsonText(data.replace("null", str(seq))))
        for seq in (4, 5, 6)
    ]
    kept = [
        Kept("run-1", seq, "run-1", NOW, "order", JsonText(str(seq)), "run-9", "run-9", 4)
        for seq in (4, 5, 6)
    ]
    write(store, new_tokens=[run()], entries=entries, kept=kept)
    assert load(store, tokens={"run-1"}).kept == kept
    write(store, unkept={("run-1", 5)})
    assert load(store, tokens={"run-1"}).kept == [kept[0], kept[2]]


def test_events_that_a_pause_holds_are_not_those_that_a_run_keeps(store: Store) -> None:
    data = '{"event":"order","data":null,"from":"client","arrival":1}'
    held = Held("run-1", 4, "run-1", 1, NOW, "order", JsonText("null"), source="client")
    paused = run(status=Status.PAUSED, paused_at=NOW)
    deferred = entry("run-1", 4, kind="event_deferred", data=JsonText(data))
    write(store, new_tokens=[paused], entries=[deferred], held=[held])
    found = load(store, tokens={"run-1"}, held={"run-1"})
    assert (found.held, found.kept, found.holding) == ([held], [], {"run-1": 1})


def test_one_live_run_has_a_key(store: Store) -> None:
    write(store, new_tokens=[run(run=one_state())])
    found = load(store, run_keys={"chat:7", "free"})
    assert found.key_holders == {"chat:7": "run-1", "free": None}
    assert found.tokens.keys() == {"run-1"}
    second = run("run-2", run=one_state())
    with pytest.raises(StoreError):
        write(store, new_tokens=[second])
    ended = replace(load(store, tokens={"run-1"}).tokens["run-1"], status=Status.FAILED)
    write(store, tokens=[ended])
    assert load(store, run_keys={"chat:7"}).key_holders == {"chat:7": None}
    write(store, new_tokens=[second])
    assert load(store, run_keys={"chat:7"}).key_holders == {"chat:7": "run-2"}


def test_a_send_brings_its_sender_and_the_run_with_the_key(store: Store) -> None:
    receiver = run("run-2", run=one_state())
    with_machine = sent(9, machine="../chat.yaml", data=JsonText("null"))
    write(store, new_tokens=[run(), receiver, run("run-3")], outbox=[sent(7), with_machine])
    found = load(store, sends={("run-1", 7), ("run-1", 8)})
    assert found.outbox == {("run-1", 7): sent(7)}
    assert found.key_holders == {"chat:7": "run-2"}
    assert found.tokens.keys() == {"run-1", "run-2"}
    assert load(store, sends={("run-1", 9)}).outbox == {("run-1", 9): with_machine}


def test_the_clock_finds_what_was_not_delivered_and_lasts_too_long(store: Store) -> None:
    over = JobPart("drafting", JsonText("null"), after(5))
    rows = [
        claimed(1, "run-1", queue="job:scripts", job=over),
        claimed(2, "run-1", queue="job:scripts", job=replace(over, ends_at=after(3))),
        claimed(3, "run-1", queue="job:scripts", job=over, status=TaskStatus.DONE),
        job(4),
    ]
    sends = [sent(9, "run-2"), sent(7), sent(8)]
    write(store, new_tokens=[run(), run("run-2")], new_tasks=rows, outbox=sends)

    def due(at: float, limit: int = 9) -> Any:
        with store.transaction(HOLDER) as transaction:
            return transaction.due(after(at), leases=False, limit=limit)

    assert due(2).overtime == ()
    assert due(3).overtime == (2,)
    assert due(5).overtime == (2, 1)
    assert due(5, limit=1).overtime == (2,)

    def undelivered(limit: int) -> Any:
        with store.transaction(HOLDER) as transaction:
            return transaction.undelivered(limit)

    assert undelivered(9) == (("run-2", 9), ("run-1", 7), ("run-1", 8))
    assert undelivered(2) == (("run-2", 9), ("run-1", 7))
    write(store, delivered={("run-1", 7)})
    assert undelivered(9) == (("run-2", 9), ("run-1", 8))


def test_what_a_key_of_a_run_was_used_for(store: Store) -> None:
    def with_key(seq: int, key: str, kind: str) -> Any:
        data = JsonText(f'{{"event":"e","data":{seq},"from":"client","state":"waiting"}}')
        return entry("run-1", seq, kind=kind, key=key, data=data)

    told = JsonText('{"ticket":"verdict","state":"waiting","id":"tid_1"}')
    write(
        store,
        new_tokens=[run()],
        tickets=[ticket()],
        entries=[
            with_key(1, "k1", "event_accepted"),
            with_key(2, "k2", "event_kept"),
            with_key(3, "k3", "event_dropped"),
            with_key(4, "k4", "event_deferred"),
            entry("run-1", 5, kind="ticket_answered", data=told),
            with_key(6, "k6", "event_accepted"),
        ],
    )
    keys = {("run-1", key) for key in ("k1", "k2", "k3", "k4", "nosuch")}
    found = load(store, tokens={"run-1"}, keys=keys, digests={"d1": {"k6", "nosuch"}})
    assert found.keys == {
        ("run-1", "k1"): KeyUse("e", JsonText("1"), "taken"),
        ("run-1", "k2"): KeyUse("e", JsonText("2"), "kept"),
        ("run-1", "k3"): KeyUse("e", JsonText("3"), "dropped"),
        ("run-1", "k4"): KeyUse("e", JsonText("4"), "held"),
        ("run-1", "k6"): KeyUse("e", JsonText("6"), "taken", "tid_1"),
    }
