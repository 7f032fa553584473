"""Proofs about guards hold on every value, and examples do what they say (`authoring.md` 10.1)."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from stateous.guards import Guard, Scope, parse_guard
from stateous.guards.nodes import Constant, ContextKey, Count, PayloadField, walk
from stateous_compiler.exclusive.answers import Answer, Example, Never, Question
from stateous_compiler.exclusive.decide import decide
from stateous_compiler.exclusive.world import Reading, Record, World, readings_of

KEYS = ("a", "b", "c")
SAMPLES = 2000

texts = st.sampled_from(["", "a", "b", "ab", "ä", "\ue000", "10", "x\x01", "\U0002fe00"])
numbers = st.sampled_from([0, 1, -1, 2, 3, 1.0, 1.5, 0.1, -0.5, 2**53, 10**30, 1e300])
scalars = st.none() | st.booleans() | numbers | texts
leaves: st.SearchStrategy[Any] = st.one_of(
    st.just({"type": "integer"}),
    st.just({"type": "number"}),
    st.just({"type": "string"}),
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": ["integer", "boolean"]}),
    st.just(True),
    st.just({"$ref": "#/schemas/Tree"}),
    st.just({"$ref": "#/schemas/Colour"}),
    st.just({"$ref": "#/schemas/Point"}),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.sampled_from([0, 1, 2.5]),
            "exclusiveMaximum": st.sampled_from([2, 3.5]),
            "multipleOf": st.sampled_from([2, 0.5]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={"minLength": st.integers(0, 3), "maxLength": st.integers(0, 3)},
    ),
    st.lists(scalars, min_size=1, max_size=3).map(lambda values: {"enum": values}),
    scalars.map(lambda value: {"const": value}),
    st.just({"const": [1, "a"]}),
    st.just({"type": "object"}),
    st.just({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}),
    st.just({"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}}),
)


def arrays(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.just("array")},
        optional={
            "items": items,
            "minItems": st.integers(0, 3),
            "maxItems": st.integers(0, 3),
            "uniqueItems": st.booleans(),
        },
    )


schemas = st.recursive(
    leaves,
    lambda inner: (
        arrays(inner)
        | st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"anyOf": parts})
        | st.lists(inner, min_size=2, max_size=2).map(lambda parts: {"allOf": parts})
    ),
    max_leaves=4,
)
NAMED: dict[str, Any] = {
    "Tree": {
        "anyOf": [
            {"type": "integer"},
            {"type": "array", "items": {"$ref": "#/schemas/Tree"}},
            {"$ref": "#/schemas/Tree"},
        ]
    },
    "Colour": {"enum": ["red", "green"], "type": "string"},
    "Point": {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "next": {"$ref": "#/schemas/Point"}},
        "required": ["x"],
        "additionalProperties": False,
    },
}


@st.composite
def records(draw: st.DrawFn) -> Record:
    properties = {key: draw(schemas) for key in KEYS}
    for key in KEYS:
        if isinstance(properties[key], dict) and draw(st.booleans()):
            properties[key] = {**properties[key], "default": None}
    required = draw(st.frozensets(st.sampled_from(KEYS)))
    return Record(NAMED, properties, required)


worlds = st.builds(
    lambda context, payload: World(NAMED, "e", context, payload),
    st.none() | records(),
    st.none() | records(),
)

literals = (numbers | texts).map(repr) | st.sampled_from(["true", "false", "null"])
lists = st.lists(literals, max_size=3).map(lambda items: f"[{', '.join(items)}]")
accessors = st.sampled_from(
    [f"ctx['{key}']" for key in KEYS]
    + [f"payload.{key}" for key in KEYS]
    + ["count('e')", "count('o')"]
)
orders = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
searches = st.sampled_from(["in", "not in"])
focused = accessors | literals
comparisons = (
    st.builds("({} {} {})".format, accessors, orders, literals | lists)
    | st.builds("({} {} {})".format, accessors, orders, accessors)
    | st.builds("({} {} {} {} {})".format, focused, orders, accessors, orders, focused)
    | st.builds("({} {} {})".format, accessors, searches, lists | accessors)
    | st.builds("({} {} {})".format, literals | lists, searches, accessors)
    | accessors
)
guards = st.recursive(
    comparisons,
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
        | st.builds("(not {})".format, inner)
        | st.builds("({} {} {})".format, inner, orders, st.sampled_from(["true", "false", "0"]))
    ),
    max_leaves=3,
)


@st.composite
def related(draw: st.DrawFn) -> tuple[str, str]:
    """Two guards, which have something to do with one another more often than not."""
    one = draw(guards)
    other = draw(st.one_of(guards, st.just(f"not {one}"), guards.map(f"not {one} and {{}}".format)))
    return one, other


class Samples:
    """Values that the run-time checks of a world let through, the guards' own literals first."""

    def __init__(self, world: World, asked: tuple[Guard, ...], seed: int) -> None:
        self._random = random.Random(seed)
        self._written = [
            node.value for guard in asked for node in walk(guard.tree) if isinstance(node, Constant)
        ]
        pools = {reading: self._pool(world, reading) for reading in readings_of(*asked)}
        self.pools = {reading: pool for reading, pool in pools.items() if pool}
        self.any = len(self.pools) == len(pools)

    def scope(self) -> Scope:
        scope = Scope({}, {}, {})
        for reading, pool in self.pools.items():
            value = self._random.choice(pool)
            match reading:
                case Count(name):
                    scope.counts[name] = value  # type: ignore[index]
                case ContextKey(name):
                    scope.context[name] = value  # type: ignore[index]
                case PayloadField(name):
                    scope.payload[name] = value  # type: ignore[index]
        return scope

    def _pool(self, world: World, reading: Reading) -> list[Any]:
        if isinstance(reading, Count):
            least = 1 if reading.event == world.event else 0
            whole = [v for v in self._written if isinstance(v, int) and 0 <= v < 100]
            near = {max(least, int(v) + step) for v in [*whole, least] for step in (-1, 0, 1)}
            return sorted(near)
        found = [self._any_value(2) for _ in range(120)]
        schema = world.schema_of(reading)
        found += [self._fitting(schema, 3) for _ in range(60)]
        return [value for value in found if world.can_be(reading, value)]

    def _any_value(self, level: int) -> Any:
        choose = self._random
        match choose.randrange(9 if level else 6):
            case 0:
                return None
            case 1:
                return choose.random() < 0.5
            case 2:
                return choose.choice([choose.randint(-3, 4), choose.uniform(-3, 4)])
            case 3:
                return choose.choice(["", "a", "b", "ab", "zz", "\U0010ffff", "\x01"])
            case 4 | 5 if self._written:
                return self._near(choose.choice(self._written))
            case 6:
                return {
                    choose.choice("abk"): self._any_value(level - 1)
                    for _ in range(choose.randrange(3))
                }
            case _:
                return [self._any_value(max(0, level - 1)) for _ in range(choose.randrange(4))]

    def _near(self, value: Any) -> Any:
        if isinstance(value, str):
            return value + self._random.choice(["", "", "\x01", "a"])
        if isinstance(value, bool) or value is None:
            return value
        return self._random.choice([value, value, float(value), value + 1, value - 0.5])

    def _fitting(self, schema: Any, level: int) -> Any:
        """A value with a good chance to fit ``schema``."""
        if not isinstance(schema, dict) or level < 0:
            return self._any_value(1)
        for word in ("anyOf", "allOf"):
            if word in schema:
                return self._fitting(self._random.choice(schema[word]), level)
        if "$ref" in schema:
            return self._fitting(NAMED[schema["$ref"].rpartition("/")[2]], level - 1)
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        if schema.get("type") == "array":
            least, most = schema.get("minItems", 0), schema.get("maxItems", 4)
            length = self._random.randint(least, max(least, most))
            return [self._fitting(schema.get("items", True), level - 1) for _ in range(length)]
        if schema.get("type") == "string":
            return "".join(self._random.choice("ab\x01") for _ in range(self._random.randrange(4)))
        if schema.get("type") in ("number", "integer"):
            return self._near(self._random.choice([0, 1, 2, 3, 2.0]))
        if schema.get("type") == "object":
            return {name: self._random.choice([1, "a"]) for name in schema.get("required", ["k"])}
        return self._any_value(1)


def scope_of(example: Example) -> Scope:
    scope = Scope({}, {}, {})
    for reading, value in example.values:
        if reading in example.missing:
            continue
        match reading:
            case Count(name):
                scope.counts[name] = value  # type: ignore[index]
            case ContextKey(name):
                scope.context[name] = value  # type: ignore[index]
            case PayloadField(name):
                scope.payload[name] = value  # type: ignore[index]
    return scope


def check(answer: Answer, question: Question, world: World, seed: int) -> None:
    event(type(answer).__name__)
    if isinstance(answer, Example):
        assert question.is_met_by(scope_of(answer))
        for reading, value in answer.values:
            assert reading in answer.missing or world.admits(reading, value)
            assert reading not in answer.missing or world.may_be_missing(reading)
    elif isinstance(answer, Never):
        samples = Samples(world, question.guards, seed)
        for _ in range(SAMPLES if samples.any else 0):
            scope = samples.scope()
            assert not question.is_met_by(scope), scope


COMMON = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@settings(COMMON, max_examples=300)
@given(related(), worlds, st.integers(0, 2**32))
def test_exclusive_guards_are_never_both_true_and_examples_make_them_so(
    pair: tuple[str, str], world: World, seed: int
) -> None:
    question = Question(tuple(map(parse_guard, pair)))
    check(decide(question, world), question, world, seed)


@settings(COMMON, max_examples=150)
@given(related(), worlds, st.integers(0, 2**32))
def test_guards_that_cover_everything_are_never_all_false(
    pair: tuple[str, str], world: World, seed: int
) -> None:
    question = Question((), tuple(map(parse_guard, pair)))
    check(decide(question, world), question, world, seed)
