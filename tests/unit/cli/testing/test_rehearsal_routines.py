"""Routines in a rehearsal: what they return, raise, say and remember, as a supervisor has it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from stateous import END, START, Context, Occurrence, StateRef, Workflow, on_state
from stateous_cli.testing import Rehearsal, RehearsalError


class Note(BaseModel):
    pages: int
    by: str | None = None


class Order(BaseModel):
    size: int = 1
    note: Note | None = None


class packed(Occurrence[Note]):
    name = "packed"


class refused(Occurrence[None]):
    name = "refused"


class lost(Occurrence[None]):
    name = "lost"


PACKING: StateRef[Any] = StateRef("packing", emits=(packed, refused))


def orders(*, retries: int = 0) -> Workflow:
    flow = Workflow("orders", context=Order)
    packing = flow.state("packing", timeout="6h", retries=retries)
    sending = flow.state("sending")
    done = flow.event("packed", payload=Note, into="note")
    no = flow.event("refused")
    sent = flow.event("sent")
    flow.transition(START, packing)
    flow.transition(packing, sending, on=done)
    flow.transition(packing, END, on=no)
    flow.transition(sending, END, on=sent)
    return flow


def routine(function: Callable[..., Any]) -> Callable[..., Any]:
    return on_state(PACKING)(function)


@pytest.fixture
def play() -> Iterator[Rehearsal]:
    with Rehearsal(orders(retries=1)) as play:
        yield play


def test_a_def_and_an_async_def_routine_move_the_token() -> None:
    @routine
    async def pack(ctx: Context[Order]) -> packed:
        await asyncio.sleep(0)
        return packed(Note(pages=ctx["size"]))

    with Rehearsal(orders(), [pack]) as play:
        order = play.start("O-1", {"size": 3})
        assert (order.state, order.status, order.visit) == ("packing", "active", 1)
        play.routine("sending", lambda ctx: "sent")
        play.run()
        assert order.status == "completed"
        # A field that is None and has the default None is left out of a payload.
        assert order.context == {"size": 3, "note": {"pages": 3}}
        assert order.path == ["packing", "sending"]
        assert order.events == ["packed", "sent"]


@pytest.mark.parametrize(
    ("ends_with", "error"),
    [
        (packed({"pages": "many"}), "'packed' got a bad payload: payload.pages"),
        (packed(), "the payload of 'packed' must be an object"),
        (lost(), "returned lost(None); it may return packed, refused, or None to wait"),
        (packed, "it may return packed, refused, or None to wait"),
        ("packed", "returned 'packed'; it may return packed, refused, or None to wait"),
        (ValueError("two\nlines"), "ValueError: two\nlines"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
@pytest.mark.parametrize("on_loop", [False, True])
def test_what_cannot_be_reported_fails_the_attempt(
    ends_with: Any, error: str, on_loop: bool
) -> None:
    def end(ctx: Context[Order]) -> Any:
        if isinstance(ends_with, BaseException):
            raise ends_with
        return ends_with

    async def end_later(ctx: Context[Order]) -> Any:
        return end(ctx)

    with Rehearsal(orders(retries=1), [routine(end_later if on_loop else end)]) as play:
        order = play.start("O-1")
        play.run()
        errors = [
            each["data"]["error"] for each in order.history() if each["kind"] == "task_failed"
        ]
        assert len(errors) == 2
        assert error in errors[0]
        assert order.status == "failed"


def test_a_def_that_returns_a_coroutine_has_failed(play: Rehearsal) -> None:
    async def pack(ctx: Context[Order]) -> str:
        return "refused"

    play.routine("packing", lambda ctx: pack(ctx))
    order = play.start("O-1")
    play.run()
    assert "write it as async def" in order.story()


def test_a_failed_attempt_drops_writes_and_keeps_notes_and_memory(play: Rehearsal) -> None:
    seen: list[tuple[int, object, object]] = []

    def pack(ctx: Context[Order]) -> str:
        seen.append((ctx.attempt, ctx["size"], ctx.memory.get("tries")))
        ctx["size"] = 10 * ctx.attempt
        ctx.memory["tries"] = ctx.attempt
        ctx.note(f"attempt {ctx.attempt}")
        if ctx.attempt == 1:
            raise RuntimeError
        return "refused"

    play.routine("packing", pack)
    order = play.start("O-1")
    play.run()
    assert seen == [(1, 1, None), (2, 1, 1)]
    assert order.notes == ["attempt 1", "attempt 2"]
    assert order.context["size"] == 20
    assert order.memory() == {}, "memory is deleted when the token ends"


def test_a_routine_that_returns_none_waits_for_a_report_from_outside(play: Rehearsal) -> None:
    def pack(ctx: Context[Order]) -> None:
        ctx["size"] = 2
        ctx.memory["asked"] = True

    play.routine(PACKING, pack)
    order = play.start("O-1")
    play.run()
    assert order.task is not None
    assert order.task["status"] == "waiting"
    assert (order.context["size"], order.memory()) == (2, {"asked": True})
    play.advance("5h")
    play.report(order, "packed", {"pages": 4}, context={"size": 5})
    assert order.context == {"size": 5, "note": {"pages": 4}}
    assert order.state == "sending"
    with pytest.raises(RehearsalError, match="'sending' must be a function"):
        play.routine("sending", "sent")  # type: ignore[arg-type]


def test_a_failure_reported_from_outside_uses_up_a_retry(play: Rehearsal) -> None:
    play.routine("packing", lambda ctx: None)
    order = play.start("O-1")
    play.run()
    play.report_failed(order, "the box tore")
    play.run()
    assert order.task is not None
    assert (order.task["status"], order.task["attempt"]) == ("waiting", 2)


def test_a_refused_report_fails_the_attempt_in_its_place(play: Rehearsal) -> None:
    def pack(ctx: Context[Order]) -> str:
        ctx["size"] = "large"
        return "refused"

    play.routine("packing", pack)
    order = play.start("O-1")
    play.run()
    assert order.status == "failed"
    assert "the control plane refused the report: orders: size:" in order.story()


def test_a_routine_that_moves_its_own_token_reports_to_nobody(play: Rehearsal) -> None:
    def pack(ctx: Context[Order]) -> tuple[str, dict[str, Any]]:
        with play.client() as client:
            client.fire(ctx.token, "packed", {"pages": 1})
        ctx.note("too late")
        return "packed", {"pages": 2}

    play.routine("packing", pack)
    order = play.start("O-1")
    play.run()
    assert order.state == "sending"
    assert order.context["note"] == {"pages": 1}
    assert order.notes == []


def test_a_routine_cannot_let_things_happen(play: Rehearsal) -> None:
    play.routine("packing", lambda ctx: play.advance("1h"))
    order = play.start("O-1")
    play.run()
    assert "advance() was called by a routine" in order.story()


def test_ctrl_c_ends_the_test_and_not_the_attempt(play: Rehearsal) -> None:
    def pack(ctx: Context[Order]) -> None:
        raise KeyboardInterrupt

    play.routine("packing", pack)
    play.start("O-1")
    with pytest.raises(KeyboardInterrupt):
        play.run()


def test_a_schedule_fires_in_its_time_unless_the_token_has_moved(play: Rehearsal) -> None:
    def pack(ctx: Context[Order]) -> None:
        ctx.schedule(packed(Note(pages=9)), after="2h")

    play.routine("packing", pack)
    order = play.start("O-1")
    play.advance("1h")
    assert order.state == "packing"
    play.advance("1h")
    assert order.context["note"] == {"pages": 9}


def test_nobody_works_on_a_state_without_a_routine(play: Rehearsal) -> None:
    play.routine("packing", lambda ctx: "refused")
    play.routine("packing", None)
    order = play.start("O-1")
    play.run()
    assert order.task is not None
    assert order.task["status"] == "queued"


def test_routines_may_use_threads(play: Rehearsal) -> None:
    async def pack(ctx: Context[Order]) -> tuple[str, dict[str, Any]]:
        with play.client() as client:
            token = await asyncio.to_thread(client.get, ctx.token)
        return "packed", {"pages": token["visit"]}

    play.routine("packing", pack)
    order = play.start("O-1")
    play.run()
    assert order.state == "sending"


async def test_a_rehearsal_works_inside_an_async_test(play: Rehearsal) -> None:
    async def pack(ctx: Context[Order]) -> str:
        await asyncio.sleep(3600)
        return "refused"

    play.routine("packing", pack)
    order = play.start("O-1")
    play.advance("59m")
    assert order.status == "active"
    play.advance("1m")
    assert order.status == "completed"
    play.routine("packing", lambda ctx: 1 / 0)
    play.start("O-2")
    play.run()
    with pytest.raises(RehearsalError, match="no open task"):
        play.report("O-2", "refused")


def test_routines_that_do_not_fit_the_workflow_are_refused() -> None:
    def unmarked(ctx: Context[Order]) -> None: ...

    @on_state(StateRef("parking"))
    def elsewhere(ctx: Context[Order]) -> None: ...

    @on_state(StateRef("packing", emits=(packed,)))
    def older(ctx: Context[Order]) -> None: ...

    @routine
    def one(ctx: Context[Order]) -> None: ...

    for routines, sentence in [
        ([unmarked], r"decorate it with @on_state"),
        ([elsewhere], r"no state 'parking' with a routine; those are 'packing', 'sending'"),
        ([older], r"another version .* emits 'packed', and here 'packed', 'refused'"),
        ([one, routine(lambda ctx: None)], r"'packing' has two routines"),
    ]:
        with pytest.raises(RehearsalError, match=sentence):
            Rehearsal(orders(), routines)
