"""Which states a transition leaves and enters, and in what order (`docs/spec/statechart.md` 4)."""

from __future__ import annotations

import pytest

from tests.support.charts import chart
from tests.support.runs import Runs

TREE = chart(
    """
    initial: a
    states:
      a:
        initial: b
        on: { to_a: a, to_c: c, to_x: x, to_b: b }
        states:
          b:
            initial: c
            on: { own: b, inside: d, around: a, sibling: e, away: x }
            states:
              c: { on: { down: d, own_c: c, up_b: b, up_a: a, over: e, out: y } }
              d: { on: { back: c } }
          e: { on: { home: c } }
      x:
        initial: y
        states:
          y: { on: { home: d } }
    """
)


@pytest.mark.parametrize(
    ("events", "visited", "path"),
    [
        ("", "+a +b +c", "a/b/c"),
        # A target inside the rule's state: that stays, all inside it is left.
        ("inside", "-c +d", "a/b/d"),
        ("down", "-c +d", "a/b/d"),
        ("to_c", "-c -b +b +c", "a/b/c"),
        ("to_b", "-c -b +b +c", "a/b/c"),
        # The own state, one around it, one elsewhere: what encloses both and is neither stays.
        ("own_c", "-c +c", "a/b/c"),
        ("own", "-c -b +b +c", "a/b/c"),
        ("up_b", "-c -b +b +c", "a/b/c"),
        ("around", "-c -b -a +a +b +c", "a/b/c"),
        ("up_a", "-c -b -a +a +b +c", "a/b/c"),
        ("to_a", "-c -b -a +a +b +c", "a/b/c"),
        ("sibling", "-c -b +e", "a/e"),
        ("over", "-c -b +e", "a/e"),
        ("away", "-c -b -a +x +y", "x/y"),
        ("out", "-c -b -a +x +y", "x/y"),
        ("over home", "-c -b +e -e +b +c", "a/b/c"),
        ("out home", "-c -b -a +x +y -y -x +a +b +d", "a/b/d"),
    ],
)
def test_what_is_left_and_entered(events: str, visited: str, path: str) -> None:
    runs = Runs(TREE)
    runs.submit()
    for event in events.split():
        assert runs.send(event) == "taken"
    assert runs.visited() == "+a +b +c " * bool(events) + visited
    assert runs.at() == f"{path} active"


def test_a_visit_counts_the_entries_of_a_state() -> None:
    runs = Runs(TREE)
    runs.submit()
    for event in ("own_c", "own_c", "own"):
        runs.send(event)
    assert runs.of().visits == {"a": 1, "b": 2, "c": 4}
    assert runs.of().configuration == (("a", 1), ("b", 2), ("c", 4))


ORDER = chart(
    """
    initial: a
    states:
      a:
        initial: b
        entry: { send: { to: parent, event: a_in } }
        exit: { send: { to: parent, event: a_out } }
        timers: { at: 1h }
        ticket: ta
        states:
          b:
            jobs: { one: { script: s.js }, two: { script: s.js } }
            entry: { send: { to: parent, event: b_in } }
            exit: { send: { to: parent, event: b_out } }
            timers: { first: 1h, second: 2h }
            ticket: tb
            on: { go: { go: x, send: [{ to: parent, event: one }, { to: parent, event: two }] } }
      x:
        initial: y
        entry: { send: { to: parent, event: x_in } }
        states: { y: { job: { script: s.js } } }
    """
)


def test_the_ledger_has_the_order_of_a_step() -> None:
    runs = Runs(ORDER)
    runs.submit()
    assert [data.get("state") or data.get("event") for _, data in runs.told()[1:]] == ["a"] * 4 + [
        "b"
    ] * 7
    assert runs.kinds(behind=1) == (
        "entered timer_set ticket_issued sent "
        "entered timer_set timer_set ticket_issued sent task_queued task_queued"
    )
    seq = runs.of().seq
    runs.send("go")
    assert [
        (kind, data.get("event") or data.get("state") or data.get("task"))
        for kind, data in runs.told(behind=seq)
    ] == [
        ("event_accepted", "go"),
        ("sent", "b_out"),
        ("task_cancelled", 1),
        ("task_cancelled", 2),
        ("left", "b"),
        ("sent", "a_out"),
        ("left", "a"),
        ("sent", "one"),
        ("sent", "two"),
        ("entered", "x"),
        ("sent", "x_in"),
        ("entered", "y"),
        ("task_queued", "y"),
    ]
    assert runs.timers() == {}
    assert runs.open_tickets() == []


def test_without_a_target_nothing_is_left() -> None:
    runs = Runs(
        chart(
            """
            states:
              a:
                ticket: t
                timers: { late: 1h }
                job: { script: s.js }
                on: { ping: { send: { to: parent, event: pong } }, hush: [{}] }
            """
        )
    )
    runs.submit()
    before = runs.timers(), runs.open_tickets(), runs.open_tasks
    seq = runs.of().seq
    assert [runs.send("ping"), runs.send("hush")] == ["taken", "taken"]
    assert runs.kinds(behind=seq) == "event_accepted sent event_accepted"
    assert (runs.timers(), runs.open_tickets(), runs.open_tasks) == before


def test_a_final_inside_ends_the_state_around_it_and_a_top_level_one_the_run() -> None:
    runs = Runs(
        chart(
            """
            initial: a
            states:
              a:
                initial: b
                on: { done: over }
                states:
                  b: { on: { go: f } }
                  f: { end: done, output: "${event.data}" }
              over: { end: done, output: { was: "${event}", a: "${states.a.output}" } }
            """
        )
    )
    runs.submit()
    runs.send("go", 7)
    assert runs.at() == "over completed"
    assert runs.output() == {"was": {"name": "done", "data": 7, "from": "a"}, "a": 7}
    assert runs.outputs() == {"a": 7, "f": 7}
    assert runs.visited() == "+a +b -b +f -f -a +over"


def test_a_done_that_nothing_takes_is_dropped_and_the_run_stays_in_the_final() -> None:
    runs = Runs(
        chart(
            """
            states:
              a:
                initial: f
                states: { f: { end: done, output: 1 } }
                on: { again: a }
            """
        )
    )
    runs.submit()
    assert runs.at() == "a/f active"
    assert runs.said("event_dropped") == [
        {"event": "done", "data": 1, "from": "a", "reason": "no_rule"}
    ]
    runs.send("again")
    assert runs.visited() == "+a +f -f -a +a +f"


def test_a_final_may_be_the_initial_state() -> None:
    runs = Runs(chart("states: { f: { end: done, output: '${input.n}' } }"))
    runs.submit({"n": 3})
    assert (runs.at(), runs.output()) == ("f completed", 3)
    assert runs.kinds() == "started entered completed"
