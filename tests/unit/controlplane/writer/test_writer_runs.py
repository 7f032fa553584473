"""Runs through the writer: deliveries exactly once, keys, tickets by digest, attempts that end."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from stateous.json import JsonText
from stateous.statechart.run_ids import sent_id
from stateous.statechart.tickets import digest, ticket_value
from stateous_controlplane.documents import check
from stateous_controlplane.engine.commands import (
    AnswerTicket,
    Cancel,
    Claim,
    Emit,
    Fire,
    Pause,
    ReportDone,
    Resume,
    SendEvent,
    Subject,
    SubmitRun,
)
from stateous_controlplane.engine.replies import Result
from stateous_controlplane.store.port import Changes, CommitUnknown, DatabaseBusy
from stateous_controlplane.writer.requests import Emits, PutGraph
from tests.support.charts import document
from tests.support.writer import BOX, Writer, claim, given

CHAT = document(
    """
    initial: a
    states:
      a:
        on:
          tell: { send: { to: { key: "${event.data}" }, event: said, data: "${run.id}" } }
          twice:
            send:
              - { to: { key: "${event.data}" }, event: said, data: 1 }
              - { to: { key: "${event.data}" }, event: said, data: 2 }
          open: { send: { to: { machine: chat.yaml, key: "${event.data}" }, event: said } }
          said: { send: { to: parent, event: heard, data: "${event.data}" } }
          bye: b
      b: { end: done }
    """,
    chat="""
    initial: open
    states:
      open: { on: { said: [{}], bye: closed } }
      closed: { end: done }
    """,
)
DESK = document(
    """
    initial: open
    states:
      open:
        ticket: verdict
        on: { verdict: [{ go: closed, when: "${event.data.ok}" }], again: open }
      closed: { end: done, output: "${event.data}" }
    """
)
WORK = document(
    """
    initial: work
    states:
      work: { job: { script: work.js, timeout: 60s, retries: 1 }, on: { done: closed, half: [{}] } }
      closed: { end: done, output: "${states.work.output}" }
    """
)


def with_chart(chart: Any, **more: Any) -> tuple[Writer, str]:
    """A writer, and the checksum of a chart that it has on record."""
    writer = Writer(**more)
    checked = check(chart.raw)
    assert writer.ask(PutGraph(checked.record))["graph"] == chart.checksum
    return writer, chart.checksum


def submit(writer: Writer, graph: str, run: str, key: str | None = None) -> Any:
    return writer.ask(SubmitRun(run, graph, None, key))


def send(run: str, event: str, data: str = "null", key: str | None = None) -> SendEvent:
    return SendEvent(run, event, JsonText(data), key)


def heard(writer: Writer, run: str) -> list[Any]:
    """The data of what a run was told, in order."""
    history = writer.store.reads().run_history(run, after=0, limit=None) or []
    return [e.data.value["data"] for e in history if e.kind == "event_accepted"]


def chatting(**more: Any) -> tuple[Writer, str]:
    writer, graph = with_chart(CHAT, **more)
    for name in ("A", "B"):
        assert submit(writer, graph, name, key=f"key-{name}")["id"] == name
    return writer, graph


# ── documents and submits ───────────────────────────────────────────────


def test_a_document_is_put_on_record_once() -> None:
    writer = Writer()
    record = check(DESK.raw).record
    first, second = writer.submit(PutGraph(record)), writer.submit(PutGraph(record))
    writer.run()
    assert (writer.status(first), writer.status(second)) == (201, 200)
    assert writer.ask(PutGraph(record)) == {"graph": DESK.checksum, "machine": "main"}
    assert writer.store.reads().graph(DESK.checksum) == record.document


def test_a_submit_of_what_is_no_chart_on_record() -> None:
    writer = Writer()
    for graph in ("sha256:nosuch", writer.served.checksum):
        assert submit(writer, graph, "A")["code"] == "graph_not_found"


def test_an_id_is_submitted_once_in_a_batch_too() -> None:
    writer, graph = with_chart(DESK)
    same = [writer.submit(SubmitRun("A", graph)) for _ in range(2)]
    other = writer.submit(SubmitRun("A", graph, None, "key"))
    writer.run()
    assert [writer.status(each) for each in (*same, other)] == [201, 200, 409]
    assert writer.body(other)["code"] == "run_exists"


def test_one_live_run_has_a_key_in_a_batch_too() -> None:
    writer, graph = with_chart(CHAT)
    first = writer.submit(SubmitRun("A", graph, None, "key"))
    second = writer.submit(SubmitRun("B", graph, None, "key"))
    writer.submit(send("A", "bye"))
    third = writer.submit(SubmitRun("C", graph, None, "key"))
    writer.run()
    assert [writer.status(each) for each in (first, second, third)] == [201, 409, 201]
    assert writer.body(second)["code"] == "key_taken"
    assert submit(writer, graph, "D", key="key")["code"] == "key_taken"
    writer.ask(Cancel("C", Subject.RUN))
    assert submit(writer, graph, "D", key="key")["id"] == "D"


def test_runs_are_no_tokens_and_tokens_no_runs() -> None:
    writer, graph = chatting()
    writer.start("T")
    assert writer.ask(Fire("A", "bye"))["code"] == "token_not_found"
    assert writer.ask(Pause("A"))["code"] == "token_not_found"
    assert writer.ask(send("T", "again"))["code"] == "run_not_found"
    assert writer.ask(Pause("T", Subject.RUN))["code"] == "run_not_found"
    assert submit(writer, graph, "t")["code"] in ("run_exists", "invalid_run_id")


# ── deliveries ──────────────────────────────────────────────────────────


def test_a_send_is_delivered_right_after_the_commit_that_sent_it() -> None:
    writer, _ = chatting()
    assert writer.ask(send("A", "tell", '"key-B"')) == {"result": Result.TAKEN}
    assert heard(writer, "B") == ["A"]
    assert writer.database.tables.outbox == {("A", 4): None}


def test_sends_of_one_run_come_in_order() -> None:
    writer, _ = chatting()
    for _ in range(3):
        writer.submit(send("A", "twice", '"key-B"'))
    writer.run()
    assert heard(writer, "B") == [1, 2, 1, 2, 1, 2]


def test_a_run_can_send_to_its_own_key() -> None:
    writer, _ = chatting()
    writer.ask(send("A", "tell", '"key-A"'))
    assert heard(writer, "A") == ["key-A", "A"]


def test_a_writer_that_dies_before_the_delivery_leaves_it_to_the_next() -> None:
    writer, _ = chatting()
    writer.submit(send("A", "twice", '"key-B"'))
    writer.sequencer.step()
    assert heard(writer, "B") == []
    following = writer.restarted()
    following.run()
    assert heard(following, "B") == [1, 2]
    again = following.restarted("host:3:00000003")
    again.run()
    assert heard(again, "B") == [1, 2]


def test_a_writer_that_dies_right_after_a_delivery_leaves_nothing_to_the_next() -> None:
    class Death(BaseException):
        pass

    writer, _ = chatting()

    def die_once_delivered() -> None:
        if heard(writer, "B") == ["A"]:
            raise Death

    writer.store.committed = die_once_delivered
    with pytest.raises(Death):
        writer.ask(send("A", "tell", '"key-B"'))
    following = writer.restarted()
    following.pass_time(2)
    assert heard(following, "B") == ["A"]
    assert following.database.tables.outbox == {("A", 4): None}


def test_a_delivery_that_cannot_be_committed_is_tried_again_in_order(
    caplog: pytest.LogCaptureFixture,
) -> None:
    writer, _ = chatting()

    def commit(changes: Changes) -> None:
        if changes.delivered:
            raise DatabaseBusy("it is locked")

    writer.store.faults.commit = commit
    with caplog.at_level(logging.CRITICAL):
        writer.ask(send("A", "twice", '"key-B"'))
        writer.ask(send("A", "tell", '"key-B"'))
        assert heard(writer, "B") == []
        writer.store.faults.commit = None
        writer.run()
        assert heard(writer, "B") == []
    writer.pass_time(1)
    assert heard(writer, "B") == [1, 2, "A"]


def test_no_delivery_overtakes_one_of_its_sender_that_failed_alone() -> None:
    writer, _ = chatting()
    tried: list[set[tuple[str, int]]] = []

    def commit(changes: Changes) -> None:
        if changes.delivered:
            tried.append(changes.delivered)
            # The batch fails, and then the first of its deliveries once more.
            if len(tried) <= 2:
                raise CommitUnknown("the connection was lost") if tried[1:] else DatabaseBusy("no")

    writer.store.faults.commit = commit
    writer.submit(send("A", "twice", '"key-B"'))
    writer.submit(send("B", "tell", '"key-A"'))
    writer.run()
    assert (heard(writer, "A"), heard(writer, "B")) == (["key-B", "B"], ["key-A"])
    writer.pass_time(1)
    assert heard(writer, "B") == ["key-A", 1, 2]


def test_two_senders_to_a_machine_start_one_run() -> None:
    writer, _ = chatting()
    writer.submit(send("A", "open", '"chat:7"'))
    writer.submit(send("B", "open", '"chat:7"'))
    writer.run()
    started = sent_id("A", 4)
    runs = [token for token in writer.database.tables.tokens.values() if token.run]
    assert [run.token for run in runs] == ["A", "B", started]
    assert heard(writer, started) == [None]
    assert writer.token(started).parent is None


def test_what_a_run_is_told_that_a_pause_holds_counts_once() -> None:
    writer, _ = chatting()
    writer.ask(Pause("B", Subject.RUN))
    writer.ask(send("A", "tell", '"key-B"'))
    assert heard(writer, "B") == []
    writer.ask(Resume("B", Subject.RUN))
    history = writer.store.reads().run_history("B", after=0, limit=None) or []
    assert [e.kind for e in history].count("event_replayed") == 1


def test_an_undelivered_send_is_told_by_its_sender() -> None:
    writer, _ = chatting()
    writer.ask(send("A", "tell", '"nobody"'))
    assert writer.store.reads().run_history("A", after=0, limit=None)[-1].kind == "undelivered"


# ── tickets ─────────────────────────────────────────────────────────────


def value(run: str, visit: int = 1) -> str:
    return ticket_value(b"", run, "open", visit, "verdict")


def answer(ticket: str, data: str = '{"ok":true}', **more: Any) -> AnswerTicket:
    return AnswerTicket(digest(ticket), more.pop("run", None), JsonText(data), **more)


def test_an_answer_finds_its_ticket_by_the_digest() -> None:
    writer, graph = with_chart(DESK)
    submit(writer, graph, "A")
    assert writer.ask(answer(value("A"), '{"ok":false}'))["code"] == "answer_not_taken"
    assert writer.ask(answer(value("A"), run="A")) == {"result": "taken"}
    assert writer.token("A").status == "completed"


@pytest.mark.parametrize("case", ["wrong", "used", "void", "of another run"])
def test_all_tickets_that_are_not_open_are_refused_alike(case: str) -> None:
    writer, graph = with_chart(DESK)
    for run in ("A", "B"):
        submit(writer, graph, run)
    tried = {
        "wrong": answer("tk_nosuch"),
        "used": answer(value("A")),
        "void": answer(value("B")),
        "of another run": answer(value("B", 2), run="A"),
    }[case]
    writer.ask(answer(value("A")))
    writer.ask(send("B", "again"))
    assert writer.ask(tried) == {"error": "the ticket is not open", "code": "ticket_refused"}


def test_two_answers_in_one_batch_are_taken_once() -> None:
    writer, graph = with_chart(DESK)
    submit(writer, graph, "A")
    both = [writer.submit(answer(value("A"))) for _ in range(2)]
    writer.run()
    assert [writer.status(each) for each in both] == [200, 409]


def test_a_repeated_answer_is_told_the_first_result() -> None:
    writer, graph = with_chart(DESK)
    submit(writer, graph, "A")
    keyed = answer(value("A"), key="k")
    assert writer.ask(keyed) == {"result": "taken"}
    for next_one in (lambda: writer, writer.restarted):
        following = next_one()
        assert following.ask(keyed) == {"result": "taken", "duplicate": True}
        other = answer(value("A"), '{"ok":1}', key="k")
        assert following.ask(other)["code"] == "idempotency_mismatch"


# ── jobs ────────────────────────────────────────────────────────────────


def working() -> Writer:
    writer, graph = with_chart(WORK)
    submit(writer, graph, "A")
    return writer


def jobs(**more: Any) -> Claim:
    return Claim(BOX, jobs=("scripts",), **more)


def test_a_claim_of_jobs_gets_the_script() -> None:
    writer = working()
    assert writer.ask(claim("scripts")) is None
    grant = writer.ask(jobs())
    assert grant == {
        "task": 1,
        "token": "A",
        "machine": "main",
        "state": "work",
        "job": "work",
        "visit": 1,
        "attempt": 1,
        "input": None,
        "timeout": 60,
        "memory": {},
        "script": {"path": "work.js", "source": "return 'work.js'\n"},
    }
    assert writer.ask(jobs()) is None


def test_a_claim_that_waits_gets_the_job_of_a_run_that_starts() -> None:
    writer, graph = with_chart(WORK)
    waiting = writer.submit(jobs(wait=30))
    states = writer.submit(claim("scripts", "job:scripts", wait=30))
    writer.run()
    submit(writer, graph, "A")
    assert given(writer.body(waiting)) == [(1, 1)]
    assert writer.waits(states)


def test_emitted_values_are_taken_in_order_up_to_a_refusal() -> None:
    writer = working()
    writer.ask(jobs())

    def emits(first: int, *events: str) -> Any:
        values = tuple(
            Emit(1, number, event, JsonText(str(number)), 1, BOX)
            for number, event in enumerate(events, first)
        )
        return writer.ask(Emits(1, values))

    assert emits(1, "half", "half") is None
    assert emits(2, "half", "half") is None
    assert heard(writer, "A") == [1, 2, 3]
    assert emits(4, "half", "done", "half")["code"] == "event_not_allowed"
    assert heard(writer, "A") == [1, 2, 3, 4]
    assert writer.ask(ReportDone(1, JsonText("7"), 1, BOX))["status"] == "completed"
    assert emits(5, "half")["code"] in ("task_not_held", "attempt_over")


def test_an_attempt_that_lasts_too_long_is_ended_thirty_seconds_later() -> None:
    writer = working()
    writer.ask(jobs())
    for _ in range(8):
        writer.pass_time(10)
        writer.beat(1)
    assert writer.task(1).attempt == 1
    assert writer.task(1).status == "claimed"
    writer.pass_time(11)
    assert writer.task(1).status == "queued"
    assert given(writer.ask(jobs())) == [(1, 2)]
    for _ in range(10):
        writer.pass_time(10)
        writer.beat(1)
    assert writer.token("A").status == "failed"
