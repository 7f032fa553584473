"""Occurrences, what they are reported as, and outcomes as data (`docs/spec/authoring.md` 8.5)."""

from __future__ import annotations

import datetime as dt
from typing import Any, Never

import jsonschema_rs
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel

from stateous import Occurrence, OutcomeError, StateRef, on_state
from stateous.routine import payload_of, reported_payload, state_of


class Line(BaseModel):
    sku: str
    note: str | None = None
    size: int | None = 1


class Lines(RootModel[dict[str, Line]]):
    pass


class Quote(BaseModel):
    lines: list[Line] = []
    best: Line | None = None
    named: dict[str, Line | None] = {}
    root: Lines | None = None
    pair: tuple[Line, int] | None = None
    required: int | None
    valid: dt.date | None = None
    made: list[int] | None = Field(default_factory=list)
    total: float = 0


class quoted(Occurrence[Quote]):
    name = "quoted"


class refused(Occurrence[None]):
    name = "refused"


class counted(Occurrence[dict[str, int]]):
    name = "counted"


review = StateRef("shop/review", emits=(quoted, refused))


def test_an_occurrence_knows_its_model_and_keeps_its_payload() -> None:
    assert quoted.payload_model() is Quote
    assert refused.payload_model() is None
    assert counted.payload_model() is None
    payload = {"any": "thing"}
    assert quoted(payload).payload is payload
    assert repr(quoted(Line(sku="a"))) == "quoted(Line(sku='a', note=None, size=1))"
    assert repr(refused()) == "refused(None)"


def test_an_event_derived_from_another_keeps_its_model() -> None:
    class late(quoted):
        name = "late"

    assert late.payload_model() is Quote
    assert not review.may_emit(late())


def test_may_emit_asks_for_the_exact_class() -> None:
    assert review.may_emit(refused())
    assert not review.may_emit(refused)
    assert not review.may_emit(counted())
    assert not StateRef[Never]("stuck", emits=()).may_emit(refused())


def test_a_state_ref_is_frozen() -> None:
    with pytest.raises(AttributeError):
        review.name = "x"  # type: ignore[misc]
    assert StateRef("a") == StateRef("a", emits=())


def test_nulls_that_are_defaults_are_left_out_at_every_depth() -> None:
    line = Line(sku="a", size=None)
    quote = Quote(
        lines=[line, Line(sku="b", note="n")],
        best=line,
        named={"x": line, "y": None},
        root=Lines({"z": line}),
        pair=(line, 1),
        required=None,
        made=None,
    )
    bare = {"sku": "a", "size": None}
    assert payload_of(quoted(quote)) == {
        "lines": [bare, {"sku": "b", "note": "n", "size": 1}],
        "best": bare,
        "named": {"x": bare, "y": None},
        "root": {"z": bare},
        "pair": [bare, 1],
        "required": None,
        "made": None,
        "total": 0.0,
    }


class Twin(BaseModel):
    """Another model that reads like a Quote."""

    needed: int | None = Field(None, alias="required")
    valid: dt.date = dt.date(2027, 3, 1)


@pytest.mark.parametrize(
    ("payload", "dumped"),
    [
        ({"required": "5"}, {"required": 5}),
        ({"required": 1, "valid": dt.date(2027, 1, 2)}, {"required": 1, "valid": "2027-01-02"}),
        (Twin(required=7), {"required": 7, "valid": "2027-03-01"}),
        (Twin(), {"required": None, "valid": "2027-03-01"}),
    ],
)
def test_dicts_and_other_models_are_validated_first(payload: Any, dumped: dict[str, Any]) -> None:
    assert payload_of(quoted(payload)) == {
        "lines": [], "named": {}, "made": [], "total": 0.0, **dumped,
    }  # fmt: skip


class Camel(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    user_id: int | None = Field(None, alias="userId")
    when: dt.datetime | None = None


class moved(Occurrence[Camel]):
    name = "moved"


def test_models_are_dumped_by_alias() -> None:
    assert payload_of(moved(Camel(user_id=1))) == {"userId": 1}
    assert payload_of(moved(Camel())) == {}


@pytest.mark.parametrize(
    ("occurrence", "words"),
    [
        (refused({}), "'refused' carries no payload"),
        (refused(0), "'refused' carries no payload"),
        (quoted(), "must be an object of its fields, not None"),
        (quoted([]), "must be an object of its fields, not \\[\\]"),
        (quoted("text"), "must be an object"),
        (quoted({}), "payload.required: Field required"),
        (quoted({"required": 1, "lines": [{"sku": 5}]}), r"payload.lines.0.sku: "),
        (quoted(Line(sku="a")), "payload.required"),
        (quoted(Quote(required=1, total=float("nan"))), "JSON"),
        (quoted(Quote.model_construct(required=object())), "cannot be written"),
        (counted({"a": "x"}), "payload.a"),
    ],
)
def test_payloads_that_do_not_fit(occurrence: Occurrence[Any], words: str) -> None:
    with pytest.raises(OutcomeError, match=words):
        payload_of(occurrence)


def test_payloads_of_a_map_type() -> None:
    assert payload_of(counted({"a": 1})) == {"a": 1}


def test_an_event_of_another_state_names_the_allowed_ones() -> None:
    assert reported_payload(review.name, review.emits, refused()) is None
    with pytest.raises(OutcomeError, match="'shop/review': 'quoted', 'refused'"):
        reported_payload(review.name, review.emits, counted({"a": 1}))


def test_the_schema_of_outcomes_has_a_branch_per_event_and_no_references() -> None:
    schema = review.outcome_schema()
    assert "$ref" not in str(schema)
    assert "$defs" not in str(schema)
    first, second = schema["oneOf"]
    assert first["properties"]["event"] == {"const": "quoted"}
    assert first["properties"]["payload"]["properties"]["lines"]["items"]["required"] == ["sku"]
    assert second == {
        "type": "object",
        "properties": {"event": {"const": "refused"}},
        "required": ["event"],
        "additionalProperties": False,
    }
    check = jsonschema_rs.validator_for(schema)
    assert check.is_valid({"event": "refused"})
    assert check.is_valid({"event": "quoted", "payload": {"required": 1, "lines": [{"sku": "a"}]}})
    assert not check.is_valid({"event": "quoted"})
    assert not check.is_valid({"event": "refused", "payload": None})
    assert not check.is_valid({"event": "quoted", "payload": {"required": 1, "lines": [{}]}})


class Odd(BaseModel):
    """Properties whose names are keywords of JSON Schema, and a default that looks like one."""

    properties: Line | None = None
    discriminator: Line | None = None
    default: dict[str, Any] = {"discriminator": "kept", "items": 1}


class odd(Occurrence[Odd]):
    name = "odd"


def test_schemas_are_inlined_where_schemas_stand_only() -> None:
    payload = StateRef("s", emits=(odd,)).outcome_schema()["oneOf"][0]["properties"]["payload"]
    assert sorted(payload["properties"]) == ["default", "discriminator", "properties"]
    assert payload["properties"]["default"]["default"] == {"discriminator": "kept", "items": 1}
    assert payload["properties"]["discriminator"]["anyOf"][0]["required"] == ["sku"]


class Tree(BaseModel):
    inner: list[Tree] = []


class grown(Occurrence[Tree]):
    name = "grown"


@pytest.mark.parametrize(
    ("state", "words"),
    [(StateRef("stuck"), "emits no events"), (StateRef("s", emits=(grown,)), "refers to itself")],
)
def test_states_without_a_schema_of_outcomes(state: StateRef[Any], words: str) -> None:
    with pytest.raises(OutcomeError, match=words):
        state.outcome_schema()


def test_outcome_makes_the_occurrence() -> None:
    made = review.outcome({"event": "quoted", "payload": {"required": 3}})
    assert isinstance(made, quoted)
    assert made.payload == Quote(required=3)
    assert isinstance(review.outcome({"event": "refused"}), refused)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "not None"),
        ("refused", "not 'refused'"),
        ([], "not \\[\\]"),
        ({}, "event: 'event' is missing"),
        ({"event": "nosuch"}, "event: unknown event 'nosuch'"),
        ({"event": ["refused"]}, "event: unknown event"),
        ({"event": "refused", "why": 1}, "'why'"),
        ({"event": "refused", "payload": None}, "payload: 'refused' carries none"),
        ({"event": "quoted"}, "payload: 'quoted' needs one"),
        ({"event": "quoted", "payload": None}, "must be an object"),
        ({"event": "quoted", "payload": {"required": "x"}}, "payload.required"),
        ({"event": "quoted", "payload": {"required": 1, "lines": [{}]}}, "payload.lines.0.sku"),
    ],
)
def test_data_that_is_no_outcome(data: Any, words: str) -> None:
    with pytest.raises(OutcomeError, match=words) as refusal:
        review.outcome(data)
    assert "'quoted', 'refused'" in str(refusal.value)
    assert isinstance(refusal.value, ValueError)


def test_on_state_marks_a_function_and_returns_it() -> None:
    def routine(ctx: Any) -> None: ...

    assert on_state(review)(routine) is routine
    assert state_of(routine) is review
    other = StateRef("other")
    assert state_of(on_state(other)(routine)) is other
    assert state_of(print) is None
    assert state_of(object()) is None


@pytest.mark.parametrize("ref", ["review", None, StateRef, refused])
def test_on_state_takes_a_state_only(ref: Any) -> None:
    with pytest.raises(TypeError, match=r"contract\.states"):
        on_state(ref)
