"""What the routine of a job is marked with, and what its `ctx` gives and takes."""

import pytest

from stateous.routine import JobContext, job_of, on_job, state_of
from stateous.routine.jsonable import copied


class Heard:
    """A sink that keeps what it hears."""

    def __init__(self):
        self.said = []

    def note(self, text):
        self.said.append(("note", text))

    def memory(self, key, value):
        self.said.append(("memory", key, value))

    def emit(self, event, value):
        self.said.append(("emit", event, copied(value)))


def context(sink=None, **changes):
    grant = {
        "task": 7,
        "token": "run-a",
        "machine": "review",
        "state": "pricing",
        "job": "pricing",
        "visit": 2,
        "attempt": 3,
        "input": {"cost": 4},
        "timeout": 300,
        "memory": {"seen": 1},
        "routine": "price",
    }
    return JobContext(grant | changes, sink if sink is not None else Heard())


def test_a_marked_function_is_the_same_and_knows_its_job():
    def price(ctx):
        return ctx

    assert on_job("review/price")(price) is price
    assert job_of(price) == "review/price"
    assert state_of(price) is None


def test_a_second_mark_replaces_the_first():
    marked = on_job("review/b")(on_job("review/a")(lambda ctx: None))

    assert job_of(marked) == "review/b"


@pytest.mark.parametrize(
    "name",
    ["price", "review/", "/price", "Review/price", "review/price/x", "review/1x", "", "review/p q"],
)
def test_a_name_that_no_job_can_have_is_refused(name):
    with pytest.raises(ValueError, match="<machine>/<routine>"):
        on_job(name)


def test_a_name_is_text():
    with pytest.raises(TypeError, match="as text, not 5"):
        on_job(5)


def test_it_knows_its_task():
    ctx = context()

    assert (ctx.token, ctx.task, ctx.visit, ctx.attempt) == ("run-a", 7, 2, 3)
    assert repr(ctx) == "<JobContext of task 7, run run-a>"


def test_the_input_is_a_copy():
    ctx = context()
    ctx.input["cost"] = 5

    assert ctx.input == {"cost": 4}


def test_notes_memory_and_values_are_told_at_once_and_in_order():
    heard = Heard()
    ctx = context(heard)

    ctx.note(" half ")
    ctx.emit("progress", {"done": (1, 2)})
    ctx.memory["seen"] = 2
    ctx.emit("beat")

    assert heard.said == [
        ("note", "half"),
        ("emit", "progress", {"done": [1, 2]}),
        ("memory", "seen", 2),
        ("emit", "beat", None),
    ]


@pytest.mark.parametrize("name", ["start", "done", "failed", "timer"])
def test_reserved_events_are_not_emitted(name):
    heard = Heard()

    with pytest.raises(ValueError, match="is reserved"):
        context(heard).emit(name, 1)
    assert heard.said == []


@pytest.mark.parametrize("name", ["", "1x", "a b", "x" * 65, "é", "a\n"])
def test_a_name_that_no_event_can_have_is_not_emitted(name):
    with pytest.raises(ValueError, match="cannot name an event"):
        context().emit(name, 1)


@pytest.mark.parametrize("value", [float("nan"), object(), {"a": {1, 2}}, "\ud800", "\x00"])
def test_a_value_is_json(value):
    with pytest.raises(TypeError):
        context().emit("progress", value)


def test_a_value_has_a_mebibyte_at_most():
    heard = Heard()
    context(heard).emit("blob", "x" * (1_048_576 - 2))

    with pytest.raises(ValueError, match="1048577 bytes as JSON"):
        context(heard).emit("blob", "x" * (1_048_576 - 1))
    assert len(heard.said) == 1


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_a_value_fits_into_the_depth_of_a_request():
    context().emit("deep", nested(61))

    with pytest.raises(ValueError, match="61 levels"):
        context().emit("deep", nested(62))


def test_an_attempt_emits_ten_thousand_values_at_most():
    heard = Heard()
    ctx = context(heard)
    for number in range(10_000):
        ctx.emit("tick", number)

    with pytest.raises(ValueError, match="more than 10000"):
        ctx.emit("tick")
    assert len(heard.said) == 10_000


@pytest.mark.parametrize(
    "use",
    [
        lambda ctx: ctx["cost"],
        lambda ctx: ctx.__setitem__("cost", 1),
        lambda ctx: ctx.__delitem__("cost"),
        lambda ctx: "cost" in ctx,
        lambda ctx: list(ctx),
        lambda ctx: len(ctx),
        lambda ctx: ctx.get("cost"),
        lambda ctx: ctx.schedule(object(), after="1h"),
    ],
    ids=["read", "write", "delete", "in", "iterate", "length", "get", "schedule"],
)
def test_a_job_has_no_context_and_no_timers(use):
    with pytest.raises(TypeError, match="a job"):
        use(context())
