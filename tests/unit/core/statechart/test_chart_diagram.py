"""Charts as Mermaid state diagrams: composites, and arrows that Mermaid can draw."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from stateous.statechart.diagram import diagram_text
from stateous.statechart.reading import read_chart


def drawn(states: dict[str, Any], initial: str = "a") -> str:
    return diagram_text(
        read_chart(
            {
                "stateous": 1,
                "statechart": "c",
                "initial": initial,
                "states": states,
                "scripts": {},
                "machines": {},
            }
        )
    )


def to(target: str, **more: Any) -> list[dict[str, Any]]:
    return [{"go": target, **more}]


INNER = {"p": {}, "q": {}}


@pytest.mark.parametrize(
    ("states", "lines"),
    [
        (
            {
                "a": {
                    "timers": [{"timer": "late", "text": "1h", "after": 3600}],
                    "on": {
                        "done": to("b"),
                        "x": [*to("b", when='event.data.n > "#"'), {}],
                        "late": to("b"),
                    },
                },
                "b": {"end": "failed"},
            },
            """\
            a
            b
            [*] --> a
            a --> b: (done)
            a --> b: x [event.data.n > #34;#35;#34;]
            a --> b: (late)
            b --> [*]: (failed)
            """,
        ),
        # Between the states inside one composite, out of it, and into it.
        (
            {
                "a": {
                    "initial": "p",
                    "states": {**INNER, "p": {"on": {"x": to("q"), "y": to("b")}}},
                    "on": {"z": to("b")},
                },
                "b": {"on": {"back": to("q")}},
            },
            """\
            state a {
                p
                q
                [*] --> p
                p --> q: x
            }
            b
            [*] --> a
            a --> b: z
            p --> b: y
            b --> q: back
            """,
        ),
        # A rule of a composite that leads inward, and to itself.
        (
            {"a": {"initial": "p", "states": INNER, "on": {"in": to("q"), "again": to("a")}}},
            """\
            state a {
                p
                q
                [*] --> p
                [*] --> q: in
                [*] --> p: again
            }
            [*] --> a
            """,
        ),
        # A rule inside that leads to the state around.
        (
            {
                "a": {
                    "initial": "p",
                    "states": {**INNER, "q": {"on": {"over": to("a"), "own": to("q")}}},
                }
            },
            """\
            state a {
                p
                q
                [*] --> p
                q --> p: over
                q --> q: own
            }
            [*] --> a
            """,
        ),
        # Names that Mermaid would read as something else.
        (
            {"a": {"on": {"x": to("State"), "y": to("to-do")}}, "State": {}, "to-do": {}},
            """\
            a
            state "State" as State_2
            state "to-do" as to_do
            [*] --> a
            a --> State_2: x
            a --> to_do: y
            """,
        ),
    ],
)
def test_a_chart_is_drawn(states: dict[str, Any], lines: str) -> None:
    body = "".join(f"    {line}\n" for line in dedent(lines).splitlines())
    assert drawn(states) == f"stateDiagram-v2\n    direction LR\n{body}"
