"""From the form that people write to the normal form (`docs/spec/statechart.md` 1 and 2)."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from stateous.graph.documents import read_document
from stateous_compiler.errors import CompileError, InvalidChart
from stateous_compiler.statechart.compile import check_chart, compile_chart

REVIEW = """\
# review.yaml

statechart: review
input: { document: string }
initial: drafting

states:
  drafting:
    job: { script: ./draft.js, input: { document: "${input.document}" } }
    on:
      done: waiting
      failed: gave_up
  waiting:
    ticket: verdict
    timers: { too_long: 48h }
    on:
      verdict:
        - { go: approved, when: "${event.data.ok}" }
        - { go: drafting }
      too_long: gave_up
  approved: { end: done, output: "${states.drafting.output}" }
  gave_up:  { end: failed }
"""
DRAFT = '// draft.js\n\nreturn "A draft of " + input.document\n'


def document(folder: Path, text: str, **files: str) -> dict[str, Any]:
    """The document of a chart in ``folder``; ``__`` in a file's name stands for ``.``."""
    (folder / "chart.yaml").write_text(dedent(text), "utf-8")
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content, "utf-8")
    made: dict[str, Any] = json.loads(check_chart(folder / "chart.yaml").text)
    return made


def state(folder: Path, fields: str) -> Any:
    """The state ``a`` in normal form, among others that it may name."""
    text = f"""\
statechart: c
initial: a
states:
  a: {fields}
  b: {{ job: {{ machine: child.yaml }} }}
  z: {{ end: done }}
"""
    child = "statechart: child\nstates: { only: {} }\n"
    return document(folder, text, child__yaml=child, s__js="return 1\n")["states"]["a"]


def test_the_chart_of_the_specification_has_its_checksum(tmp_path: Path) -> None:
    (tmp_path / "review.yaml").write_text(REVIEW)
    (tmp_path / "draft.js").write_text(DRAFT)
    compiled = compile_chart(tmp_path / "review.yaml")
    assert compiled.graph == tmp_path / "build" / "review.json"
    assert compiled.warnings == ()
    checksum = "sha256:758fd12d65ecda836b0dff4c0bed753cfc7c620b9d1d7978c4495b2f942d75c7"
    assert read_document(compiled.graph.read_bytes()).checksum == checksum
    text = compiled.graph.read_text("utf-8")
    assert text == json.dumps(json.loads(text), indent=2) + "\n"


def test_line_ends_and_byte_order_marks_make_no_difference(tmp_path: Path) -> None:
    (tmp_path / "review.yaml").write_bytes(b"\xef\xbb\xbf" + REVIEW.replace("\n", "\r\n").encode())
    (tmp_path / "draft.js").write_bytes(DRAFT.replace("\n", "\r\n").encode())
    checked = check_chart(tmp_path / "review.yaml")
    assert checked.document.checksum.startswith("sha256:758fd12d")


@pytest.mark.parametrize(
    ("fields", "normal"),
    [
        ("{}", {}),
        ("{ on: { x: z } }", {"on": {"x": [{"go": "z"}]}}),
        ("{ on: { x: {} } }", {"on": {"x": [{}]}}),
        (
            "{ on: { x: [ { when: '${ true }' }, z ] } }",
            {"on": {"x": [{"when": "true"}, {"go": "z"}]}},
        ),
        (
            "{ on: { x: { send: { to: parent, event: y } } } }",
            {"on": {"x": [{"send": [{"to": "parent", "event": "y"}]}]}},
        ),
        (
            "{ on: { x: { send: [ { to: b, event: y, data: { n: '${1}' } } ] } } }",
            {"on": {"x": [{"send": [{"to": "b", "event": "y", "data": {"n": "${1}"}}]}]}},
        ),
        ("{ on: { x: { send: [] } } }", {"on": {"x": [{}]}}),
        (
            "{ entry: { send: { to: { key: k }, event: y, data: } } }",
            {"entry": [{"to": {"key": "k"}, "event": "y"}]},
        ),
        ("{ entry: { send: [] }, exit: { send: [] } }", {}),
        ("{ timers: {}, defer: [], on: {} }", {}),
        ("{ defer: [ x, y ] }", {"defer": ["x", "y"]}),
        ("{ ticket: t }", {"ticket": "t"}),
        (
            "{ job: { script: ./s.js } }",
            {"job": {"script": "s.js"}},
        ),
        (
            "{ job: { script: x/../s.js, retries: 0, timeout: 1h30m, allow: [ none ], input: 1 } }",
            {
                "job": {
                    "script": "s.js",
                    "retries": 0,
                    "timeout": "1h30m",
                    "allow": ["none"],
                    "input": 1,
                }
            },
        ),
        ("{ job: { routine: price, input: } }", {"job": {"routine": "price"}}),
        ("{ job: { script: s.js, allow: [] } }", {"job": {"script": "s.js"}}),
        (
            "{ jobs: { j: { routine: r }, i: { machine: child.yaml } } }",
            {"jobs": [{"job": "j", "routine": "r"}, {"job": "i", "machine": "child.yaml"}]},
        ),
        (
            "{ states: { p: {} } }",
            {"initial": "p", "states": {"p": {}}},
        ),
        (
            "{ states: { p: { end: done, output: }, q: { end: failed, output: [ 1 ] } }, initial: q }",
            {
                "initial": "q",
                "states": {"p": {"end": "done"}, "q": {"end": "failed", "output": [1]}},
            },
        ),
    ],
)
def test_a_state_in_normal_form(fields: str, normal: Any, tmp_path: Path) -> None:
    assert state(tmp_path, fields) == normal


@pytest.mark.parametrize(
    ("time", "normal"),
    [
        ("48h", {"text": "48h", "after": 172800}),
        ("1d2h3m4s", {"text": "1d2h3m4s", "after": 93784}),
        ("18:00", {"text": "18:00", "at": "18:00", "zone": "UTC"}),
        ("mon 09:00", {"text": "mon 09:00", "at": "09:00", "day": "mon", "zone": "UTC"}),
        (
            "fri 00:30 Asia/Tokyo",
            {"text": "fri 00:30 Asia/Tokyo", "at": "00:30", "day": "fri", "zone": "Asia/Tokyo"},
        ),
        ('"${ event.data }"', {"text": "${ event.data }", "from": "event.data"}),
    ],
)
def test_a_timer_in_normal_form(time: str, normal: Any, tmp_path: Path) -> None:
    timers = state(tmp_path, f"\n    timers:\n      t: {time}")["timers"]
    assert timers == [{"timer": "t", **normal}]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("18:00", "18:00"),
        ("2026-01-01", "2026-01-01"),
        ("1_000", "1_000"),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("12", 12),
        ("-7", -7),
        ("+7", 7),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1.", 1.0),
        ("e3", "e3"),
        ('"12"', "12"),
        ("'true'", "true"),
        ("'.inf'", ".inf"),
        ("1.2.3", "1.2.3"),
        ("123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_what_a_scalar_stands_for(written: str, value: Any, tmp_path: Path) -> None:
    made = document(
        tmp_path, f"statechart: c\nstates: {{ a: {{ end: done, output: [{written}] }} }}\n"
    )
    (read,) = made["states"]["a"]["output"]
    assert (read, type(read)) == (value, type(value))


def test_values_under_an_anchor_are_written_out(tmp_path: Path) -> None:
    made = document(
        tmp_path,
        """\
        statechart: c
        initial: a
        states:
          a: { on: &rules { x: b } }
          b: { on: *rules }
        """,
    )
    assert made["states"]["b"] == made["states"]["a"] == {"on": {"x": [{"go": "b"}]}}


def test_declared_events_and_inputs_stay_where_they_are_empty(tmp_path: Path) -> None:
    made = document(
        tmp_path,
        """\
        statechart: c
        input: {}
        events: { x: , y: {}, z: { type: string } }
        states: { a: {} }
        """,
    )
    assert made["input"] == {}
    assert made["events"] == {"x": {}, "y": {}, "z": {"type": "string"}}


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    for folder in ("main/sub", "shared"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "shared" / "x.js").write_text("return 1\n")
    (tmp_path / "main" / "sub" / "own.js").write_text("return 2\n")
    (tmp_path / "main" / "sub" / "child.yaml").write_text(
        "statechart: child\n"
        "states: { only: { jobs: { a: { script: own.js }, b: { script: ../../shared/x.js },\n"
        "  c: { machine: ../chart.yaml }, d: { machine: ./child.yaml } } } }\n"
    )
    made = document(
        tmp_path / "main",
        """\
        statechart: c
        states:
          a:
            jobs:
              i: { machine: sub/child.yaml }
              j: { script: ../shared/x.js }
              k: { machine: ./chart.yaml }
        """,
    )
    assert made["states"]["a"]["jobs"] == [
        {"job": "i", "machine": "sub/child.yaml"},
        {"job": "j", "script": "../shared/x.js"},
        {"job": "k", "machine": "."},
    ]
    assert made["machines"]["sub/child.yaml"]["states"]["only"]["jobs"] == [
        {"job": "a", "script": "sub/own.js"},
        {"job": "b", "script": "../shared/x.js"},
        {"job": "c", "machine": "."},
        {"job": "d", "machine": "sub/child.yaml"},
    ]
    assert made["scripts"] == {"../shared/x.js": "return 1\n", "sub/own.js": "return 2\n"}
    assert list(made["machines"]) == ["sub/child.yaml"]


@pytest.mark.parametrize(
    "text",
    [
        "statechart:\tc\nstates:\t{ a: {} }\n",
        "statechart: c\t\nstates: \t\n  a: {}\t\n",
        "statechart: c\n\t\n \t \nstates: { a: {} }\n\t",
        "statechart: 'c'\t# its name\n\t# its states\nstates: {\ta:\t{} }\t# one",
    ],
)
def test_a_tab_may_stand_where_it_indents_nothing(text: str, tmp_path: Path) -> None:
    assert document(tmp_path, text)["states"] == {"a": {}}


def test_a_file_has_one_path_also_by_way_of_its_folder(tmp_path: Path) -> None:
    for folder in ("main", "shared"):
        (tmp_path / folder).mkdir()
    (tmp_path / "main" / "s.js").write_text("return 1\n")
    (tmp_path / "shared" / "child.yaml").write_text(
        "statechart: child\n"
        "states: { only: { jobs: { a: { machine: ../main/chart.yaml },\n"
        "  b: { script: ../main/s.js } } } }\n"
    )
    made = document(
        tmp_path / "main",
        """\
        statechart: c
        states:
          a:
            jobs:
              i: { machine: ../shared/child.yaml }
              j: { machine: ../main/chart.yaml }
              k: { script: ./s.js }
        """,
    )
    assert made["states"]["a"]["jobs"][1] == {"job": "j", "machine": "."}
    assert made["machines"]["../shared/child.yaml"]["states"]["only"]["jobs"] == [
        {"job": "a", "machine": "."},
        {"job": "b", "script": "s.js"},
    ]
    assert list(made["scripts"]) == ["s.js"]


def test_a_machine_in_place_is_lifted_out_of_its_place(tmp_path: Path) -> None:
    made = document(
        tmp_path,
        """\
        statechart: c
        states:
          a:
            job:
              machine: { statechart: inner, states: { p: { job: { script: s.js } } } }
            on:
              x: { send: { to: { machine: { statechart: other, states: { q: {} } }, key: k }, event: e } }
              y: { send: { to: { machine: "#inner", key: k }, event: e } }
        """,
        s__js="return 1\n",
    )
    assert made["states"]["a"]["job"] == {"machine": "#inner"}
    assert made["states"]["a"]["on"]["x"][0]["send"][0]["to"] == {"machine": "#other", "key": "k"}
    assert made["machines"] == {
        "#inner": {
            "statechart": "inner",
            "initial": "p",
            "states": {"p": {"job": {"script": "s.js"}}},
        },
        "#other": {"statechart": "other", "initial": "q", "states": {"q": {}}},
    }


def test_the_same_machine_twice_is_one(tmp_path: Path) -> None:
    machine = "{ machine: { statechart: m, states: { p: {} } } }"
    made = document(
        tmp_path, f"statechart: c\nstates: {{ a: {{ jobs: {{ i: {machine}, j: {machine} }} }} }}\n"
    )
    assert list(made["machines"]) == ["#m"]


def test_a_chart_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="cannot be read") as caught:
        check_chart(tmp_path / "nowhere.yaml")
    assert not isinstance(caught.value, InvalidChart)


def test_a_graph_file_needs_a_name(tmp_path: Path) -> None:
    (tmp_path / "chart.yaml").write_text("statechart: c\nstates: { a: {} }\n")
    with pytest.raises(CompileError, match="name a file"):
        compile_chart(tmp_path / "chart.yaml", out=".")


def test_no_file_is_written_or_removed_when_there_are_problems(tmp_path: Path) -> None:
    chart = tmp_path / "chart.yaml"
    chart.write_text("statechart: c\nstates: { a: {} }\n")
    compile_chart(chart)
    before = (tmp_path / "build" / "c.json").read_bytes()
    chart.write_text("statechart: c\nstates: { a: 5 }\n")
    with pytest.raises(InvalidChart):
        compile_chart(chart)
    assert (tmp_path / "build" / "c.json").read_bytes() == before
    assert sorted(path.name for path in (tmp_path / "build").iterdir()) == ["c.json"]


def test_the_prover_stays_out_of_it() -> None:
    import subprocess
    import sys

    code = "import sys, stateous_compiler.statechart.compile; print('z3' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
