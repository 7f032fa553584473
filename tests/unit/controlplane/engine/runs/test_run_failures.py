"""What fails a run, and that the step is undone as a whole (`docs/spec/statechart.md` 3)."""

from __future__ import annotations

import pytest

from tests.support.charts import chart
from tests.support.runs import R, Runs


def failing(where: str) -> Runs:
    """A run in `w` that goes to `a`, where an expression reads what is not there."""
    bad = "${event.data.missing}"
    places = {
        "exit": (f"exit: {{ send: {{ to: parent, event: e, data: '{bad}' }} }}", "", ""),
        "send": ("", f", send: {{ to: parent, event: e, data: '{bad}' }}", ""),
        "entry": ("", "", f"entry: {{ send: {{ to: parent, event: e, data: '{bad}' }} }}"),
        "input": ("", "", f"job: {{ script: s.js, input: ['{bad}'] }}"),
        "jobs": ("", "", f"jobs: {{ j: {{ machine: m.yaml, input: {{ k: '{bad}' }} }} }}"),
        "key": ("", "", f"entry: {{ send: {{ to: {{ key: 'k{bad}' }}, event: e }} }}"),
        "inside": ("", "", f"states: {{ f: {{ end: done, output: '{bad}' }} }}"),
    }
    leaving, sending, entering = places[where]
    runs = Runs(
        chart(
            f"""
            initial: w
            states:
              w:
                job: {{ script: s.js }}
                ticket: t
                timers: {{ late: 1h }}
                {leaving}
                on: {{ x: {{ go: a{sending} }} }}
              a:
                {entering}
                timers: {{ more: 1h }}
            """,
            m="states: { b: {} }",
        )
    )
    runs.submit()
    return runs


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("exit", "states.w.exit[0].data"),
        ("send", "states.w.on.x[0].send[0].data"),
        ("entry", "states.a.entry[0].data"),
        ("input", "states.a.job.input"),
        ("jobs", "states.a.jobs.j.input"),
        ("key", "states.a.entry[0].to.key"),
        ("inside", "states.a.states.f.output"),
    ],
)
def test_an_expression_that_fails_undoes_the_whole_step(where: str, place: str) -> None:
    runs = failing(where)
    seq = runs.of().seq
    assert runs.send("x", {}) == "taken"
    assert runs.at() == "w failed"
    error = runs.error() or ""
    assert error.startswith(f"expression: {place}: ${{event.data.missing}}: ")
    assert runs.kinds(behind=seq) == "event_accepted task_cancelled failed"
    assert runs.visited() == "+w"
    assert (runs.open_tickets(), runs.timers(), runs.open_tasks) == ([], {}, [])


def test_a_run_that_cannot_enter_its_initial_state_fails_nowhere() -> None:
    runs = Runs(chart("states: { a: { job: { script: s.js, input: '${input.n}' } } }"))
    runs.submit()
    assert runs.at() == " failed"
    assert runs.kinds() == "started failed"
    assert (runs.part().output, runs.of().visits) == (None, {})


def test_what_earlier_steps_of_a_command_sent_goes_out_all_the_same() -> None:
    runs = Runs(
        chart(
            """
            initial: p
            states: { p: { job: { machine: m.yaml }, on: { a: [{}], failed: q } }, q: {} }
            """,
            m="""
            initial: a
            states:
              a: { on: { x: { go: b, send: { to: parent, event: a } } } }
              b: { initial: f, states: { f: { end: done } }, on: { done: { go: c } } }
              c: { entry: { send: { to: parent, event: never, data: "${1 / 0}" } } }
            """,
        )
    )
    runs.submit()
    child = runs.child("p")
    runs.send("x", run=child)
    assert runs.at(child) == "b/f failed"
    assert runs.said("event_accepted", of=R)[0]["event"] == "a"
    assert runs.at() == "q active"
    failed = runs.said("event_accepted", of=R)[1]
    assert failed["data"]["error"].startswith('machines["m.yaml"].states.c.entry[0]')
    assert failed["from"] == "p"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("x" * 1_048_575, "too_large"),
        ("é" * 524_288, "too_large"),
        ("x" * 1_048_574, None),
    ],
    ids=["ascii", "bytes", "fits"],
)
def test_a_value_over_the_limit_fails_the_run(given: str, code: str | None) -> None:
    runs = Runs(
        chart(
            "initial: a\nstates: { a: { on: { x: b } }, b: { job: { script: s.js, input: '${event.data}' } } }"
        )
    )
    runs.submit()
    runs.send("x", given)
    if code is None:
        assert runs.at() == "b active"
    else:
        assert runs.at() == "a failed"
        assert (runs.error() or "").startswith(f"{code}: states.b.job.input: the value has ")


def test_a_value_that_nests_too_deep_fails_the_run() -> None:
    data: object = 1
    for _ in range(64):
        data = [data]
    runs = Runs(
        chart(
            "initial: a\nstates: { a: { on: { x: b } }, b: { end: done, output: { o: '${event.data}' } } }"
        )
    )
    runs.submit()
    runs.send("x", data)
    assert (runs.error() or "").startswith("too_large: states.b.output: the value nests more")


def test_a_thousand_steps_in_one_command_and_no_more() -> None:
    loop = chart(
        """
        initial: w
        states:
          w: { on: { x: a } }
          a: { initial: f, states: { f: { end: done } }, on: { done: a } }
        """
    )
    runs = Runs(loop)
    runs.submit()
    assert runs.send("x") == "taken"
    assert (runs.at(), runs.error()) == ("a/f failed", "loop: more than 1000 steps in one command")
    assert len(runs.said("event_accepted")) == 1000


def test_steps_are_counted_for_each_run() -> None:
    runs = Runs(
        chart(
            """
            states:
              p:
                job: { machine: m.yaml }
                on: { pong: { send: { to: p, event: ping } }, go: { send: { to: p, event: ping } } }
            """,
            m="states: { a: { on: { ping: { send: { to: parent, event: pong } } } } }",
        )
    )
    runs.submit()
    runs.send("go")
    child = runs.child("p")
    assert runs.at(child) == "a cancelled"
    assert (runs.at(), runs.error()) == ("p failed", "loop: more than 1000 steps in one command")
    assert len(runs.said("event_accepted", of=child)) == 1000


def test_a_failed_final_inside_fails_the_run_when_nothing_takes_it() -> None:
    text = """
    states:
      a:
        initial: f
        states: { f: { end: failed, output: 3 } }
        RULE
    """
    runs = Runs(chart(text.replace("RULE", "")))
    runs.submit()
    assert (runs.at(), runs.error(), runs.output()) == ("a/f failed", "ended: ended in f", None)
    assert runs.said("failed") == [{"code": "ended", "reason": "ended in f"}]
    taken = Runs(chart(text.replace("RULE", "on: { failed: [{}] }")))
    taken.submit()
    assert taken.said("event_accepted") == [
        {
            "event": "failed",
            "data": {"status": "failed", "error": "ended in f", "output": 3},
            "from": "a",
            "state": "a",
        }
    ]


def test_a_top_level_final_that_ends_as_failed_keeps_its_output() -> None:
    runs = Runs(chart("states: { f: { end: failed, output: [1] } }"))
    runs.submit()
    assert (runs.at(), runs.error(), runs.output()) == ("f failed", "ended: ended in f", [1])
    assert runs.said("failed") == [{"code": "ended", "reason": "ended in f", "output": [1]}]
