"""The guards of the conformance set (`tests/conformance/data/README.md`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stateous.errors import GuardError
from stateous.guards import Scope, parse_guard

DATA = Path(__file__).parent / "data" / "guards"
READS = (
    "context_keys",
    "payload_fields",
    "events",
    "branch_context_fields",
    "branch_payload_fields",
)


def cases(name: str) -> list[Any]:
    entries = json.loads((DATA / name).read_text(encoding="utf-8"))
    return [pytest.param(entry, id=entry["expr"]) for entry in entries]


@pytest.mark.parametrize("entry", cases("parse.json"))
def test_the_parser_takes_and_refuses_what_the_set_says(entry: dict[str, Any]) -> None:
    if not entry["ok"]:
        with pytest.raises(GuardError) as refusal:
            parse_guard(entry["expr"])
        assert str(refusal.value).startswith(f"guard {entry['expr']!r}")
        return
    guard = parse_guard(entry["expr"])
    assert guard.text == entry["expr"]
    assert {name: set(getattr(guard, name)) for name in READS} == {
        name: set(entry[name]) for name in READS
    }
    assert guard.branches is entry["branches"]


@pytest.mark.parametrize("entry", cases("evaluate.json"))
def test_a_guard_holds_where_the_set_says(entry: dict[str, Any]) -> None:
    scope = Scope(
        context=entry["context"],
        payload=entry["payload"],
        counts=entry["counts"],
        branches=entry["branches"],
    )
    assert parse_guard(entry["expr"]).holds(scope) is entry["result"]
