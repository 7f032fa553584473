"""Reading a chart's document: what only the normal form can get wrong, and what it becomes."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from stateous.errors import GraphError, InvalidDefinition
from stateous.graph.document import GraphDocument
from stateous.graph.documents import read_document
from stateous.statechart.document import (
    ChartDocument,
    Child,
    Computed,
    FinalSpec,
    Inside,
    NamedJobs,
    OneJob,
    Routine,
    Script,
    StateSpec,
    ToChild,
    ToKey,
    ToMachine,
    ToParent,
    Waits,
)
from stateous.statechart.facts import MOST_FINDINGS
from stateous.statechart.reading import read_chart
from stateous.statechart.times import Clock, Length

CHART: dict[str, Any] = {
    "stateous": 1,
    "statechart": "c",
    "input": {"n": "integer", "note": "string?"},
    "events": {"ping": {}, "sized": {"type": "object"}},
    "initial": "a",
    "states": {
        "a": {
            "initial": "p",
            "states": {
                "p": {
                    "jobs": [
                        {"job": "one", "script": "s.js", "retries": 2, "timeout": "1h"},
                        {"job": "two", "machine": "m.yaml", "input": {"n": "${input.n}"}},
                    ],
                    "entry": [
                        {"to": "two", "event": "hello"},
                        {"to": "parent", "event": "ping", "data": ["${tickets.t}"]},
                    ],
                    "exit": [
                        {"to": {"key": "k"}, "event": "ping"},
                        {"to": {"machine": ".", "key": "k-${run.id}"}, "event": "ping"},
                    ],
                    "on": {"done": [{"go": "q", "when": "input.n > 1"}, {}]},
                },
                "q": {"end": "failed", "output": {"x": "${event.data}"}},
            },
            "ticket": "t",
            "timers": [
                {"timer": "t1", "text": "90s", "after": 90},
                {"timer": "t2", "text": "mon 09:00", "at": "09:00", "day": "mon", "zone": "UTC"},
                {"timer": "t3", "text": "${event.data}", "from": "event.data"},
            ],
            "defer": ["sized"],
        },
        "b": {"job": {"routine": "price"}},
        "c": {},
    },
    "scripts": {"s.js": "return 1\n"},
    "machines": {"m.yaml": {"statechart": "m", "initial": "x", "states": {"x": {}}}},
}

Change = Callable[[dict[str, Any]], None]


def changed(change: Change) -> dict[str, Any]:
    raw = deepcopy(CHART)
    change(raw)
    return raw


def put(*path: Any, value: Any) -> Change:
    def change(raw: Any) -> None:
        *steps, last = path
        for step in steps:
            raw = raw[step]
        raw[last] = value

    return change


def drop(*path: Any) -> Change:
    def change(raw: Any) -> None:
        *steps, last = path
        for step in steps:
            raw = raw[step]
        del raw[last]

    return change


P = ("states", "a", "states", "p")
TIMERS = ("states", "a", "timers")


def test_a_document_becomes_values() -> None:
    chart = read_chart(CHART)
    top = chart.top
    assert (chart.name, list(chart.machines), chart.scripts) == (
        "c",
        [".", "m.yaml"],
        {"s.js": "return 1\n"},
    )
    assert top.input is not None
    assert [(i.name, i.type, i.optional) for i in top.input.values()] == [
        ("n", "integer", False),
        ("note", "string", True),
    ]
    assert top.events == {"ping": {}, "sized": {"type": "object"}}
    assert list(top.every_state) == ["a", "p", "q", "b", "c"]
    assert top.around == {"a": None, "p": "a", "q": "a", "b": None, "c": None}
    a, p, q = (top.every_state[name] for name in "apq")
    assert isinstance(a, StateSpec)
    assert isinstance(p, StateSpec)
    assert isinstance(a.work, Inside)
    assert (a.work.initial, list(a.states)) == ("p", ["p", "q"])
    assert (a.ticket, a.defer) == ("t", ("sized",))
    assert [timer.time for timer in a.timers] == [
        Length(90),
        Clock(9, 0, "UTC", "mon"),
        Computed("event.data"),
    ]
    assert isinstance(p.work, NamedJobs)
    assert [(job.name, job.does, job.input, job.retries, job.timeout) for job in p.jobs] == [
        ("one", Script("s.js"), None, 2, 3600),
        ("two", Child("m.yaml"), {"n": "${input.n}"}, 0, 300),
    ]
    assert [(send.to, send.event, send.data) for send in (*p.entry, *p.exit)] == [
        (ToChild("two"), "hello", None),
        (ToParent(), "ping", ["${tickets.t}"]),
        (ToKey("k"), "ping", None),
        (ToMachine(".", "k-${run.id}"), "ping", None),
    ]
    assert [(rule.go, rule.when, rule.sends) for rule in p.on["done"]] == [
        ("q", "input.n > 1", ()),
        (None, None, ()),
    ]
    assert q == FinalSpec("q", (*P[:3], "q"), "failed", {"x": "${event.data}"})
    b, c = top.every_state["b"], top.every_state["c"]
    assert isinstance(b, StateSpec)
    assert isinstance(b.work, OneJob)
    assert (b.work.job.name, b.work.job.does) == ("b", Routine("price"))
    assert isinstance(c, StateSpec)
    assert c.work == Waits()


@pytest.mark.parametrize(
    ("change", "code", "where"),
    [
        (put("stateous", value=2), "bad-value", "stateous"),
        (drop("stateous"), "bad-value", ""),
        (drop("scripts"), "bad-value", ""),
        (drop("machines"), "bad-value", ""),
        (drop("statechart"), "bad-value", ""),
        (put("version", value=1), "unknown-field", "version"),
        (drop("initial"), "missing-initial", ""),
        (
            put("machines", "m.yaml", "stateous", value=1),
            "unknown-field",
            'machines["m.yaml"].stateous',
        ),
        (drop("machines", "m.yaml", "initial"), "missing-initial", 'machines["m.yaml"]'),
        (put("machines", ".", value={}), "bad-value", 'machines["."]'),
        (
            put("machines", "#n", value={"statechart": "m2", "initial": "x", "states": {"x": {}}}),
            "bad-value",
            'machines["#n"]',
        ),
        (
            put(
                "machines", "n.yaml", value={"statechart": "m", "initial": "y", "states": {"y": {}}}
            ),
            "duplicate-machine",
            'machines["n.yaml"].statechart',
        ),
        (drop("scripts", "s.js"), "file-not-found", "states.a.states.p.jobs.one.script"),
        (put("scripts", "s.js", value=5), "bad-value", 'scripts["s.js"]'),
        (put("scripts", "s.js", value="/" * 262_145), "too-large", 'scripts["s.js"]'),
        (put("scripts", "/etc/x.js", value=""), "file-not-found", 'scripts["/etc/x.js"]'),
        (put(*TIMERS, 0, "after", value=91), "bad-value", "states.a.timers.t1"),
        (put(*TIMERS, 0, "after", value=True), "bad-value", "states.a.timers.t1"),
        (drop(*TIMERS, 0, "after"), "bad-value", "states.a.timers.t1"),
        (put(*TIMERS, 0, "zone", value="UTC"), "bad-value", "states.a.timers.t1"),
        (put(*TIMERS, 0, "every", value=1), "unknown-field", "states.a.timers.t1.every"),
        (drop(*TIMERS, 1, "zone"), "bad-value", "states.a.timers.t2"),
        (put(*TIMERS, 2, "from", value="event.name"), "bad-value", "states.a.timers.t3"),
        (put(*TIMERS, 1, "timer", value="t1"), "name-conflict", "states.a.timers.t1"),
        (put(*TIMERS, value={"t": "1h"}), "bad-value", "states.a.timers"),
        (put(*TIMERS, value=[]), "bad-value", "states.a.timers"),
        (put("states", "a", "defer", value=[]), "bad-value", "states.a.defer"),
        (put("states", "a", "on", value={}), "bad-value", "states.a.on"),
        (put("states", "c", "on", value={"ping": []}), "bad-value", "states.c.on.ping"),
        (put("states", "c", "on", value={"ping": "b"}), "bad-value", "states.c.on.ping"),
        (put("states", "c", "on", value={"ping": ["b"]}), "bad-value", "states.c.on.ping[0]"),
        (
            put("states", "c", "on", value={"ping": [{"send": []}]}),
            "bad-value",
            "states.c.on.ping[0].send",
        ),
        (put(*P, "entry", value={"send": []}), "bad-value", "states.a.states.p.entry"),
        (put(*P, "jobs", value=[]), "empty-jobs", "states.a.states.p.jobs"),
        (put(*P, "jobs", 0, "job", value="two"), "name-conflict", "states.a.states.p.jobs.two"),
        (drop(*P, "jobs", 0, "job"), "bad-value", "states.a.states.p.jobs[0]"),
        (put("states", "b", "job", "allow", value=[]), "bad-job", "states.b.job.allow"),
        (put("states", "b", "job", "script", value={"in": "place"}), "bad-job", "states.b.job"),
        (
            put(*P, "on", "done", 0, "when", value="${input.n > 1}"),
            "expression",
            "states.a.states.p.on.done[0].when",
        ),
    ],
)
def test_what_only_a_document_can_get_wrong(change: Change, code: str, where: str) -> None:
    with pytest.raises(InvalidDefinition) as caught:
        read_chart(changed(change))
    assert (code, where) in {(problem.code, problem.where) for problem in caught.value.problems}


@pytest.mark.parametrize(
    "change",
    [
        put("machines", "m.yaml", "input", value={}),
        put("events", value={"ping": None, "sized": True}),
        put("states", "c", "on", value={"ping": [{}]}),
        put(*P, "on", "done", 0, "go", value="b"),
        put("states", "a", "states", "q", "output", value=None),
        put(
            "machines",
            "unused.yaml",
            value={"statechart": "u", "initial": "x", "states": {"x": {}}},
        ),
        put("scripts", "unused.js", value="this is not JavaScript"),
        put("states", "b", "job", value={"machine": "."}),
    ],
)
def test_what_a_document_may_say(change: Change) -> None:
    raw = changed(change)
    raw["states"]["a"]["defer"] = ["sized"]
    assert read_chart(raw).raw is raw


def test_the_error_tells_the_chart_and_every_problem() -> None:
    with pytest.raises(InvalidDefinition) as caught:
        read_chart(changed(drop("scripts", "s.js")))
    error = caught.value
    assert error.code == "invalid_definition"
    assert str(error) == (
        "statechart 'c' is not valid:\n"
        "  - states.a.states.p.jobs.one.script: the script 's.js' is not there"
    )


def test_problems_are_counted_when_there_are_too_many() -> None:
    raw = changed(put("input", value={f"n{number}": 5 for number in range(MOST_FINDINGS + 3)}))
    with pytest.raises(InvalidDefinition) as caught:
        read_chart(raw)
    assert len(caught.value.problems) == MOST_FINDINGS + 1
    assert caught.value.problems[-1].code == "too-large"


def test_a_document_that_nests_too_deep_is_only_that() -> None:
    value: Any = []
    for _ in range(70):
        value = [value]
    with pytest.raises(InvalidDefinition) as caught:
        read_chart(changed(put("states", "a", "states", "q", "output", value=value)))
    assert [(problem.code, problem.where) for problem in caught.value.problems] == [
        ("too-large", "")
    ]


def test_a_document_has_four_mebibytes_at_most() -> None:
    scripts = {f"{number}.js": "/" * 200_000 for number in range(21)} | {"s.js": ""}
    with pytest.raises(InvalidDefinition) as caught:
        read_chart(changed(put("scripts", value=scripts)))
    assert [problem.code for problem in caught.value.problems] == ["too-large"]


def test_one_door_reads_documents_of_both_kinds() -> None:
    chart = read_document(json.dumps(CHART).encode())
    assert isinstance(chart, ChartDocument)
    flow = {
        "stateous": 1,
        "workflow": "w",
        "states": {"s": {"emits": []}},
        "events": {},
        "transitions": [{"from": "__start__", "to": "s"}],
        "schemas": {},
    }
    assert isinstance(read_document(json.dumps(flow).encode()), GraphDocument)
    for data in (b"{", b"[]", b"{}"):
        with pytest.raises(GraphError):
            read_document(data)
