"""A wrong flow of each kind: which code it gets, and at which line.

The line that a problem belongs to ends with ``#! <code>``, several codes with commas between.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stateous_compiler.compile import check_flow
from stateous_compiler.errors import InvalidWorkflow
from stateous_compiler.problems import (
    FLOW_CODES,
    NAME_CODES,
    TREE_CODES,
    WARNING_CODES,
    Problem,
)

HEAD = """\
from typing import Annotated, Any, Callable, Optional
from pydantic import BaseModel, Field
from stateous import END, START, Branches, Workflow

class Box(BaseModel):
    kg: int
    label: str | None = None
    tags: list[str] = []
    parts: dict[str, int] | None = None
    found: Branches | None = None
    user_id: str = Field("", alias="userId")

class Seal(BaseModel):
    colour: str
    marks: list[str] = []
"""

# A whole workflow around the lines of a case: `s` -> END on `done`, `packed` carries a Seal.
FRAME = """
flow = Workflow("orders", context=Box)
s = flow.state("s")
done = flow.event("done")
packed = flow.event("packed", payload=Seal)
flow.transition(START, s)
flow.transition(s, END, on=done)
{lines}
"""

# A child `tax` that asks, and reports how much.
CHILD = """
class Quote(BaseModel):
    cents: int
    notes: list[str] = []

class Ask(BaseModel):
    sum: int = 0
    kinds: list[str] = []

tax = Workflow("tax", context=Ask)
ask = tax.state("ask")
quoted = tax.event("quoted", payload=Quote)
tax.transition(START, ask)
tax.transition(ask, END, on=quoted)
fraud = Workflow("fraud")
look = fraud.state("look")
seen = fraud.event("seen")
fraud.transition(START, look)
fraud.transition(look, END, on=seen)
"""


def framed(*lines: str) -> str:
    return HEAD + FRAME.format(lines="\n".join(lines))


#: Children that a case does not run are no candidates.
HIDE = "\ndel tax, fraud\n"


def nested(*lines: str) -> str:
    return HEAD + CHILD + FRAME.format(lines="\n".join(lines)) + HIDE


P = 'p = flow.state("p", parallel=[{}])'
INTO_P = "flow.transition(s, p, on=packed)"
JOINED = 'flow.transition(p, END, on="joined")'
PACKED = "flow.transition(s, s, on=packed, otherwise=True)"


def joined(guard: str, children: str = "tax", code: str = "") -> list[str]:
    mark = f"  #! {code}" if code else ""
    return [
        P.format(children),
        INTO_P,
        f'flow.transition(p, END, on="joined", when="{guard}"){mark}',
        'flow.transition(p, END, on="joined", otherwise=True)',
    ]


def guarded(guard: str, code: str) -> list[str]:
    return [f'flow.transition(s, END, on=packed, when="{guard}")  #! {code}', PACKED]


LONG = "x" * 60

CASES: dict[str, str] = {
    "a child runs its parent": HEAD
    + CHILD
    + """
flow = Workflow("orders")
p = flow.state("p", parallel=[tax])
flow.transition(START, p)
flow.transition(p, END, on="joined")
inner = tax.state("inner", parallel=[flow])  #! self-nesting
tax.transition(ask, inner, on="timeout")
tax.transition(inner, END, on="joined")
"""
    + HIDE,
    "a grandchild runs a child": HEAD
    + CHILD
    + """
inner = tax.state("inner", parallel=[fraud])
tax.transition(ask, inner, on="timeout")
tax.transition(inner, END, on="joined")
again = fraud.state("again", parallel=[tax])  #! self-nesting
fraud.transition(look, again, on="timeout")
fraud.transition(again, END, on="joined")
flow = Workflow("orders")
p = flow.state("p", parallel=[tax])
flow.transition(START, p)
flow.transition(p, END, on="joined")
""",
    "two children of one name": nested(
        "def make():",
        '    w = Workflow("tax")  #! workflow-name-twice',
        '    a = w.state("a")',
        '    e = w.event("e")',
        "    w.transition(START, a)",
        "    w.transition(a, END, on=e)",
        "    return w",
        P.format("tax"),
        'q = flow.state("q", parallel=[make()])',
        INTO_P,
        'flow.transition(p, q, on="joined")',
        'flow.transition(q, END, on="joined")',
    ),
    "a child with the parent's name": nested(
        'twin = Workflow("orders")  #! workflow-name-twice',
        'a = twin.state("a")',
        'e = twin.event("e")',
        "twin.transition(START, a)",
        "twin.transition(a, END, on=e)",
        P.format("twin"),
        INTO_P,
        JOINED,
    ),
    "no states": HEAD + 'flow = Workflow("orders")  #! no-states\n',
    "a child without states": nested(
        'empty = Workflow("empty")  #! no-states', P.format("empty"), INTO_P, JOINED
    ),
    "no start": HEAD
    + """
flow = Workflow("orders")  #! no-start
s = flow.state("s")  #! unreachable-state
done = flow.event("done")
flow.transition(s, END, on=done)
""",
    "no end": HEAD
    + """
flow = Workflow("orders")  #! no-end
s = flow.state("s")
done = flow.event("done")
flow.transition(START, s)
flow.transition(s, s, on=done)
""",
    "unreachable states": framed(
        'island = flow.state("island")  #! unreachable-state',
        'beach = flow.state("beach")  #! unreachable-state',
        "flow.transition(island, beach, on=done)",
        "flow.transition(beach, island, on=done)",
        "flow.transition(beach, END, on=packed)",
        PACKED,
    ),
    "a fallback that does not say so": framed(
        "flow.transition(s, s, on=packed)  #! unmarked-fallback",
        "flow.transition(s, END, on=packed, when=\"payload.colour == 'red'\")",
    ),
    "a fallback from START that does not say so": HEAD
    + """
flow = Workflow("orders", context=Box)
s = flow.state("s")
done = flow.event("done")
flow.transition(START, s)  #! unmarked-fallback
flow.transition(START, s, when="ctx['kg'] > 1")
flow.transition(s, END, on=done)
""",
    "guards that overlap, twice": framed(
        "flow.transition(s, END, on=packed, when=\"payload.colour == 'red'\")",
        "flow.transition(s, s, on=packed, when=\"payload.colour != 'blue'\")  #! guards-overlap",
        "flow.transition(s, s, on=packed,"
        " when=\"payload.colour < 's'\")  #! guards-overlap, guards-overlap",
        PACKED,
    ),
    "guards that are not decided": nested(
        *joined("count('joined') > 1"),
        'flow.transition(p, s, on="joined",'
        " when=\"branches.any(status == 'failed')\")  #! guards-unproven",
    ),
    "guards that can be left out of pairs": framed(
        *guarded("ctx['nope'] == 1", "unknown-context-key"),
        'flow.transition(s, s, on=packed, when="true")',
    ),
    "an unknown context key": framed(
        *guarded("ctx['nope'] == 1 or ctx['nil'] == 2", "unknown-context-key, unknown-context-key")
    ),
    "a field by its Python name": framed(*guarded("ctx['user_id'] == 'x'", "unknown-context-key")),
    "an unknown payload field": framed(*guarded("payload.nope == 1", "unknown-payload-field")),
    "an unknown field of a child's context": nested(
        *joined("branches.all(context.nope == 1)", code="unknown-branch-field")
    ),
    "an unknown field of a child's payload": nested(
        *joined("branches.any(payload.nope == 1)", code="unknown-branch-field")
    ),
    "children without payloads": nested(
        *joined("branches.any(payload.cents == 1)", "fraud", "unknown-branch-field")
    ),
    "a search in a string": framed(*guarded("'a' in payload.colour", "in-not-list")),
    "a search in a number": framed(*guarded("1 not in ctx['kg']", "in-not-list")),
    "a search in a count": framed(*guarded("1 in count('done')", "in-not-list")),
    "a search in a branch name": nested(
        *joined("branches.any('a' in workflow)", code="in-not-list")
    ),
    "a search in a field of a child without a model": nested(
        *joined("branches.any('a' in context.kinds)", "tax, fraud", "in-not-list")
    ),
    "a search in a number of a child's payload": nested(
        *joined("branches.any(1 in payload.cents)", code="in-not-list")
    ),
    "into without payload": framed(
        'kept = flow.event("kept", into="label")  #! into-without-payload',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "into an unknown key": framed(
        'kept = flow.event("kept", payload=Seal, into="nope")  #! unknown-into-key',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "into a field of another type": framed(
        'kept = flow.event("kept", payload=Seal, into="label")  #! into-type',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "a state into a field of another type": nested(
        'p = flow.state("p", parallel=[tax], into="tags")  #! into-type', INTO_P, JOINED
    ),
    "a state into an unknown key": nested(
        'p = flow.state("p", parallel=[tax], into="nope")  #! unknown-into-key', INTO_P, JOINED
    ),
    "an unknown input": nested(
        'p = flow.state("p", parallel=[tax], inputs=["kg", "nope", "user_id"])'
        "  #! unknown-input, unknown-input",
        INTO_P,
        JOINED,
    ),
    "a missing input": nested(
        'other = Workflow("other", context=Box)',
        'a = other.state("a")',
        'e = other.event("e")',
        "other.transition(START, a)",
        "other.transition(a, END, on=e)",
        'p = flow.state("p", parallel=[other], inputs=["label"])  #! missing-input',
        INTO_P,
        JOINED,
    ),
    "no joined": nested(
        'p = flow.state("p", parallel=[tax])  #! no-joined',
        INTO_P,
        'flow.transition(p, END, on="timeout")',
    ),
    "error on parallel": nested(
        P.format("tax"),
        INTO_P,
        JOINED,
        'flow.transition(p, END, on="error")  #! error-on-parallel',
    ),
    "counts of nothing": framed(
        *guarded("count('ghost') > 1 and count('timeout') > 1", "unknown-count")
    ),
    "a child that may not start": nested(
        'other = Workflow("other", context=Ask)',
        'a = other.state("a")',
        'e = other.event("e")',
        "other.transition(START, a, when=\"ctx['sum'] > 0\")  #! start-without-fallback",
        "other.transition(START, a, when=\"ctx['sum'] <= 0\")",
        "other.transition(a, END, on=e)",
        P.format("other"),
        INTO_P,
        JOINED,
    ),
    "ids that are too long": nested(
        f'deep = Workflow("{LONG}")',
        'a = deep.state("a")',
        'e = deep.event("e")',
        "deep.transition(START, a)",
        "deep.transition(a, END, on=e)",
        'p = flow.state("p", parallel=[tax, deep])  #! child-id-too-long',
        INTO_P,
        JOINED,
    ),
    "two models of one name": framed(
        "def twin():",
        "    class Seal(BaseModel):",
        "        other: int",
        "    return Seal",
        'kept = flow.event("kept", payload=twin())  #! model-name-twice',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "a model without schema": framed(
        "class Odd(BaseModel):",
        "    call: Callable[[int], int]",
        'kept = flow.event("kept", payload=Odd)  #! model-schema',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "a default that JSON lacks": framed(
        "class Odd(BaseModel):",
        '    limit: float = float("inf")',
        'kept = flow.event("kept", payload=Odd)  #! model-schema',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "a schema that is none": framed(
        "class Odd(BaseModel):",
        '    size: int = Field(0, json_schema_extra={"minimum": "one"})',
        'kept = flow.event("kept", payload=Odd)  #! model-schema',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "a reference that is never resolved": framed(
        "class Odd(BaseModel):",
        '    other: "Nowhere"',
        'kept = flow.event("kept", payload=Odd)  #! model-schema',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "names that Python has taken": framed(
        'c = flow.state("class")  #! contract-name',
        'e = flow.event("import")  #! contract-name',
        'states = flow.event("states")  #! contract-name',
        "flow.transition(s, c, on=packed)",
        "flow.transition(c, END, on=e)",
        "flow.transition(c, c, on=states)",
    ),
    "names that are one in Python": framed(
        'c = flow.state("a-b")',
        'd = flow.state("a_b")  #! contract-name',
        "flow.transition(s, c, on=packed)",
        "flow.transition(c, d, on=packed)",
        "flow.transition(d, END, on=packed)",
    ),
    "a child with the name of an event": nested(
        'other = Workflow("done")  #! contract-name',
        'a = other.state("a")',
        'e = other.event("e")',
        "other.transition(START, a)",
        "other.transition(a, END, on=e)",
        P.format("other"),
        INTO_P,
        JOINED,
    ),
    "fields that pydantic keeps": framed(
        "class Odd(BaseModel):",
        '    dump: int = Field(0, alias="model_dump")',
        '    dash: int = Field(0, alias="a-b")',
        "    list: list[str]",
        'kept = flow.event("kept", payload=Odd)  #! contract-name, contract-name, contract-name',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "a model inside itself": framed(
        "class Node(BaseModel):",
        '    next: "Node | None" = None',
        'kept = flow.event("kept", payload=Node)  #! contract-name',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "a model with a name of contract.py's": framed(
        "class Literal(BaseModel):",
        "    x: int",
        'kept = flow.event("kept", payload=Literal)  #! contract-name',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
    "a model with the name of a context type": framed(
        "class BoxContext(BaseModel):",
        "    x: int",
        'kept = flow.event("kept", payload=BoxContext)  #! contract-name',
        "flow.transition(s, s, on=kept)",
        PACKED,
    ),
}
FINE: dict[str, str] = {
    "searches in lists and objects": framed(
        "flow.transition(s, END, on=packed, when=\"'a' in ctx['parts'] or 'b' in payload.marks\")",
        PACKED,
    ),
    "a field by its alias": framed(
        "flow.transition(s, END, on=packed, when=\"ctx['userId'] == 'x'\")", PACKED
    ),
    "one child with the field is enough": nested(
        *joined("branches.any('a' in context.kinds and payload.cents > 1)")
    ),
    "a child without a model has every key": nested(
        *joined("branches.any(context.whatever == 1)", "tax, fraud")
    ),
    "into a field of the model": HEAD
    + """
class Item(BaseModel):
    a: Seal
    b: Seal | None = None
    c: Optional[Annotated[Seal, Field(description="d")]] = None
    d: Annotated[Seal | None, Field()] = None
    e: Seal = Field(alias="E")
flow = Workflow("orders", context=Item)
s = flow.state("s")
flow.transition(START, s)
for key in "abcdE":
    flow.transition(s, END, on=flow.event(f"on-{key.lower()}", payload=Seal, into=key))
""",
    "a state into Branches": nested(
        'p = flow.state("p", parallel=[tax], into="found")', INTO_P, JOINED
    ),
    "forward references": """\
from __future__ import annotations
from pydantic import BaseModel
from stateous import END, START, Workflow
class Crate(BaseModel):
    inside: Thing
class Thing(BaseModel):
    size: int
flow = Workflow("orders", context=Crate)
s = flow.state("s")
done = flow.event("done")
flow.transition(START, s)
flow.transition(s, END, on=done)
""",
}

WARNED: dict[str, str] = {
    "a dead end": framed(
        'trap = flow.state("trap")  #! dead-end',
        "flow.transition(s, trap, on=packed)",
        "flow.transition(trap, trap, on=done)",
    ),
    "an unused event": framed('spare = flow.event("spare")  #! unused-event', PACKED),
    "a timeout that is never set": framed(
        'flow.transition(s, END, on="timeout")  #! no-timeout', PACKED
    ),
    "guards that leave something out": framed(
        "flow.transition(s, END, on=packed, when=\"payload.colour == 'red'\")  #! uncovered",
        "flow.transition(s, s, on=packed, when=\"payload.colour == 'blue'\")",
    ),
    "guards that are never true": framed(
        'flow.transition(s, END, on=packed, when="payload.colour == 1")  #! never-true',
        PACKED,
    ),
    "quantifiers": nested(
        P.format("tax"),
        INTO_P,
        'flow.transition(p, END, on="joined",'
        " when=\"branches.all(status == 'completed')\")  #! uncovered",
    ),
    "several, in order": framed(
        'flow.transition(s, END, on="timeout")  #! no-timeout',
        'spare = flow.event("spare")  #! unused-event',
        'trap = flow.state("trap")  #! dead-end',
        "flow.transition(s, trap, on=packed)",
    ),
}


@pytest.fixture
def check(tmp_path: Path) -> Callable[[str], list[Problem]]:
    """Compile a source; the problems of it, or its warnings."""

    def run(source: str) -> list[Problem]:
        (tmp_path / "flow.py").write_text(source, encoding="utf-8")
        try:
            return list(check_flow(tmp_path / "flow.py").warnings)
        except InvalidWorkflow as error:
            return list(error.problems)

    return run


def marked(source: str) -> list[tuple[str, str]]:
    """The codes and places that a source is marked with."""
    return [
        (code.strip(), f"flow.py:{number}")
        for number, line in enumerate(source.splitlines(), start=1)
        if (mark := re.search(r"#! (.*)$", line))
        for code in mark[1].split(",")
    ]


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_flow_is_told_with_code_and_place(
    name: str, check: Callable[[str], list[Problem]]
) -> None:
    found = check(CASES[name])
    assert sorted((problem.code, problem.place) for problem in found) == sorted(marked(CASES[name]))
    assert all("\n" not in problem.text for problem in found)


@pytest.mark.parametrize("name", FINE)
def test_what_is_right_is_not_complained_of(
    name: str, check: Callable[[str], list[Problem]]
) -> None:
    assert [problem for problem in check(FINE[name]) if problem.code not in WARNING_CODES] == []


@pytest.mark.parametrize("name", WARNED)
def test_a_warning_is_told_with_code_and_place(
    name: str, check: Callable[[str], list[Problem]]
) -> None:
    found = [(problem.code, problem.place) for problem in check(WARNED[name])]
    assert found == sorted(marked(WARNED[name]), key=lambda each: WARNING_CODES.index(each[0]))


def test_there_is_a_case_for_each_code() -> None:
    told = {code for source in [*CASES.values(), *WARNED.values()] for code, _ in marked(source)}
    assert told == {*TREE_CODES, *FLOW_CODES, *NAME_CODES, *WARNING_CODES}


def test_an_alias_is_explained(check: Callable[[str], list[Problem]]) -> None:
    (problem,) = check(CASES["a field by its Python name"])
    assert "ctx['user_id']: the field user_id of Box is called 'userId' in JSON" in problem.text


def test_a_problem_of_a_child_says_so(check: Callable[[str], list[Problem]]) -> None:
    (problem,) = check(CASES["a child that may not start"])
    assert problem.workflow == "other"
    assert problem.text.startswith("in child workflow 'other': ")


def test_however_deep_workflows_are_nested(check: Callable[[str], list[Problem]]) -> None:
    (problem,) = check(
        "from stateous import END, START, Workflow\n"
        "flow = None\n"
        "for number in range(2000):\n"
        "    child, flow = flow, Workflow(f'w{number}')\n"
        "    s = flow.state('s', parallel=[child] if child else [])\n"
        "    flow.transition(START, s)\n"
        "    flow.transition(s, END, on='joined' if child else flow.event('e'))\n"
    )
    assert (problem.code, problem.place) == ("child-id-too-long", "flow.py:5")
