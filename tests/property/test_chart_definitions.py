"""Definitions of charts: nothing but problems comes of what is wrong, and the schema agrees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from stateous.graph.documents import read_document
from stateous.statechart import fields
from stateous.statechart.reading import examine
from stateous_compiler.errors import InvalidChart
from stateous_compiler.statechart.compile import check_tree
from stateous_compiler.statechart.gathering import Gathering
from stateous_compiler.statechart.nodes import Items, Leaf, Member, Members, Node, Place, plain
from stateous_compiler.statechart.yaml_reader import read_yaml
from stateous_compiler.statechart.yaml_schema import yaml_schema

SCHEMA = Draft202012Validator(yaml_schema())

#: What the schema says too: a chart with one of these is refused by both.
SAID_BY_BOTH = {
    *("unknown-field", "bad-type", "no-states", "missing-initial", "bad-combination"),
    *("final-fields", "bad-end", "empty-jobs", "unsupported-grant", "bad-send", "bad-name"),
    *("when-not-expression", "bad-value", "bad-job", "reserved-event"),
}

NAMES = st.sampled_from(
    ["a", "b", "done", "failed", "start", "timer", "parent", "t", "x y", "7", ""]
)
TEXTS = st.sampled_from(
    [
        *(
            "a",
            "b",
            "parent",
            "done",
            "failed",
            "none",
            "x y",
            "",
            "s.js",
            "m.yaml",
            ".",
            "#c",
            "/x",
        ),
        *(
            "48h",
            "18:00",
            "mon 09:00 Europe/London",
            "soon",
            "24:00",
            "5m",
            "9d9d",
            "09:00 Nowhere",
        ),
        *(
            "${true}",
            "${event.data}",
            "${",
            "${x.y}",
            "a ${input.n} b",
            "$${x}",
            " ${true}",
            "${1}}",
        ),
        *("string", "integer?", "text", "c", "C"),
    ]
)
SCALARS = st.one_of(
    TEXTS, st.none(), st.booleans(), st.integers(-2, 90), st.sampled_from([0.5, 1e300])
)
WORDS = sorted(
    {
        *(*fields.CHART, *fields.STATE, *fields.FINAL, *fields.JOB, *fields.TRANSITION),
        *(*fields.SEND, *fields.TO, *fields.TIMER, *fields.DOCUMENT),
    }
)
KEYS = st.one_of(st.sampled_from(WORDS), NAMES)
ANYTHING = st.recursive(
    SCALARS,
    lambda inside: st.one_of(
        st.lists(inside, max_size=3), st.dictionaries(KEYS, inside, max_size=4)
    ),
    max_leaves=12,
)

VALID: dict[str, Any] = {
    "statechart": "c",
    "input": {"n": "integer?"},
    "events": {"ping": {}, "pong": None, "order": {"type": "object"}},
    "initial": "a",
    "states": {
        "a": {
            "ticket": "t",
            "timers": {"soon": "90s", "later": "mon 09:00 Europe/London", "given": "${input.n}"},
            "defer": ["order"],
            "entry": {"send": {"to": "parent", "event": "ping", "data": ["${tickets.t}"]}},
            "on": {
                "t": [{"go": "b", "when": "${event.data.ok}"}, "a"],
                "soon": "b",
                "ping": {"send": [{"to": {"key": "k ${run.id}"}, "event": "pong"}]},
            },
        },
        "b": {
            "initial": "p",
            "states": {
                "p": {
                    "jobs": {
                        "one": {"routine": "price", "retries": 2, "timeout": "1h"},
                        "two": {"machine": {"statechart": "m", "states": {"only": {}}}},
                    },
                    "on": {"done": {"go": "q"}},
                },
                "q": {"end": "done", "output": {"was": "${states.p.output}"}},
            },
            "exit": {
                "send": {
                    "to": {
                        "machine": {"statechart": "o", "states": {"o1": {"end": "done"}}},
                        "key": "k",
                    },
                    "event": "ping",
                }
            },
        },
        "c": {"job": {"routine": "last", "input": "${input.n}"}, "on": {"failed": "z"}},
        "z": {"end": "failed"},
    },
}


#: What is put in the place of every value of the chart above, one at a time.
EDGES: list[Any] = [
    *(None, True, -1, 0.5, "", "a", "x y", "done", "${true}", "18:00"),
    *([], ["a"], [None], {}, {"a": None}, {"script": "s.js"}),
]
#: Values that are right where the field is.
RIGHT: dict[str, Any] = {"retries": 1, "timeout": "1h", "allow": ["none"], "end": "done"}


def positions(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside ``value``."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for step, member in members:
        yield (*path, step)
        if isinstance(member, dict | list):
            yield from positions(member, (*path, step))


def part_at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def node_of(value: Any) -> Node:
    place = Place("chart.yaml", 1)
    match value:
        case dict():
            return Members(
                place, {key: Member(place, node_of(each)) for key, each in value.items()}
            )
        case list():
            return Items(place, tuple(node_of(each) for each in value))
        case _:
            return Leaf(place, value)


def codes_of(chart: Any) -> set[str]:
    """The codes that the chart is refused with; none when it compiles."""
    source = node_of(chart)
    assert isinstance(source, Members)
    try:
        checked = check_tree(source, Gathering(Path("nowhere/chart.yaml")))
    except InvalidChart as error:
        return {problem.code for problem in error.problems}
    assert read_document(checked.text.encode()).checksum == checked.document.checksum
    return set()


def disagreement(chart: Any) -> set[str]:
    """The codes of what only one of both refuses; the schema's have none."""
    codes = codes_of(chart)
    if SCHEMA.is_valid(chart):
        return codes & SAID_BY_BOTH
    return set() if codes else {"the schema alone"}


def test_the_valid_chart_is_valid_for_both() -> None:
    assert codes_of(VALID) == set()
    assert SCHEMA.is_valid(VALID)


@pytest.mark.parametrize("edge", EDGES, ids=repr)
def test_schema_and_reader_agree_about_every_value_in_every_place(edge: Any) -> None:
    for path in positions(VALID):
        chart = deepcopy(VALID)
        part_at(chart, path[:-1])[path[-1]] = deepcopy(edge)
        assert not disagreement(chart), path


def test_schema_and_reader_agree_about_what_may_be_left_out() -> None:
    for path in positions(VALID):
        chart = deepcopy(VALID)
        del part_at(chart, path[:-1])[path[-1]]
        assert not disagreement(chart), path


@pytest.mark.parametrize("word", WORDS)
def test_schema_and_reader_agree_about_every_field_in_every_place(word: str) -> None:
    for path in ((), *positions(VALID)):
        chart = deepcopy(VALID)
        part = part_at(chart, path)
        if isinstance(part, dict) and word not in part:
            part[word] = RIGHT.get(word, "a")
            assert not disagreement(chart), path


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.tuples(st.sampled_from(list(positions(VALID))), ANYTHING), max_size=3))
def test_schema_and_reader_agree_about_several_changes(changes: list[Any]) -> None:
    chart = deepcopy(VALID)
    for (*steps, last), value in changes:
        # An earlier change may have taken the place away.
        with suppress(KeyError, IndexError, TypeError):
            part = part_at(chart, tuple(steps))
            if isinstance(part, dict) == isinstance(last, str):
                part[last] = deepcopy(value)
    assert not disagreement(chart)


@settings(max_examples=200, deadline=None)
@given(ANYTHING)
def test_any_document_is_read_or_has_problems(raw: Any) -> None:
    assert examine(raw).findings


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *("a", "b: ", "- ", "\n", "\n  ", "{", "}", "[", "]", ", ", ": ", "? ", "| ", "> "),
                *("&x ", "*x", "!!str ", "<<: ", "'", '"', "#", "%YAML 1.1\n", "---\n", "...\n"),
                *(
                    "\t",
                    "\\x",
                    "\\ud800",
                    "\x85",
                    "\x07",
                    "é",
                    "0x1F",
                    ".inf",
                    "1e999",
                    "~",
                    "@",
                    "`",
                ),
                *("statechart: c\n", "states: ", "on: 18:00", '"\\U00110000"', "\r\n", "\ufeff"),
            ]
        ),
        max_size=30,
    ).map("".join)
)
def test_any_text_is_a_tree_or_has_problems(text: str) -> None:
    tree, problems = read_yaml(text, "chart.yaml")
    assert tree is not None or problems
    if tree is not None:
        plain(tree)
