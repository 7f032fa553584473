"""Diagrams: what they show, and that nothing in a document can break out of its place in the text.

The texts are read back with a strict grammar of the part of Mermaid that is written. Mermaid's own
parser (11.17) has read the same cases once, by hand; it needs a JavaScript engine.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stateous.errors import GraphError
from stateous.graph.diagram import diagram_text
from stateous.graph.reading import check_graph

CASES = Path(__file__).parents[2] / "conformance" / "data" / "compile"
_ID = r"[a-z][a-z0-9_]*"
_LABEL = r"[^:;{}\n\"\\`*]"
_ENTITY = re.compile(r"#(\d+);")


@dataclass
class Region:
    """What stands between the braces of a composite, or in the whole."""

    states: dict[str, str] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)
    inside: dict[str, list[Region]] = field(default_factory=dict)


def read_back(text: str) -> Region:
    lines = text.removesuffix("\n").split("\n")
    assert lines[:2] == ["stateDiagram-v2", "    direction LR"]
    top = Region()
    open_regions = [top]
    for line in lines[2:]:
        body = line.lstrip(" ")
        depth = len(open_regions) - (body == "}")
        assert line == "    " * depth + body
        here = open_regions[-1]
        if body == "}":
            open_regions.pop()
            assert open_regions
        elif body == "--":
            open_regions[-1] = Region()
            list(open_regions[-2].inside.values())[-1].append(open_regions[-1])
        elif found := re.fullmatch(rf'(?:state "([^"]+)" as )?({_ID})', body):
            assert found[2] not in here.states
            here.states[found[2]] = found[1] or found[2]
        elif found := re.fullmatch(rf'state (?:"([^"]+)" as )?({_ID}) {{', body):
            here.states[found[2]] = found[1] or found[2]
            here.inside[found[2]] = [Region()]
            open_regions.append(here.inside[found[2]][0])
        else:
            plain = _ENTITY.sub("§", body)
            found = re.fullmatch(
                rf"(\[\*\]|{_ID}) --> (\[\*\]|{_ID})(?:: ((?:{_LABEL}|\*(?=\]))+))?", plain
            )
            assert found, body
            label = body.partition(": ")[2]
            here.edges.append(
                (found[1], found[2], _ENTITY.sub(lambda match: chr(int(match[1])), label))
            )
    assert open_regions == [top]
    _every_edge_joins_states_of_its_region(top)
    return top


def _every_edge_joins_states_of_its_region(region: Region) -> None:
    for source, target, _ in region.edges:
        assert {source, target} <= {*region.states, "[*]"}
    for regions in region.inside.values():
        for inner in regions:
            _every_edge_joins_states_of_its_region(inner)


def all_ids(region: Region) -> list[str]:
    inner = [part for parts in region.inside.values() for part in parts]
    return [*region.states, *(own for part in inner for own in all_ids(part))]


def graph(states: dict[str, Any], transitions: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "stateous": 1,
        "workflow": "flow",
        "states": states,
        "events": {"e": {}},
        "transitions": transitions,
        "schemas": {},
        **more,
    }


def drawn(document: dict[str, Any]) -> Region:
    return read_back(diagram_text(check_graph(document)))


def guarded(when: str) -> str:
    """The label of a transition with this guard, as a reader of the picture sees it."""
    document = graph(
        {"a": {"emits": ["e"]}},
        [
            {"from": "__start__", "to": "a"},
            {"from": "a", "to": "__end__", "on": "e", "when": when},
        ],
    )
    return drawn(document).edges[1][2]


def test_a_flow_with_children_is_drawn_like_this() -> None:
    document = check_graph(json.loads((CASES / "parallel-all-any" / "expected.json").read_bytes()))
    text = diagram_text(document)
    assert text.splitlines()[:18] == [
        "stateDiagram-v2",
        "    direction LR",
        "    state checks {",
        '        state "chef-check" as checks__chef_check {',
        '            state "taste" as checks__chef_check__taste',
        '            state "tasty" as checks__chef_check__tasty',
        "            [*] --> checks__chef_check__taste",
        "            checks__chef_check__taste --> checks__chef_check__tasty: yes",
        "            checks__chef_check__taste --> [*]: no",
        "            checks__chef_check__tasty --> [*]: seen",
        "        }",
        "        --",
        '        state "price-check" as checks__price_check {',
        '            state "ask" as checks__price_check__ask',
        "            [*] --> checks__price_check__ask",
        "            checks__price_check__ask --> [*]: quoted",
        "            checks__price_check__ask --> [*]: (timeout)",
        "        }",
    ]
    assert text.splitlines()[-7:] == [
        "    checks --> serve: (joined) [branches.all(status == 'completed') and "
        "branches.any(workflow == 'chef-check' and final == 'tasty')]",
        "    checks --> race: (joined) [otherwise]",
        "    checks --> race: (timeout)",
        "    checks --> serve: hurry",
        "    race --> serve: (joined) "
        "[branches.any(status == 'completed' and payload.cents < 900)]",
        "    race --> [*]: (joined) [otherwise]",
        "    serve --> [*]: served",
    ]
    assert diagram_text(document) == text


@pytest.mark.parametrize("case", sorted(path.parent.name for path in CASES.glob("*/expected.json")))
def test_every_document_of_the_conformance_set_can_be_read_back(case: str) -> None:
    document = json.loads((CASES / case / "expected.json").read_bytes())
    region = drawn(document)
    assert sorted(region.states.values()) == sorted(document["states"])
    assert len(region.edges) == len(document["transitions"])


def test_names_become_ids_and_stay_as_labels() -> None:
    document = graph(
        {"roll-back": {"emits": []}, "roll_back": {"emits": []}, "plain": {"emits": []}},
        [
            {"from": "__start__", "to": "roll-back"},
            {"from": "roll-back", "to": "roll_back", "on": "e"},
            {"from": "roll_back", "to": "__end__", "on": "timeout"},
        ],
    )
    region = drawn(document)
    assert region.states == {
        "roll_back": "roll-back",
        "roll_back_2": "roll_back",
        "plain": "plain",
    }
    assert region.edges == [
        ("[*]", "roll_back", ""),
        ("roll_back", "roll_back_2", "e"),
        ("roll_back_2", "[*]", "(timeout)"),
    ]


@pytest.mark.parametrize(
    "word",
    ["state", "note", "class", "classdef", "style", "default", "click", "href", "scale", "as"],
)
def test_a_word_of_mermaid_is_no_id(word: str) -> None:
    document = graph({word: {"emits": []}}, [{"from": "__start__", "to": word}])
    assert drawn(document).states == {f"{word}_2": word}


def test_no_id_is_one_that_mermaid_gives_a_start_or_an_end() -> None:
    leaf: dict[str, Any] = {"emits": []}
    kid = {"states": {"x": leaf}, "events": {}, "transitions": [{"from": "__start__", "to": "x"}]}
    names = ["root", "root-end", "work-start", "work", "work__kid", "work_end"]
    states = dict.fromkeys(names, leaf) | {"work": {"parallel": ["kid"], "join": "all"}}
    region = drawn(graph(states, [{"from": "__start__", "to": "work"}], workflows={"kid": kid}))
    ids = all_ids(region)
    assert len(ids) == len(set(ids)) == len(names) + 2
    ((work, (inside,)),) = region.inside.items()
    for composite in ("root", work, *inside.inside):
        assert not {f"{composite}_start", f"{composite}_end"} & set(ids)
    assert "root" not in ids


def test_a_start_with_guards_has_no_event_in_its_labels() -> None:
    document = graph(
        {"a": {"emits": []}, "b": {"emits": []}},
        [
            {"from": "__start__", "to": "a", "when": "ctx['n'] == 0"},
            {"from": "__start__", "to": "b", "otherwise": True},
        ],
    )
    assert drawn(document).edges == [
        ("[*]", "a", "[ctx['n'] == 0]"),
        ("[*]", "b", "[otherwise]"),
    ]


@pytest.mark.parametrize(
    "guard",
    [
        "count('e') < 3",
        "ctx['a'] == 'x:y;z'",
        'ctx["a"] == "quoted"',
        "ctx['a'] == 'a -- b } { --> [*] '",
        "1<ctx['a']<5",
        "ctx['a'] == '<b>bold</b>'",
        "ctx['a'] == '%%{init: {}}%%' or ctx['b'] == '%% c'",
        "ctx['_a_'] == '__b__' and count('e') > 1",
        "ctx['a'] == '#quot; #35; &lt;'",
        "ctx['mail'] == 'bob@example.com' or ctx['u'] == 'https://www.example.com/[a](b)'",
        "ctx['p'] == '$$x$$ `c` *b* ~~s~~ \\\\n'",
        "ctx['a'] == 'direction TB'",
        "ctx['z'] == 'Zürich 漢'",
    ],
)
def test_a_guard_is_seen_as_it_was_written(guard: str) -> None:
    assert guarded(guard) == f"e [{guard}]"


@pytest.mark.parametrize(
    ("guard", "seen"),
    [
        (" ctx['a'] in [1,\n    2] # note", "ctx['a'] in [1, 2] # note"),
        ("ctx['a'] == 'tab\tand'", "ctx['a'] == 'tab and'"),
        ("ctx['a'] == '\u202e\x1b\u2028\x85'", r"ctx['a'] == '\u202e\x1b\u2028\x85'"),
    ],
)
def test_a_guard_takes_one_line_and_hides_nothing(guard: str, seen: str) -> None:
    assert guarded(guard) == f"e [{seen}]"


@pytest.mark.parametrize(
    ("written", "because"),
    [
        ("ctx['a'] == '<i>'", "a tag would open"),
        ("ctx['a'] == '$'", "a formula would begin"),
        ("ctx['_a'] == 1", "emphasis would begin"),
        ("ctx['a'] == 'x@y.example'", "a link would be made"),
        ("ctx['a'] == 'direction LR'", "the line would be an order to the layout"),
    ],
)
def test_what_could_mean_more_is_an_entity(written: str, because: str) -> None:
    document = graph(
        {"a": {"emits": ["e"]}},
        [
            {"from": "__start__", "to": "a"},
            {"from": "a", "to": "__end__", "on": "e", "when": written},
        ],
    )
    assert written not in diagram_text(check_graph(document)), because


@pytest.mark.parametrize("width", [1, 2])
def test_what_unfolds_without_end_is_refused(width: int) -> None:
    names = [f"w{number}" for number in range(40)]
    leaf = {"emits": []}
    workflows: dict[str, Any] = {}
    for name, child in zip(names, [*names[1:], None], strict=True):
        inner = {"parallel": [child], "join": "all"} if child else leaf
        states = {f"s{number}": inner for number in range(width)}
        start = [{"from": "__start__", "to": "s0"}]
        workflows[name] = {"states": states, "events": {}, "transitions": start}
    document = graph(
        {"p": {"parallel": ["w0"], "join": "all"}},
        [{"from": "__start__", "to": "p"}],
        workflows=workflows,
    )
    with pytest.raises(GraphError, match="too large for a diagram"):
        diagram_text(check_graph(document))
