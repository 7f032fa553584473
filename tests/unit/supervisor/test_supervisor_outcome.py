from typing import ClassVar

import pytest
from pydantic import BaseModel, field_validator

from stateous.routine import Context, Occurrence, StateRef
from stateous_supervisor.outcome import failed, idle_timers, raised, returned, told


class Verdict(BaseModel):
    approved: bool
    note: str | None = None

    @field_validator("note")
    @classmethod
    def _check(cls, value):
        if value == "explode":
            raise RuntimeError("the author's own")
        return value


class Tree(BaseModel):
    inner: dict


class submitted(Occurrence[None]):
    name = "submitted"


class reviewed(Occurrence[Verdict]):
    name = "reviewed"


class nested(Occurrence[Tree]):
    name = "nested"


class late(reviewed):
    name: ClassVar[str] = "reviewed"


REVIEW = StateRef("review", emits=(reviewed, submitted, nested))
STUCK = StateRef("stuck", emits=())


class Silent:
    def note(self, text): ...
    def memory(self, key, value): ...


def context():
    grant = {
        "task": 2, "token": "INV-7", "state": "review", "visit": 1, "attempt": 3,
        "context": {"title": "May"}, "memory": {},
    }  # fmt: skip
    return Context(grant, Silent())


def event(name, **payload):
    return {"kind": "event", "event": name} | ({"payload": payload} if payload else {})


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (None, {"kind": "waiting"}),
        (submitted(), event("submitted")),
        (reviewed(Verdict(approved=True)), event("reviewed", approved=True)),
        (reviewed({"approved": False, "note": "x"}), event("reviewed", approved=False, note="x")),
    ],
)
def test_what_a_routine_returns_is_reported_with_its_writes_and_timers(value, outcome):
    ctx = context()
    ctx["title"] = "June"
    ctx.schedule(submitted, after="2h")
    assert returned(REVIEW, value, ctx) == outcome | {
        "context": {"title": "June"},
        "schedules": [{"event": "submitted", "after": "2h"}],
        "attempt": 3,
    }


MAY = "it may return reviewed, submitted, nested, or None to wait"


def deep(levels):
    made = {}
    for _ in range(levels):
        made = {"a": made}
    return made


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (5, f"the routine of 'review' returned 5; {MAY}"),
        (False, f"the routine of 'review' returned False; {MAY}"),
        ("x" * 200, f"the routine of 'review' returned '{'x' * 98}…; {MAY}"),
        (reviewed, f"the routine of 'review' returned {reviewed!r:.99}…; {MAY}"),
        (
            late({"approved": True}),
            f"the routine of 'review' returned reviewed({{'approved': True}}); {MAY}",
        ),
        (submitted({"a": 1}), f"'submitted' carries no payload, and got {{'a': 1}}; {MAY}"),
    ],
    ids=["number", "False", "long", "class", "subclass", "payload for none"],
)
def test_what_a_routine_must_not_return_is_a_failure_that_names_the_events(value, error):
    ctx = context()
    ctx["title"] = "dropped"
    ctx.schedule(submitted, after="2h")
    outcome = returned(REVIEW, value, ctx)
    if value is reviewed:
        assert outcome["error"].endswith(MAY)
        outcome["error"] = error
    assert outcome == failed(error, 3)


def test_a_payload_that_does_not_fit_names_its_first_bad_field():
    outcome = returned(REVIEW, reviewed({"approved": "maybe"}), context())
    assert outcome["kind"] == "failed"
    assert "payload.approved" in outcome["error"]
    assert outcome["error"].endswith(MAY)


def test_a_state_without_events_may_return_none_only():
    assert returned(STUCK, submitted(), context())["error"] == (
        "the routine of 'stuck' returned submitted(None); "
        "it may return None only: the state has no events"
    )


def test_an_outcome_that_the_wire_does_not_take_is_a_failure():
    outcome = returned(REVIEW, nested({"inner": deep(61)}), context())
    assert outcome["kind"] == "event"
    outcome = returned(REVIEW, nested({"inner": deep(62)}), context())
    assert outcome["kind"] == "failed"
    assert "64 levels" in outcome["error"]


def test_what_the_authors_code_raises_comes_through():
    with pytest.raises(RuntimeError, match="the author's own"):
        returned(REVIEW, reviewed({"approved": True, "note": "explode"}), context())


class Mute(Exception):
    def __str__(self):
        raise KeyError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (ValueError("two\nlines"), "ValueError: two\nlines"),
        (ValueError(), "ValueError"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (KeyError("k"), "KeyError: 'k'"),
        (ValueError("a\x00b\ud800"), "ValueError: a\\x00b\\ud800"),
        (Mute(), "Mute: (its text cannot be made: KeyError)"),
    ],
)
def test_what_a_routine_raises_is_its_type_and_text(error, text):
    assert raised(error, 3) == failed(text, 3)


def test_the_text_of_an_error_stays_far_below_the_limit_of_a_body():
    text = raised(ValueError("ä" * 10**7), 1)["error"]
    assert len(text) == 100_000
    assert text.endswith("…")


def test_failed():
    assert failed("why", 2) == {
        "kind": "failed", "error": "why", "context": {}, "schedules": [], "attempt": 2,
    }  # fmt: skip


def test_an_outcome_in_a_word_and_the_timers_that_do_nothing():
    ctx = context()
    ctx.schedule(submitted, after="1d")
    moved, waiting = returned(REVIEW, submitted(), ctx), returned(REVIEW, None, ctx)
    assert [told(it) for it in (moved, waiting, failed("x", 1))] == [
        "submitted", "waiting", "failed",
    ]  # fmt: skip
    assert [idle_timers(it) for it in (moved, waiting, failed("x", 1))] == [["submitted"], [], []]


def test_an_error_that_is_cut_leaves_no_part_of_a_ticket_value() -> None:
    value = "tk_" + "v" * 43
    text = failed("x" * 99_980 + value + "!" * 100, 1)["error"]
    assert text == "x" * 99_980 + "…"
