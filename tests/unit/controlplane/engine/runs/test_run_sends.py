"""Sends inside a family: who gets them, when, and which are undelivered (`docs/spec/statechart.md` 7)."""

from __future__ import annotations

from tests.support.charts import chart
from tests.support.runs import R, Runs


def test_a_send_to_a_parent_that_there_is_none_of_is_only_recorded() -> None:
    runs = Runs(chart("states: { a: { entry: { send: { to: parent, event: hi, data: [1] } } } }"))
    runs.submit()
    assert runs.said("sent") == [
        {"to": "parent", "event": "hi", "data": [1], "state": "a", "delivery": "recorded"}
    ]
    assert runs.said("undelivered") == []


TALK = chart(
    """
    initial: p
    states:
      p:
        jobs: { left: { machine: m.yaml }, right: { machine: m.yaml } }
        entry: { send: { to: left, event: ping, data: "entry" } }
        on:
          poke: { send: [{ to: left, event: ping, data: 1 }, { to: right, event: ping, data: 2 }] }
          pong:
            - { go: q, when: "${event.data == 'leave'}" }
            - { send: { to: parent, event: heard, data: "${event}" } }
          again: { go: p, send: { to: left, event: ping, data: "new" } }
          go: { go: q, send: { to: left, event: ping, data: "too late" } }
      q: { on: { poke: { send: { to: right, event: ping } } } }
    """,
    m="""
    initial: a
    states:
      a:
        on:
          ping: { send: { to: parent, event: pong, data: "${event.data}" } }
          twice: { send: [{ to: parent, event: pong, data: leave }, { to: parent, event: pong }] }
          end: { go: b, send: { to: parent, event: pong, data: last } }
          leave: { go: b, send: { to: parent, event: pong, data: leave } }
      b: { end: done, output: 1 }
    """,
)


def talking() -> Runs:
    runs = Runs(TALK)
    runs.submit()
    return runs


def heard(runs: Runs) -> list[tuple[str, object]]:
    return [(each["data"]["from"], each["data"]["data"]) for each in runs.said("sent", of=R)
            if each["event"] == "heard"]  # fmt: skip


def test_an_entry_send_to_the_own_child_arrives_once_that_has_started() -> None:
    runs = talking()
    assert heard(runs) == [("left", "entry")]
    left = runs.child("left")
    assert runs.kinds(of=left) == "started entered event_accepted sent"
    accepted = runs.said("event_accepted", of=left)[0]
    assert (accepted["from"], accepted["sender"], accepted["send"]) == ("parent", R, 3)


def test_sends_tell_their_receiver_as_the_chart_writes_it() -> None:
    runs = talking()
    sent = runs.said("sent", of=R)[0]
    assert sent == {"to": "left", "event": "ping", "data": "entry", "state": "p"}
    assert runs.said("sent", of=runs.child("left")) == [
        {"to": "parent", "event": "pong", "data": "entry", "state": "a"}
    ]


def test_parent_and_children_talk_in_order_in_one_command() -> None:
    runs = talking()
    assert runs.send("poke") == "taken"
    assert heard(runs)[1:] == [("left", 1), ("right", 2)]


def test_a_transitions_send_reaches_the_child_of_the_state_that_it_enters() -> None:
    runs = talking()
    old = runs.child("left")
    runs.send("again")
    assert runs.at(old) == "a cancelled"
    assert heard(runs)[1:] == [("left", "new"), ("left", "entry")]
    assert runs.said("undelivered", of=R) == []


def test_a_send_to_a_child_that_is_over_is_undelivered() -> None:
    runs = talking()
    runs.send("go")
    runs.send("poke")
    assert [
        (each["to"], each["event"], each["reason"]) for each in runs.said("undelivered", of=R)
    ] == [("left", "ping", "not_running"), ("right", "ping", "not_running")]
    seqs = [entry.seq for entry in runs.ledger if (entry.token, entry.kind) == (R, "sent")]
    assert [each["send"] for each in runs.said("undelivered", of=R)] == seqs[-2:]


def test_a_childs_last_sends_come_before_its_done() -> None:
    runs = talking()
    left = runs.child("left")
    seq = runs.of().seq
    runs.send("end", run=left)
    assert runs.at(left) == "b completed"
    assert heard(runs)[-1] == ("left", "last")
    assert runs.kinds(behind=seq, of=R) == "event_accepted sent branch_ended"


def test_what_a_child_sends_when_its_parent_has_left_is_undelivered() -> None:
    runs = talking()
    left = runs.child("left")
    runs.send("twice", run=left)
    assert (runs.at(), runs.at(left)) == ("q active", "a cancelled")
    assert [(each["to"], each["reason"]) for each in runs.said("undelivered", of=left)] == [
        ("parent", "left")
    ]
    assert runs.kinds(of=left).endswith("event_accepted sent sent cancelled undelivered")


def test_a_child_that_ended_and_made_its_parent_leave_finishes_no_job() -> None:
    runs = talking()
    runs.send("leave", run=runs.child("left"))
    assert runs.at() == "q active"
    assert runs.said("branch_ended") == []


def test_a_send_to_a_child_that_was_never_started_is_undelivered() -> None:
    runs = Runs(
        chart(
            """
            initial: a
            states:
              a: { on: { x: { send: { to: b, event: y } } } }
              b: { job: { machine: m.yaml } }
            """,
            m="states: { c: {} }",
        )
    )
    runs.submit()
    runs.send("x")
    assert [each["reason"] for each in runs.said("undelivered")] == ["not_running"]


def test_a_run_settles_before_what_it_sent_arrives() -> None:
    runs = Runs(
        chart(
            """
            initial: w
            states:
              w: { on: { go: p } }
              p: { defer: [x], job: { machine: m.yaml }, on: { go: { send: [{ to: p, event: x },
                { to: p, event: y }] }, x: { send: { to: parent, event: "x" } },
                y: { send: { to: parent, event: "y" } } } }
            """,
            m="""
            states:
              a:
                defer: [x]
                on:
                  x: { when: "${event.from == 'nobody'}" }
                  y: { send: [{ to: parent, event: x }, { to: parent, event: y }] }
            """,
        )
    )
    runs.submit()
    runs.send("go")
    runs.send("go")
    child = runs.child("p")
    assert runs.kept(child) == ["x"]
    assert [each["event"] for each in runs.said("sent", of=R)] == ["x", "y", "x", "y"]
