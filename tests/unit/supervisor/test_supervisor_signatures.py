"""A routine that cannot be called with a `ctx` alone is found at the start."""

import functools

import pytest

from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.registry import load_routines
from stateous_supervisor.signatures import misfit

HEAD = "from stateous import on_state\nfrom contract import states\n@on_state(states.draft)\n"


class WithCall:
    def __call__(self, ctx): ...


class WithoutArgument:
    def __call__(self): ...


def two(ctx, extra): ...


@pytest.mark.parametrize(
    "routine",
    [
        lambda ctx: None,
        lambda ctx, extra=1: None,
        lambda *given: None,
        lambda ctx, *more, key=1, **others: None,
        functools.partial(two, extra=1),
        functools.partial(two, 1),
        WithCall(),
        dict,  # Python knows no signature of it
    ],
)
def test_what_can_be_called_with_a_ctx(routine):
    assert misfit("work.work", routine) is None


@pytest.mark.parametrize(
    ("routine", "why"),
    [
        (lambda: None, "work.work() is called with one argument, the ctx: too many positional"),
        (two, "work.work(ctx, extra) is called with one argument, the ctx: missing a required"),
        (lambda ctx, *, key: None, "work.work(ctx, key) is called with one argument, the ctx: mis"),
        (lambda **ctx: None, "work.work(**ctx) is called with one argument, the ctx: too many"),
        (WithoutArgument(), "work.work() is called with one argument, the ctx: too many"),
    ],
)
def test_what_cannot(routine, why):
    assert misfit("work.work", routine).startswith(why)


@pytest.mark.parametrize("head", ["def", "async def"])
def test_a_supervisor_refuses_it_at_its_start(write_folder, head):
    folder = write_folder(work=f"{HEAD}{head} draft(ctx, events): ...\n")
    with pytest.raises(SupervisorError) as refused:
        load_routines(folder)
    assert str(refused.value) == (
        f"cannot load the routines in {folder}: work.draft(ctx, events) is called with one "
        "argument, the ctx: missing a required argument: 'events'"
    )
