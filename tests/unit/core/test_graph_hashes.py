"""The three hashes: the worked example, and what each of them notices."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from stateous.graph import hashes

KETTLE: dict[str, Any] = {
    "workflow": "kettle",
    "stateous": 1,
    "transitions": [
        {"to": "boil", "from": "__start__"},
        {"from": "boil", "on": "ready", "to": "__end__"},
    ],
    "events": {"ready": {}},
    "states": {"boil": {"emits": ["ready"]}},
    "schemas": {},
}


def test_the_worked_example() -> None:
    whole = "sha256:000ca555638855d93411aa3785536d6ca02650f5ebfcfd92bcc58baddf8f124d"
    assert hashes.checksum(KETTLE) == whole
    assert hashes.structure(KETTLE) == whole
    assert hashes.contract_view(KETTLE) == {
        "workflow": "kettle",
        "states": {"boil": ["ready"]},
        "events": {"ready": None},
        "workflows": {},
        "schemas": {},
    }
    assert hashes.contract(KETTLE) == (
        "sha256:46f4b2432818eb19f34d22e23a54dd5720e34ff7da808d28dbfcf5b3eebce942"
    )


def test_canonical_text_escapes_what_is_not_ascii() -> None:
    assert hashes.digest({"b": 1.0, "a": "ä"}) == hashes.digest({"a": "\u00e4", "b": 1.0})
    assert hashes.digest({"a": 1}) != hashes.digest({"a": 1.0})


GRAPH: dict[str, Any] = {
    "stateous": 1,
    "workflow": "shop",
    "context": "Cart",
    "states": {
        "pack": {"timeout": "2d", "retries": 1, "emits": ["packed", "lost"]},
        "checks": {"parallel": ["tax"], "join": "all"},
    },
    "events": {"packed": {"payload": "Cart"}, "lost": {}},
    "transitions": [{"from": "__start__", "to": "pack"}],
    "workflows": {"tax": {"states": {"ask": {"emits": []}}, "events": {}, "transitions": []}},
    "schemas": {
        "Cart": {
            "description": "A cart.",
            "properties": {
                "description": {"type": "string", "examples": ["x"], "default": {"title": 1}},
            },
            "type": "object",
        }
    },
}


def _set(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def edit(document: dict[str, Any]) -> None:
        *steps, last = path.split(".")
        place = document
        for step in steps:
            place = place[step]
        if value is ...:
            del place[last]
        else:
            place[last] = value

    return edit


PROPERTY = "schemas.Cart.properties.description"

# What was edited, and which of checksum, structure and contract must differ afterwards.
EDITS = [
    (_set("states.pack.timeout", "3d"), (True, False, False)),
    (_set("states.pack.retries", ...), (True, False, False)),
    (_set("workflows.tax.states.ask.timeout", "1h"), (True, False, False)),
    (_set("schemas.Cart.description", "Other."), (True, False, False)),
    (_set(f"{PROPERTY}.examples", ...), (True, False, False)),
    (_set(f"{PROPERTY}.title", "T"), (True, True, False)),
    (_set(f"{PROPERTY}.default", {"title": 2}), (True, True, True)),
    (_set(PROPERTY, {"type": "integer"}), (True, True, True)),
    (_set("schemas.Cart.properties.description", ...), (True, True, True)),
    (_set("states.pack.emits", ["lost", "packed"]), (True, True, False)),
    (_set("states.pack.emits", ["lost"]), (True, True, True)),
    (_set("states.checks.join", "any"), (True, True, False)),
    (_set("transitions", []), (True, True, False)),
    (_set("events.packed.into", "box"), (True, True, False)),
    (_set("events.packed.payload", ...), (True, True, True)),
    (_set("workflows.tax.context", "Cart"), (True, True, True)),
    (_set("context", ...), (True, True, True)),
    (_set("unknown", 1), (True, True, False)),
    (lambda document: document.update(dict(reversed(document.items()))), (False, False, False)),
]


@pytest.mark.parametrize(("edit", "differs"), EDITS)
def test_each_hash_changes_exactly_when_it_should(
    edit: Callable[[dict[str, Any]], None], differs: tuple[bool, bool, bool]
) -> None:
    document = copy.deepcopy(GRAPH)
    edit(document)
    kinds = (hashes.checksum, hashes.structure, hashes.contract)
    assert tuple(kind(document) != kind(GRAPH) for kind in kinds) == differs
