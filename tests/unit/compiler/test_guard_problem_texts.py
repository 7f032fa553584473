"""What compile says of guards of one group: texts, places, order (`authoring.md` 5.3 to 5.5)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stateous_compiler.compile import check_flow
from stateous_compiler.errors import InvalidWorkflow

HEAD = """\
from pydantic import BaseModel, Field
from stateous import END, START, Workflow
class Order(BaseModel):
    kg: int = 0
    tier: str = "basic"
    user_id: str = Field("", alias="userId")
class Parcel(BaseModel):
    kg: int
    note: str = ""
flow = Workflow("orders", context=Order)
packing = flow.state("packing", timeout="1h")
weighed = flow.event("weighed", payload=Parcel)
done = flow.event("done")
"""
FIRST = HEAD.count("\n") + 1
BEGIN = "flow.transition(START, packing)"
FINISH = "flow.transition(packing, END, on=done)"


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., list[str]]:
    """The problems, or else the warnings, of the lines of a flow, each as it is printed."""

    def run(*lines: str) -> list[str]:
        source = HEAD + "\n".join(lines) + "\n"
        (tmp_path / "flow.py").write_text(source, encoding="utf-8")
        try:
            return list(map(str, check_flow(tmp_path / "flow.py").warnings))
        except InvalidWorkflow as error:
            return list(map(str, error.problems))

    return run


def on(event: str, guard: str) -> str:
    return f'flow.transition(packing, END, on={event}, when="{guard}")'


def test_an_overlap_names_group_guards_earlier_place_and_values(
    told: Callable[..., list[str]],
) -> None:
    lines = (BEGIN, FINISH, on("weighed", "payload.kg < 10"), on("weighed", "payload.kg > 8"))
    assert told(*lines, "flow.transition(packing, END, on=weighed, otherwise=True)") == [
        f"flow.py:{FIRST + 3}: 'weighed' from 'packing': \"payload.kg < 10\" (flow.py:{FIRST + 2})"
        ' and "payload.kg > 8" can both be true, e.g. when payload.kg = 9'
    ]


def test_an_overlap_whatever_is_read(told: Callable[..., list[str]]) -> None:
    (text,) = told(BEGIN, on("done", "true"), on("done", " 1 < 2 "))
    assert text.endswith(f'"true" (flow.py:{FIRST + 1}) and "1 < 2" can both be true, always')


def test_a_missing_value_is_told_as_such(told: Callable[..., list[str]]) -> None:
    texts = told(BEGIN, on("weighed", "payload.note == null"), on("weighed", "payload.note != 'x'"))
    assert texts[0].endswith("e.g. when payload.note is missing")


def test_an_overlap_at_the_start(told: Callable[..., list[str]]) -> None:
    texts = told(
        "flow.transition(START, packing, when=\"ctx['kg'] == 1\")",
        "flow.transition(START, packing, when=\"ctx['kg'] != 2\")",
        FINISH,
    )
    assert texts == [
        f"flow.py:{FIRST + 1}: START: \"ctx['kg'] == 1\" (flow.py:{FIRST}) and"
        " \"ctx['kg'] != 2\" can both be true, e.g. when ctx['kg'] = 1"
    ]


def test_all_pairs_are_told_in_the_order_of_the_later_transition(
    told: Callable[..., list[str]],
) -> None:
    other = FINISH.replace(")", ', when="true")')
    texts = told(BEGIN, on("weighed", "true"), other, other, on("weighed", "2 > 1"), other)
    assert [text.partition(": ")[0] for text in texts] == [
        f"flow.py:{FIRST + line}" for line in (3, 4, 5, 5)
    ]
    assert f"(flow.py:{FIRST + 2})" in texts[2]
    assert f"(flow.py:{FIRST + 3})" in texts[3]


def test_what_is_not_proven_says_why_and_what_to_do(told: Callable[..., list[str]]) -> None:
    texts = told(
        BEGIN, on("done", "ctx['tier'] == '\\U0002ff00'"), on("done", "ctx['tier'] == 'a'")
    )
    assert len(texts) == 1
    for part in ("cannot be proven", "U+2FF00", "compare with literals", "otherwise=True"):
        assert part in texts[0]


def test_guards_with_problems_of_their_own_are_in_no_pair(
    told: Callable[..., list[str]],
) -> None:
    wrong = (
        on("done", "ctx['nope'] == 1"),
        on("done", "ctx['user_id'] == ''"),
        on("done", "1 in ctx['tier']"),
        on("done", "count('nothing') > 0"),
        on("done", "true"),
    )
    assert [text.partition(": ")[0] for text in told(BEGIN, *wrong)] == [
        f"flow.py:{FIRST + line}" for line in (1, 2, 3, 4)
    ]


def test_a_model_without_schema_hides_no_other_pair(told: Callable[..., list[str]]) -> None:
    texts = told(
        "from typing import Callable",
        "class Odd(BaseModel):",
        "    call: Callable[[int], int]",
        "    n: int",
        'odd = flow.event("odd", payload=Odd)',
        BEGIN,
        FINISH,
        on("odd", "payload.n < 3"),
        on("odd", "payload.n > 2"),
        on("odd", "true"),
        on("odd", "ctx['kg'] == 1"),
    )
    assert len([text for text in texts if "can both be true" in text]) == 1
    assert "has no JSON Schema" in texts[-1]


@pytest.mark.parametrize(
    ("lines", "first", "text"),
    [
        (
            (BEGIN, FINISH, on("weighed", "payload.kg < 3"), on("weighed", "payload.kg > 3")),
            2,
            "'weighed' from 'packing': no guard is true when payload.kg = 3;"
            " then the event is refused",
        ),
        (
            (BEGIN, FINISH, on("'timeout'", "ctx['kg'] != 1")),
            2,
            "'timeout' from 'packing': no guard is true when ctx['kg'] = 1; then the token fails",
        ),
        (
            (BEGIN, FINISH, on("'error'", "count('error') > 1")),
            2,
            "'error' from 'packing': no guard is true when count('error') = 1;"
            " then the token fails",
        ),
        (
            ("flow.transition(START, packing, when=\"ctx['kg'] != 1\")", FINISH),
            0,
            "START: no guard is true when ctx['kg'] = 1; then the start is refused",
        ),
    ],
)
def test_what_no_guard_covers_is_told_with_its_consequence(
    lines: tuple[str, ...], first: int, text: str, told: Callable[..., list[str]]
) -> None:
    assert told(*lines)[0] == f"flow.py:{FIRST + first}: {text}"


def test_a_group_with_a_quantifier_is_warned_of_without_example(
    told: Callable[..., list[str]],
) -> None:
    (text,) = told(
        "def child():",
        '    made = Workflow("tax")',
        '    ask = made.state("ask")',
        '    asked = made.event("asked")',
        "    made.transition(START, ask)",
        "    made.transition(ask, END, on=asked)",
        "    return made",
        'checks = flow.state("checks", parallel=[child()])',
        "flow.transition(START, checks)",
        "flow.transition(checks, packing, on='joined',"
        " when=\"branches.all(status == 'completed') or true\")",
        FINISH,
        "flow.transition(packing, packing, on=weighed)",
    )
    assert text.startswith(f"flow.py:{FIRST + 9}: 'joined' from 'checks': ")
    assert text.endswith("the token fails")


def test_a_guard_that_nothing_makes_true(told: Callable[..., list[str]]) -> None:
    fallback = "flow.transition(packing, END, on=weighed, otherwise=True)"
    assert told(BEGIN, FINISH, on("weighed", "payload.kg == 1.5"), fallback) == [
        f"flow.py:{FIRST + 2}: 'weighed' from 'packing': \"payload.kg == 1.5\" is never true,"
        " so this transition is never taken"
    ]


def test_a_group_that_is_never_taken(told: Callable[..., list[str]]) -> None:
    uncovered, never = told(BEGIN, FINISH, on("weighed", "false"))
    assert uncovered.endswith("no guard is true ever; then the event is refused")
    assert '"false" is never true' in never


def test_guards_that_cover_everything_need_no_fallback(told: Callable[..., list[str]]) -> None:
    lines = (BEGIN, FINISH, on("weighed", "payload.kg < 3"), on("weighed", "payload.kg >= 3"))
    assert told(*lines) == []
