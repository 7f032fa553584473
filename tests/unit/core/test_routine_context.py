"""`ctx`, member by member (`docs/spec/authoring.md` 8.4)."""

from __future__ import annotations

import enum
from typing import Any

import pytest
from pydantic import BaseModel

from stateous import Context, Occurrence
from stateous.json import Json
from stateous.routine import EnteredBy


class Verdict(BaseModel):
    approved: bool
    note: str | None = None


class reviewed(Occurrence[Verdict]):
    name = "reviewed"


class submitted(Occurrence[None]):
    name = "submitted"


class Colour(enum.StrEnum):
    RED = "red"


class Outbox:
    """What a supervisor's outbox would hold; `full` lets every write fail."""

    def __init__(self) -> None:
        self.messages: list[tuple[Any, ...]] = []
        self.full = False

    def note(self, text: str) -> None:
        self._put("note", text)

    def memory(self, key: str, value: Json) -> None:
        self._put("memory", key, value)

    def _put(self, *message: Any) -> None:
        if self.full:
            raise OSError("the disk is full")
        self.messages.append(message)


def context(outbox: Outbox | None = None, **changed: Any) -> Context[Any]:
    grant = {
        "task": 4,
        "token": "INV-3",
        "state": "review",
        "visit": 2,
        "attempt": 1,
        "context": {"title": "May", "lines": [1, {"a": 2}]},
        "memory": {"seen": [1]},
        "entered_by": {"name": "submitted"},
    }
    return Context({**grant, **changed}, outbox or Outbox())


def test_what_the_grant_brings() -> None:
    ctx = context()
    assert (ctx.token, ctx.task, ctx.visit, ctx.attempt) == ("INV-3", 4, 2, 1)
    assert ctx.entered_by == EnteredBy("submitted", None)
    branches = {"branches": [{"workflow": "w"}]}
    joined = context(entered_by={"name": "joined", "payload": branches}).entered_by
    assert (joined.name, joined.payload) == ("joined", branches)
    assert context(entered_by=None).entered_by == EnteredBy("__started__")


def test_reading_gives_copies() -> None:
    ctx = context()
    ctx["lines"][1]["a"] = 9
    ctx.get("lines").append(3)
    assert ctx["lines"] == [1, {"a": 2}]
    with pytest.raises(KeyError, match="nosuch"):
        ctx["nosuch"]
    assert ctx.get("nosuch") is None
    assert ctx.get("nosuch", 5) == 5


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (None, None),
        ((1, (2,)), [1, [2]]),
        ({1: "a", None: {True: 2}}, {"1": "a", "null": {"true": 2}}),
        (Colour.RED, "red"),
        (10**40, 10**40),
        ("é\U0001f600", "é\U0001f600"),
    ],
)
def test_writes_are_kept_as_json_keeps_them(value: Any, kept: Any) -> None:
    ctx = context()
    ctx["k"] = value
    assert ctx["k"] == kept
    assert ctx.writes() == {"k": kept}


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("inf")],
        pytest.param(object(), id="an object"),
        {1, 2},
        b"x",
        Verdict(approved=True),
        [Verdict(approved=True)],
        {(1, 2): 3},
        {1: "a", "1": "b"},
        "\ud800",
        "a\0b",
    ],
    ids=repr,
)
def test_what_is_not_json_is_refused_at_once(value: Any) -> None:
    ctx = context()
    with pytest.raises(TypeError):
        ctx["k"] = value
    assert ctx.writes() == {}


def test_nesting_without_end_is_not_json() -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    ctx = context()
    for value in (circle, deep):
        with pytest.raises(TypeError):
            ctx["k"] = value


def test_a_model_is_told_how_to_write_itself() -> None:
    with pytest.raises(TypeError, match="model_dump"):
        context()["k"] = Verdict(approved=True)


@pytest.mark.parametrize("key", [1, None, ("a",), b"a"])
def test_keys_of_the_context_are_text(key: Any) -> None:
    with pytest.raises(TypeError):
        context()[key] = 1


def test_writes_are_seen_by_later_reads_and_are_copies() -> None:
    ctx = context()
    value = [1]
    ctx["new"] = value
    ctx["title"] = "June"
    value.append(2)
    ctx["new"].append(3)
    ctx.writes()["new"].append(4)  # type: ignore[union-attr]
    assert (ctx["new"], ctx["title"]) == ([1], "June")
    assert ctx.writes() == {"new": [1], "title": "June"}
    assert list(ctx) == ["title", "lines", "new"]
    assert len(ctx) == 3
    assert "new" in ctx
    assert "nosuch" not in ctx


def test_a_key_is_never_deleted() -> None:
    ctx = context()
    with pytest.raises(TypeError, match=r"write ctx\['title'\] = None instead"):
        del ctx["title"]
    ctx["title"] = None
    assert ctx["title"] is None
    assert "title" in ctx


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("  done\n", ["done"]),
        ("two\nlines", ["two\nlines"]),
        (" \n ", []),
        ("", []),
        ("x" * 500 + "   ", ["x" * 500]),
    ],
)
def test_notes_are_sent_at_once(text: str, sent: list[str]) -> None:
    outbox = Outbox()
    context(outbox).note(text)
    assert outbox.messages == [("note", each) for each in sent]


@pytest.mark.parametrize(
    ("text", "error"),
    [("x" * 501, ValueError), ("a\0", ValueError), ("\ud800", ValueError), (5, TypeError)],
)
def test_notes_that_cannot_be_sent(text: Any, error: type[Exception]) -> None:
    outbox = Outbox()
    with pytest.raises(error):
        context(outbox).note(text)
    assert outbox.messages == []


def test_memory_sends_each_write_and_each_delete() -> None:
    outbox = Outbox()
    memory = context(outbox).memory
    memory["k" * 128] = (1, 2)
    memory["seen"].append(2)
    del memory["seen"]
    assert memory.pop("nosuch", 7) == 7
    with pytest.raises(KeyError):
        del memory["nosuch"]
    assert dict(memory) == {"k" * 128: [1, 2]}
    assert outbox.messages == [("memory", "k" * 128, [1, 2]), ("memory", "seen", None)]
    memory.update(a=1, b=2)
    assert outbox.messages[2:] == [("memory", "a", 1), ("memory", "b", 2)]


def test_memory_copies_in_and_out() -> None:
    outbox = Outbox()
    memory = context(outbox).memory
    value = {"a": [1]}
    memory["k"] = value
    value["a"].append(2)
    memory["k"]["a"].append(3)
    outbox.messages[0][2]["a"].append(4)
    assert memory["k"] == {"a": [1]}


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("", 1, ValueError),
        ("k" * 129, 1, ValueError),
        ("a\0", 1, ValueError),
        (1, 1, TypeError),
        ("k", None, TypeError),
        ("k", object(), TypeError),
        ("k", float("nan"), TypeError),
    ],
)
def test_memory_refuses(key: Any, value: Any, error: type[Exception]) -> None:
    outbox = Outbox()
    with pytest.raises(error):
        context(outbox).memory[key] = value
    assert outbox.messages == []


def test_memory_keeps_nothing_that_could_not_be_written() -> None:
    outbox = Outbox()
    memory = context(outbox).memory
    outbox.full = True
    with pytest.raises(OSError, match="full"):
        memory["k"] = 1
    with pytest.raises(OSError, match="full"):
        del memory["seen"]
    assert dict(memory) == {"seen": [1]}


def test_schedule_collects_timers() -> None:
    ctx = context()
    ctx.schedule(submitted, after="2h")
    ctx.schedule(submitted(), after="1s")
    ctx.schedule(reviewed(Verdict(approved=True)), after="3d")
    ctx.schedule(reviewed({"approved": False, "note": "no"}), after="3d")
    timers = [
        {"event": "submitted", "after": "2h"},
        {"event": "submitted", "after": "1s"},
        {"event": "reviewed", "after": "3d", "payload": {"approved": True}},
        {"event": "reviewed", "after": "3d", "payload": {"approved": False, "note": "no"}},
    ]
    ctx.schedules().clear()
    assert ctx.schedules() == timers


@pytest.mark.parametrize(
    ("event", "after", "error"),
    [
        (reviewed, "1h", ValueError),
        (reviewed(), "1h", ValueError),
        (reviewed({"approved": "perhaps"}), "1h", ValueError),
        (submitted({}), "1h", ValueError),
        (submitted, "1w", ValueError),
        (submitted, 60, ValueError),
        ("submitted", "1h", TypeError),
        (Occurrence, "1h", TypeError),
        (Verdict(approved=True), "1h", TypeError),
    ],
)
def test_schedule_refuses(event: Any, after: Any, error: type[Exception]) -> None:
    ctx = context()
    with pytest.raises(error):
        ctx.schedule(event, after=after)
    assert ctx.schedules() == []
