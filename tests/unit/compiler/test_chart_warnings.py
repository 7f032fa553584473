"""What `stateous compile` warns of in a chart (`docs/spec/statechart.md` 1.5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from stateous_compiler.statechart.compile import check_chart

HEAD = "statechart: c\ninitial: a\nstates:\n"


@pytest.mark.parametrize(
    ("states", "warnings"),
    [
        ("  a: { on: { x: b } }\n  b: { end: done }\n", []),
        (
            "  a:\n    on:\n      x:\n        - { go: b }\n        - { go: a }\n  b: {}\n",
            [("never-taken", "states.a.on.x[1]", 8)],
        ),
        (
            "  a:\n    on:\n      x: [ b, { go: a, when: '${true}' }, a ]\n  b: {}\n",
            [("never-taken", "states.a.on.x[1]", 6), ("never-taken", "states.a.on.x[2]", 6)],
        ),
        (
            "  a: { on: { x: [ { go: b, when: '${true}' }, a ] } }\n  b: {}\n",
            [],
        ),
        ("  a: {}\n  b: {}\n", [("unreachable-state", "states.b", 5)]),
        (
            "  a: { on: { x: q } }\n  b: { initial: p, states: { p: {}, q: {} } }\n",
            [("unreachable-state", "states.b.states.p", 5)],
        ),
        (
            "  a: { on: { x: b } }\n  b: { initial: p, states: { p: { on: { y: q } }, q: {} } }\n",
            [],
        ),
        (
            "  a: { initial: p, states: { p: {}, q: {} }, on: { y: q } }\n",
            [],
        ),
        ("  a: { on: { done: b } }\n  b: {}\n", [("never-done", "states.a.on.done", 4)]),
        ("  a: { job: { routine: r }, on: { done: b } }\n  b: {}\n", []),
        (
            "  a: { on: { t: b } }\n  b: { timers: { t: 1h }, on: { t: a } }\n",
            [("timer-out-of-reach", "states.a.on.t", 4)],
        ),
        (
            "  a: { timers: { t: 1h }, states: { p: { on: { t: p } } } }\n",
            [],
        ),
        (
            "  a: { on: { t: p }, states: { p: { timers: { t: 1h } } } }\n",
            [],
        ),
        (
            "  a:\n    jobs: { i: { routine: r } }\n    on:\n      done: a\n      failed: {}\n",
            [("never-joined", "states.a.on.failed[0]", 8)],
        ),
        (
            "  a:\n    states: { p: { job: { routine: r } } }\n    on: { done: b }\n  b: {}\n",
            [("done-goes-outward", "states.a.states.p", 5)],
        ),
        (
            "  a:\n    states: { p: { job: { routine: r }, on: { done: p } } }\n"
            "    on: { done: b }\n  b: {}\n",
            [],
        ),
        (
            "  a: { on: { x: client } }\n  client: { jobs: { j: { routine: r } } }\n",
            [("ambiguous-from", "states.client", 5)],
        ),
        (
            "  a: { jobs: { client: { routine: r } } }\n",
            [("ambiguous-from", "states.a.jobs.client", 4)],
        ),
    ],
)
def test_what_is_warned_of(
    states: str, warnings: list[tuple[str, str, int]], tmp_path: Path
) -> None:
    (tmp_path / "chart.yaml").write_text(HEAD + states)
    found = check_chart(tmp_path / "chart.yaml").warnings
    assert [(each.code, each.where, each.place.line) for each in found] == warnings
