"""Random workflows: flat, parallel, nested, with all that a document can say of a state or an event.

Anything may lead anywhere, guards may overlap, children may not fit. Each guard's text stands
beside a callable of its own, so that a model needs no parser.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]


def more(left: Any, right: int) -> bool:
    return isinstance(left, int) and left > right


#: Text to callable of context, payload, count, branches.
CONTEXT_GUARDS = {
    "ctx['n'] > 1": lambda c, p, n, b: more(c.get("n"), 1),
    "ctx['n'] == null": lambda c, p, n, b: c.get("n") is None,
    "not (ctx['n'] > 1)": lambda c, p, n, b: not more(c.get("n"), 1),
    "ctx['kept'] != null": lambda c, p, n, b: c.get("kept") is not None,
}
COUNT_GUARDS = {
    "count('go') < 3": lambda c, p, n, b: n("go") < 3,
    "count('go') >= 3": lambda c, p, n, b: n("go") >= 3,
    "count('error') == 0": lambda c, p, n, b: n("error") == 0,
    "count('joined') == 1 or count('timeout') == 1": lambda c, p, n, b: (
        n("joined") == 1 or n("timeout") == 1
    ),
}
PAYLOAD_GUARDS = {
    "payload.m == 1": lambda c, p, n, b: p.get("m") == 1,
    "payload.m > 1 and ctx['n'] == null": lambda c, p, n, b: (
        more(p.get("m"), 1) and c.get("n") is None
    ),
}
BRANCH_GUARDS = {
    "branches.all(status == 'completed')": lambda c, p, n, b: all(
        each["status"] == "completed" for each in b
    ),
    "branches.any(status == 'failed' and final == 'a')": lambda c, p, n, b: any(
        each["status"] == "failed" and each["final"] == "a" for each in b
    ),
    "branches.any(workflow == 'left' and context.n > 1)": lambda c, p, n, b: any(
        each["workflow"] == "left" and more(each["context"].get("n"), 1) for each in b
    ),
    "branches.any(payload.m == 1)": lambda c, p, n, b: any(
        (each["payload"] or {}).get("m") == 1 for each in b
    ),
}
GUARDS = CONTEXT_GUARDS | COUNT_GUARDS | PAYLOAD_GUARDS | BRANCH_GUARDS

SCHEMAS = {
    "Any": {"type": "object"},
    "Measure": {
        "type": "object",
        "properties": {"m": {"type": "integer"}},
        "required": ["m"],
    },
    "Context": {
        "type": "object",
        "properties": {
            "n": {"type": ["integer", "null"], "default": None},
            "kept": {"type": ["object", "null"], "maxProperties": 1},
            "reviews": {"type": ["object", "null"], "default": None},
        },
    },
    "Strict": {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "kept": {"type": ["object", "null"], "default": None},
            "reviews": {"type": ["object", "null"]},
        },
        "required": ["n"],
        "additionalProperties": False,
    },
}

DECLARED = ("go", "back", "tell")


@st.composite
def documents(draw: st.DrawFn, depth: int) -> Document:
    """A document whose workflows nest ``depth`` deep."""
    workflows: Document = {}
    names: list[str] = []
    for level in range(depth, 0, -1):
        below = names
        names = [f"{side}{level}" if level > 1 else side for side in ("left", "right")]
        for name in names:
            workflows[name] = draw(flows(below, child=True))
    top = draw(flows(names, child=False))
    made = {"stateous": 1, "workflow": "top", **top, "schemas": SCHEMAS}
    return {**made, "workflows": workflows} if workflows else made


@st.composite
def flows(draw: st.DrawFn, below: list[str], *, child: bool) -> Document:
    """One workflow, whose parallel states run those of ``below``."""
    plain = ["a", "b", "c"][: draw(st.sampled_from([2, 2, 3]))]
    parallel = ["p", "q"][: draw(st.sampled_from([1, 1, 2]))] if below else []
    model = draw(st.sampled_from([None, *["Context"] * 4, "Strict" if child else "Context"]))
    into = st.sampled_from([{}, {}, {"into": "kept"}])
    events: Document = {
        "go": {},
        "back": {},
        "tell": {"payload": draw(st.sampled_from(["Any", "Measure"])), **draw(into)},
    }
    # Children end sooner than their parents, so that joins are met.
    targets = st.sampled_from([*plain, *parallel * 3, *plain, *["__end__"] * (3 if child else 1)])
    starts = st.sampled_from([*plain, *parallel * 2])
    transitions = draw(groups("__start__", None, starts, sure=True))
    states: Document = {}
    for name in plain:
        for event in DECLARED:
            transitions += draw(groups(name, event, targets))
        for event in ("timeout", "error"):
            transitions += draw(groups(name, event, targets))
        emits = [each for each in DECLARED if (name, each) in ways(transitions)]
        states[name] = {**draw(timeouts), "retries": draw(st.sampled_from([0, 1, 1, 2]))}
        states[name]["emits"] = emits
    for name in parallel:
        for event in ("go", "timeout"):
            if draw(st.integers(0, 3)) == 0:
                transitions += draw(groups(name, event, targets))
        transitions += draw(groups(name, "joined", targets, sure=draw(st.integers(0, 5)) > 0))
        states[name] = {
            **draw(timeouts),
            "parallel": draw(st.sampled_from([below, below, below[::-1], below[:1]])),
            "join": draw(st.sampled_from(["all", "any"])),
            "inputs": draw(st.sampled_from([["n"], ["n"], [], ["n", "kept"]])),
            **draw(st.sampled_from([{}, {"into": "reviews"}])),
        }
    made = {"states": states, "events": events, "transitions": transitions}
    return {"context": model, **made} if model else made


def ways(transitions: list[Document]) -> set[tuple[str, str | None]]:
    """The (state, event) pairs that have a transition."""
    return {(each["from"], each.get("on")) for each in transitions}


timeouts = st.sampled_from([{}, {}, {}, {"timeout": "5m"}, {"timeout": "30s"}])


@st.composite
def groups(
    draw: st.DrawFn,
    state: str,
    event: str | None,
    targets: st.SearchStrategy[str],
    sure: bool = False,
) -> list[Document]:
    """The transitions of one state on one event; ``sure``: there is one without a guard."""
    pool = dict(CONTEXT_GUARDS)
    if event is not None:
        pool |= COUNT_GUARDS
    if event == "tell":
        pool |= PAYLOAD_GUARDS
    if event == "joined":
        pool |= BRANCH_GUARDS
    guards = draw(
        st.sampled_from([0, 0, 0, 1, 1, 1, 2] if event else [0, 0, 0, 0, 1]).flatmap(
            lambda size: st.lists(st.sampled_from(sorted(pool)), min_size=size, max_size=size)
        )
    )
    place = {"from": state} if event is None else {"from": state, "on": event}
    made: list[Document] = [{**place, "to": draw(targets), "when": guard} for guard in guards]
    if sure or draw(st.integers(0, 3)) > 0:
        made.append({**place, "to": draw(targets)})
    return made
