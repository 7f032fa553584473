"""Which rule takes an event (`docs/spec/statechart.md` 5.2, 12)."""

from __future__ import annotations

import pytest

from tests.support.charts import chart
from tests.support.runs import Runs

RULES = chart(
    """
    initial: outer
    states:
      outer:
        initial: inner
        on:
          both: { send: { to: parent, event: outer } }
          number: { send: { to: parent, event: outer } }
        states:
          inner:
            on:
              both: { send: { to: parent, event: inner } }
              number:
                - { when: "${event.data > 9}", send: { to: parent, event: large } }
                - { when: "${event.data > 4}", send: { to: parent, event: middle } }
                - { when: "${event.data < 0}", send: { to: parent, event: negative } }
    """
)


@pytest.mark.parametrize(
    ("event", "data", "taken_by"),
    [
        ("both", None, "inner"),
        ("number", 10, "large"),
        ("number", 5, "middle"),
        ("number", -1, "negative"),
        ("number", 1, "outer"),
    ],
)
def test_from_the_leaf_outward_the_first_that_holds(event: str, data: int, taken_by: str) -> None:
    runs = Runs(RULES)
    runs.submit()
    assert runs.send(event, data) == "taken"
    assert [each["event"] for each in runs.said("sent")] == [taken_by]
    assert runs.said("note") == []


def test_a_condition_that_fails_or_is_no_boolean_counts_as_false_and_is_noted() -> None:
    runs = Runs(
        chart(
            """
            states:
              a:
                on:
                  x:
                    - { when: "${event.data.missing}", go: a }
                    - { when: "${event.data.n}", go: a }
                    - { when: "${event.data.n > 1}" }
                    - { when: "${1 / 0 == 1}" }
            """
        )
    )
    runs.submit()
    assert runs.send("x", {"n": 5}) == "taken"
    notes = runs.said("note")
    assert [(each["about"], each["state"], each["event"]) for each in notes] == [
        ("condition", "a", "x")
    ] * 2
    assert [each["transition"] for each in notes] == [0, 1]
    assert "missing" in notes[0]["text"]
    assert "5 is neither true nor false" in notes[1]["text"]
    assert runs.kinds(behind=2) == "note note event_accepted"
    assert runs.send("x", {"n": 0}) == "dropped"
    assert [each["transition"] for each in runs.said("note")[2:]] == [0, 1, 3]


KINDS = chart(
    """
    initial: a
    states:
      a:
        initial: b
        ticket: t
        on: { late: { send: { to: parent, event: outer } }, t: { send: { to: parent, event: t } } }
        states:
          b:
            timers: { late: 1h }
            on:
              late: { when: "${event.data != null}" }
              t: { when: "${event.data == 'inner'}", send: { to: parent, event: inner } }
              move: c
          c: { on: { late: { send: { to: parent, event: c } } } }
      d: { on: { late: d } }
    """
)


@pytest.mark.parametrize("event", ["late", "t"])
def test_rules_of_timers_and_tickets_take_nothing_else(event: str) -> None:
    runs = Runs(KINDS)
    runs.submit()
    assert runs.send(event, 1) == "dropped"
    assert runs.said("event_dropped")[0]["reason"] == "no_rule"


def test_a_timers_rule_is_one_where_its_state_is_around_or_inside() -> None:
    runs = Runs(KINDS)
    runs.submit()
    runs.ring("late")
    assert [each["event"] for each in runs.said("sent")] == ["outer"]
    runs.send("move")
    # In `c` no timer of that name can be heard: the name is free there.
    assert runs.send("late") == "taken"
    assert [each["event"] for each in runs.said("sent")] == ["outer", "c"]


def test_a_tickets_rule_may_stand_in_any_active_state() -> None:
    runs = Runs(KINDS)
    runs.submit()
    assert runs.answer("t", "inner") == "taken"
    assert [(each["event"], each["state"]) for each in runs.said("sent")] == [("inner", "b")]


def test_the_accepted_event_tells_the_rule_and_where_it_goes() -> None:
    runs = Runs(RULES)
    runs.submit()
    runs.send("number", 1)
    assert runs.said("event_accepted") == [
        {"event": "number", "data": 1, "from": "client", "state": "outer"}
    ]


SCOPE = chart(
    """
    input: { n: number }
    initial: work
    states:
      work:
        job: { script: s.js, input: { n: "${input.n}", run: "${run.id}", key: "${run.key}" } }
        on: { done: { go: tell, send: { to: parent, event: x, data: "${event}" } } }
      tell:
        initial: inner
        ticket: outer_t
        states:
          inner:
            ticket: inner_t
            timers: { after: "${has(tickets.outer_t) ? '2h' : '1h'}" }
            entry:
              send:
                to: parent
                event: all
                data:
                  last: "${states.work.output}"
                  none: "${states.tell.output}"
                  tickets: "${[tickets.outer_t, tickets.inner_t]}"
                  event: "${event.name} from ${event.from}"
            on: { end: { go: over, when: "${tickets.inner_t != tickets.outer_t}" } }
      over: { end: done, output: "${event.data}" }
    """
)


def test_what_expressions_read() -> None:
    runs = Runs(SCOPE)
    runs.submit({"n": 2}, key="k")
    task = runs.task
    assert task.job is not None
    assert task.job.input.value == {"n": 2, "run": "run-1", "key": "k"}
    runs.finish(output={"a": 1})
    sent = runs.said("sent")
    assert sent[0]["data"] == {"name": "done", "data": {"a": 1}, "from": "work"}
    values = [runs.value("outer_t"), runs.value("inner_t")]
    assert sent[1]["data"] == {
        "last": {"a": 1},
        "none": None,
        "tickets": values,
        "event": "done from work",
    }
    assert runs.timers().keys() == {"after"}
    assert [each["text"] for each in runs.said("timer_set")] == ["2h"]
    runs.send("end", [1])
    assert runs.output() == [1]


def test_the_start_event_is_the_input_and_who_started() -> None:
    runs = Runs(chart("states: { f: { end: done, output: '${event}' } }"))
    runs.submit({"a": 1})
    assert runs.output() == {"name": "start", "data": {"a": 1}, "from": "client"}


def test_an_answered_ticket_can_still_be_read() -> None:
    runs = Runs(
        chart(
            """
            states:
              a:
                ticket: t
                on: { t: [{}], x: { send: { to: parent, event: y, data: "${tickets.t}" } } }
            """
        )
    )
    runs.submit()
    runs.answer("t")
    runs.send("x")
    assert runs.said("sent")[0]["data"] == runs.value("t")
