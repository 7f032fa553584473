"""The conformance set `data/guards/exclusive.json`: each pair of guards has its verdict."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from stateous.graph.positions import properties_of, required_of
from stateous.guards import Scope, parse_guard
from stateous.guards.nodes import ContextKey, Count, PayloadField
from stateous_compiler.exclusive.answers import Example, Never, Question
from stateous_compiler.exclusive.decide import LIMIT_SECONDS, decide
from stateous_compiler.exclusive.examples import written
from stateous_compiler.exclusive.world import Record, World

SET = json.loads(
    (Path(__file__).parent / "data" / "guards" / "exclusive.json").read_text(encoding="utf-8")
)


def moved(schema: Any, model: str) -> Any:
    """A schema that stands alone as one of a document, where references begin at the document."""
    if isinstance(schema, list):
        return [moved(item, model) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: f"#/schemas/{model}{value[1:]}" if key == "$ref" else moved(value, model)
        for key, value in schema.items()
    }


SCHEMAS = {model: moved(schema, model) for model, schema in SET["models"].items()}


def record(model: str | None) -> Record | None:
    if model is None:
        return None
    return Record(SCHEMAS, properties_of(SCHEMAS, model), required_of(SCHEMAS, model))


def scope_of(example: Example) -> Scope:
    context: dict[str, Any] = {}
    payload: dict[str, Any] = {}
    counts: dict[str, Any] = {}
    for reading, value in example.values:
        match reading:
            case _ if reading in example.missing:
                pass
            case ContextKey(key):
                context[key] = value
            case PayloadField(name):
                payload[name] = value
            case Count(event):
                counts[event] = value
    return Scope(context, payload, counts)


@pytest.mark.parametrize(
    "pair", SET["pairs"], ids=[f"{pair['a'][:40]} | {pair['b'][:40]}" for pair in SET["pairs"]]
)
def test_a_pair_has_its_verdict(pair: dict[str, Any]) -> None:
    world = World(
        SCHEMAS, pair["event"], record(pair["context_model"]), record(pair["payload_model"])
    )
    guards = (parse_guard(pair["a"]), parse_guard(pair["b"]))
    began = time.monotonic()
    answer = decide(Question(guards), world)
    assert time.monotonic() - began < LIMIT_SECONDS
    if pair["verdict"] == "exclusive":
        assert answer == Never()
        return
    assert isinstance(answer, Example)
    scope = scope_of(answer)
    assert all(guard.holds(scope) for guard in guards)
    for reading, value in answer.values:
        assert reading in answer.missing or world.admits(reading, value)
    assert written(answer)
