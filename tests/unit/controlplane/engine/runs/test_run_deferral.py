"""Kept events, and what becomes of those that nothing takes (`docs/spec/statechart.md` 5.3, 6)."""

from __future__ import annotations

from tests.support.charts import chart
from tests.support.runs import Runs

BAR = chart(
    """
    initial: cooking
    states:
      cooking:
        defer: [order, bill]
        on:
          ready: serving
          order: { when: "${event.data == 'rush'}" }
      serving:
        defer: [bill]
        on: { order: plating, empty: closing }
      plating: { on: { plated: serving } }
      closing:
        on:
          bill: { go: paid, when: "${event.data > 0}" }
          order: closing
      paid: { end: done, output: "${event.data}" }
    """
)


def test_what_no_rule_takes_is_kept_while_an_active_state_defers_it() -> None:
    runs = Runs(BAR)
    runs.submit()
    assert [runs.send("order", "rush"), runs.send("order", 1), runs.send("song", 2)] == [
        "taken",
        "kept",
        "dropped",
    ]
    assert runs.said("event_kept") == [{"event": "order", "data": 1, "from": "client"}]
    assert runs.said("event_dropped") == [
        {"event": "song", "data": 2, "from": "client", "reason": "no_rule"}
    ]
    assert runs.kept() == ["order"]


def test_kept_events_are_offered_again_in_order_of_arrival_after_each_step() -> None:
    runs = Runs(BAR)
    runs.submit()
    for event, data in (("bill", 0), ("order", "a"), ("order", "b")):
        runs.send(event, data)
    seqs = [entry.seq for entry in runs.ledger if entry.kind == "event_kept"]
    seq = runs.of().seq
    assert runs.send("ready") == "taken"
    # In `serving` the first order is taken; in `plating` nobody defers or takes what is left.
    assert runs.at() == "plating active"
    assert [
        (kind, data["event"], data.get("seq"), data.get("reason"))
        for kind, data in runs.told(behind=seq)
        if kind.startswith("event")
    ] == [
        ("event_accepted", "ready", None, None),
        ("event_replayed", "order", seqs[1], None),
        ("event_dropped", "bill", seqs[0], "not_deferred"),
        ("event_dropped", "order", seqs[2], "not_deferred"),
    ]
    assert runs.said("event_replayed") == [
        {
            "event": "order",
            "data": "a",
            "from": "client",
            "state": "serving",
            "go": "plating",
            "seq": seqs[1],
        }
    ]
    assert runs.kept() == []


def test_a_rule_takes_a_kept_event_although_a_state_still_defers_it() -> None:
    runs = Runs(
        chart(
            """
            states:
              a:
                initial: b
                defer: [x]
                states:
                  b: { on: { go: c } }
                  c: { on: { x: { go: b, when: "${event.data > 1}" } } }
            """
        )
    )
    runs.submit()
    assert [runs.send("x", 1), runs.send("x", 2), runs.send("x", "odd")] == ["kept"] * 3
    runs.send("go")
    assert runs.visited() == "+a +b -b +c -c +b"
    assert runs.kept() == ["x", "x"]
    # Looking whether a rule would take it records nothing, not even that a condition failed.
    assert runs.said("note") == []


def test_the_101st_kept_event_is_dropped_and_the_run_goes_on() -> None:
    runs = Runs(BAR)
    runs.submit()
    assert [runs.send("bill", number) for number in range(100)] == ["kept"] * 100
    assert runs.send("bill", 100) == "dropped"
    assert runs.said("event_dropped")[-1]["reason"] == "full"
    assert len(runs.kept()) == 100
    runs.send("order", "rush")
    runs.send("ready")
    assert runs.at() == "serving active"


def test_kept_events_outlive_states_and_end_with_the_run() -> None:
    runs = Runs(BAR)
    runs.submit()
    runs.send("bill", 1)
    runs.send("ready")
    assert (runs.at(), runs.kept()) == ("serving active", ["bill"])
    runs.send("bill", 2)
    runs.send("empty")
    assert (runs.at(), runs.output(), runs.kept()) == ("paid completed", 1, [])
    dropped = runs.said("event_dropped")
    assert [(each["data"], each["reason"]) for each in dropped] == [(2, "ended")]
    assert runs.kinds().endswith("left entered event_dropped completed")


def test_a_kept_event_tells_who_sent_it() -> None:
    runs = Runs(
        chart(
            """
            initial: a
            states:
              a:
                job: { machine: m.yaml }
                defer: [ping]
                on: { go: b }
              b: { on: { ping: b } }
            """,
            m="states: { c: { entry: { send: { to: parent, event: ping, data: 1 } } } }",
        )
    )
    runs.submit()
    child = runs.child("a")
    kept = {"event": "ping", "data": 1, "from": "a", "sender": child, "send": 3}
    assert runs.said("event_kept") == [kept]
    # What `defer` has kept stays kept, although the job that sent it is cancelled.
    runs.send("go")
    replayed = runs.said("event_replayed")[0]
    assert {name: replayed[name] for name in kept} == kept
    assert runs.visited() == "+a -a +b -b +b"


def test_neither_done_nor_failed_nor_timers_are_kept() -> None:
    runs = Runs(
        chart(
            """
            states:
              a:
                initial: b
                defer: [x]
                timers: { late: 1h }
                states: { b: { job: { script: s.js } } }
            """
        )
    )
    runs.submit()
    runs.finish(output=1)
    runs.ring("late")
    assert [(each["event"], each["reason"]) for each in runs.said("event_dropped")] == [
        ("done", "no_rule"),
        ("late", "no_rule"),
    ]
