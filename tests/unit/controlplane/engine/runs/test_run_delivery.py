"""Sends to keys: over the outbox, each delivery a command (`docs/spec/statechart.md` 7)."""

from __future__ import annotations

import pytest

from stateous.statechart.run_ids import sent_id
from stateous_controlplane.engine.commands import Deliver
from stateous_controlplane.engine.replies import Skipped
from tests.support.charts import chart
from tests.support.runs import R, Runs

CHAT = chart(
    """
    initial: a
    states:
      a:
        on:
          tell: { send: { to: { key: "chat:${event.data.id}" }, event: said, data: "${event.data}" } }
          open:
            send:
              to: { machine: chat.yaml, key: "chat:${event.data.id}" }
              event: said
              data: "${event.data.input}"
          own: { send: { to: { key: me }, event: said, data: 1 } }
          said: { send: { to: parent, event: heard, data: "${event}" } }
          bad: { send: { to: { key: "${event.data}" }, event: said } }
    """,
    chat="""
    input: { who: string }
    events: { said: { type: object }, bye: {} }
    initial: open
    states:
      open: { on: { said: [{}], bye: closed } }
      closed: { end: done }
    """,
)


def chatting() -> Runs:
    runs = Runs(CHAT)
    runs.submit(key="me")
    return runs


def test_a_send_to_a_key_waits_in_the_outbox() -> None:
    runs = chatting()
    runs.send("tell", {"id": 7})
    (sent,) = runs.family.outbox.values()
    assert (sent.token, sent.key, sent.machine, sent.event) == (R, "chat:7", None, "said")
    assert sent.data.value == {"id": 7}
    assert runs.said("sent")[0]["to"] == {"key": "chat:7"}


def test_to_a_key_that_no_live_run_has_it_is_undelivered() -> None:
    runs = chatting()
    runs.send("tell", {"id": 7})
    runs.deliver()
    assert runs.said("undelivered") == [
        {"send": 4, "to": {"key": "chat:7"}, "event": "said", "reason": "no_run"}
    ]
    assert runs.family.outbox == {}
    assert runs.play(Deliver(R, 4)) == Skipped()


def test_a_new_run_starts_where_none_has_the_key() -> None:
    runs = chatting()
    runs.send("open", {"id": 7, "input": {"who": "ann"}})
    runs.deliver()
    run = sent_id(R, 4)
    assert runs.at(run) == "open active"
    assert runs.said("started", of=run) == [
        {
            "input": {"who": "ann"},
            "graph": CHAT.checksum,
            "machine": "chat",
            "key": "chat:7",
            "by": R,
            "sender": R,
            "send": 4,
        }
    ]
    row = runs.of(run)
    assert (row.top, row.parent, row.workflow, row.run_part.key) == (
        run,
        None,
        "chat.yaml",
        "chat:7",
    )
    # The event is its input, and is not delivered besides.
    assert runs.kinds(of=run) == "started entered"
    assert runs.said("sent")[0]["to"] == {"machine": "chat.yaml", "key": "chat:7"}


def test_the_live_run_with_the_key_gets_the_event() -> None:
    runs = chatting()
    for _ in range(2):
        runs.send("open", {"id": 7, "input": {"who": "ann"}})
    runs.deliver()
    run = sent_id(R, 4)
    assert len(runs.family.tokens) == 2
    accepted = runs.said("event_accepted", of=run)[0]
    assert (accepted["from"], accepted["sender"], accepted["send"]) == (R, R, 6)


def test_a_run_may_send_to_its_own_key() -> None:
    runs = chatting()
    runs.send("own")
    assert runs.said("undelivered") == []
    runs.deliver()
    assert runs.said("sent")[1]["data"] == {"name": "said", "data": 1, "from": R}


def test_a_key_is_free_again_when_its_run_has_ended() -> None:
    runs = chatting()
    runs.send("open", {"id": 7, "input": {"who": "ann"}})
    runs.deliver()
    first = sent_id(R, 4)
    runs.send("bye", run=first)
    runs.send("open", {"id": 7, "input": {"who": "bob"}})
    runs.deliver()
    second = sent_id(R, 6)
    assert [runs.at(first), runs.at(second)] == ["closed completed", "open active"]


def test_an_input_that_does_not_fit_starts_nothing() -> None:
    runs = chatting()
    runs.send("open", {"id": 7, "input": {"who": 1}})
    runs.deliver()
    assert [each["reason"] for each in runs.said("undelivered")] == ["invalid_input"]
    assert len(runs.family.tokens) == 1


@pytest.mark.parametrize(
    ("event", "data", "reason"),
    [("tell", {"id": 7}, None), ("open", {"id": 7, "input": "no object"}, "invalid_data")],
)
def test_a_chart_that_declares_events_drops_others(
    event: str, data: object, reason: str | None
) -> None:
    runs = chatting()
    runs.send("open", {"id": 7, "input": {"who": "ann"}})
    runs.deliver()
    runs.send(event, data)
    runs.deliver()
    dropped = [each["reason"] for each in runs.said("event_dropped", of=sent_id(R, 4))]
    assert dropped == ([reason] if reason else [])


@pytest.mark.parametrize("key", ["", "x" * 257, 5, None, ["k"]])
def test_what_is_no_key_fails_the_sender(key: object) -> None:
    runs = chatting()
    runs.send("bad", key)
    assert runs.at() == "a failed"
    assert (runs.error() or "").startswith("expression: states.a.on.bad[0].send[0].to.key: ")
    assert runs.family.outbox == {}


def test_a_send_is_delivered_although_its_sender_has_ended() -> None:
    runs = chatting()
    runs.send("open", {"id": 7, "input": {"who": "ann"}})
    runs.send("tell", {"id": 8})
    runs.cancel()
    runs.deliver()
    assert runs.at(sent_id(R, 4)) == "open active"
    assert runs.kinds(of=R).endswith("cancelled undelivered")


def test_a_paused_run_holds_what_is_delivered() -> None:
    runs = chatting()
    runs.send("own")
    runs.pause()
    runs.deliver()
    assert runs.said("event_deferred") == [
        {"event": "said", "data": 1, "from": R, "arrival": 1, "sender": R, "send": 4}
    ]
    runs.resume()
    replayed = runs.said("event_replayed")[0]
    assert (replayed["from"], replayed["sender"], replayed["send"]) == (R, R, 4)
