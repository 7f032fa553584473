import asyncio
import contextvars
import queue
import signal
import threading
from pathlib import Path

import pytest

from stateous.routine import Occurrence, StateRef
from stateous_supervisor.messages import Attempt
from stateous_supervisor.outbox import Outbox
from stateous_supervisor.outcome import failed
from stateous_supervisor.registry import Routine
from stateous_supervisor.runner import Runner


class submitted(Occurrence[None]):
    name = "submitted"


DRAFT = StateRef("draft", emits=(submitted,))
SUBMITTED = {
    "kind": "event", "event": "submitted", "context": {}, "schedules": [], "attempt": 1,
}  # fmt: skip


def attempt(task):
    return Attempt(task, 1)


class Desk:
    def __init__(self, folder):
        self.ended = queue.Queue()
        self.written = []
        self.outbox = Outbox.open(folder, written=self.written.extend)
        self.runner = Runner(
            self.outbox, lambda *end: self.ended.put(end), folder=Path(__file__).parent
        )

    def start(self, task, call):
        grant = {
            "task": task, "token": f"INV-{task}", "state": "draft", "visit": 1, "attempt": 1,
            "context": {}, "memory": {"tries": 1},
        }  # fmt: skip
        on_loop = asyncio.iscoroutinefunction(call)
        routine = Routine(DRAFT, call, f"draft.{call.__name__}", on_loop)
        self.runner.start(attempt(task), routine, grant)

    def run(self, call):
        self.start(1, call)
        ended, outcome = self.ended.get(timeout=10)
        assert ended == attempt(1)
        return outcome


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.runner.close(10)
    made.outbox.close()


def both(text):
    """The same body as a `def` and as an `async def` routine."""
    made = []
    for head in ("def", "async def"):
        scope = {"submitted": submitted, "asyncio": asyncio}
        exec(f"{head} routine(ctx):\n    {text}\n", scope)
        made.append(pytest.param(scope["routine"], id=f"{head}: {text}"))
    return made


@pytest.mark.parametrize("routine", both("return submitted()"))
def test_what_is_returned_is_the_outcome(desk, routine):
    assert desk.run(routine) == SUBMITTED


@pytest.mark.parametrize(
    ("routine", "error"),
    [
        pytest.param(*routine.values, error, id=routine.id)
        for text, error in [
            ("raise ValueError('boom')", "ValueError: boom"),
            ("raise SystemExit(3)", "SystemExit: 3"),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            ("raise asyncio.CancelledError('mine')", "CancelledError: mine"),
            ("raise GeneratorExit", "GeneratorExit"),
        ]
        for routine in both(text)
    ],
)
def test_whatever_is_raised_is_a_failure(desk, routine, error, caplog):
    assert desk.run(routine) == failed(error, 1)
    assert "task 1 of INV-1: the routine of draft raised" in caplog.text
    assert "in routine" in caplog.text, "the author's traceback is in the log"
    assert desk.run(both("return submitted()")[1].values[0]) == SUBMITTED, "others go on"


def test_a_def_that_returns_a_coroutine_has_failed(desk):
    async def inner(): ...

    def routine(ctx):
        return inner()

    assert desk.run(routine)["error"] == (
        "the routine of 'draft' is a def that returned a coroutine: write it as async def"
    )


def test_async_routines_run_at_once_on_a_loop_of_their_own(desk):
    async def routine(ctx):
        threads.add(threading.current_thread().name)
        await both_are_there.wait()
        return submitted()

    threads, both_are_there = set(), asyncio.Barrier(2)
    desk.start(1, routine)
    desk.start(2, routine)
    assert {desk.ended.get(timeout=10)[0] for _ in range(2)} == {attempt(1), attempt(2)}
    assert threads == {"routines"}


def test_def_routines_run_in_daemon_threads_that_nothing_waits_for(desk):
    never, begun = threading.Event(), queue.Queue()

    def routine(ctx):
        begun.put(threading.current_thread())
        never.wait(60)

    desk.start(1, routine)
    thread = begun.get(timeout=10)
    assert thread.daemon
    assert desk.run(both("return submitted()")[0].values[0]) == SUBMITTED
    never.set()
    desk.ended.get(timeout=10)


SETTING = contextvars.ContextVar("SETTING", default="fresh")
OF_THREAD = threading.local()


def state_of_thread():
    try:
        loop = asyncio.get_event_loop_policy().get_event_loop()
    except RuntimeError:
        loop = None
    return (
        SETTING.get(), dict(vars(OF_THREAD)), loop, signal.pthread_sigmask(0, ()),
        threading.current_thread().name,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows has no signal masks")
@pytest.mark.filterwarnings("ignore:.*event_loop_policy:DeprecationWarning")
def test_what_a_def_routine_leaves_on_its_thread_does_not_meet_the_next_one(desk):
    met = []

    def routine(ctx):
        met.append(state_of_thread())
        SETTING.set("left")
        OF_THREAD.left = True
        asyncio.set_event_loop(desk.runner.loop)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        threading.current_thread().name = "left"

    for _ in range(3):
        desk.run(routine)
    assert met == [("fresh", {}, None, set(), "draft of INV-1 (task 1)")] * 3


def test_a_cancelled_async_routine_ends_without_an_outcome(desk):
    begun = threading.Event()

    async def routine(ctx):
        begun.set()
        await asyncio.sleep(60)

    desk.start(1, routine)
    begun.wait(10)
    desk.runner.cancel(attempt(1))
    assert desk.ended.get(timeout=10) == (attempt(1), None)


def test_one_that_is_cancelled_before_it_began_ends_too(desk):
    async def routine(ctx): ...

    holding = threading.Event()
    desk.runner.loop.call_soon_threadsafe(holding.wait, 10)
    desk.start(1, routine)
    desk.runner.cancel(attempt(1))
    holding.set()
    assert desk.ended.get(timeout=10) == (attempt(1), None)


def test_a_cancelled_routine_that_ends_in_good_order_has_its_outcome(desk):
    begun = threading.Event()

    async def routine(ctx):
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return submitted()

    desk.start(1, routine)
    begun.wait(10)
    desk.runner.cancel(attempt(1))
    assert desk.ended.get(timeout=10) == (attempt(1), SUBMITTED)


def test_an_exit_in_a_task_that_a_routine_made_does_not_stop_the_others(desk, caplog):
    async def leave():
        raise SystemExit

    async def routine(ctx):
        task = asyncio.create_task(leave())
        await asyncio.wait((task,))
        task.exception()
        return submitted()

    assert desk.run(routine) == SUBMITTED
    assert "a task of a routine raised SystemExit" in caplog.text


@pytest.mark.parametrize(
    "routine",
    both("ctx.note(' hi '); ctx.memory['k'] = [1]; del ctx.memory['tries']; return submitted()"),
)
def test_notes_and_memory_are_on_disk_before_the_end_in_order(desk, routine):
    assert desk.run(routine) == SUBMITTED
    desk.outbox.close()
    assert [(it.attempt, it.token, it.kind, it.body) for it in desk.written] == [
        (attempt(1), "INV-1", "note", {"text": "hi"}),
        (attempt(1), "INV-1", "memory", {"key": "k", "value": [1]}),
        (attempt(1), "INV-1", "memory", {"key": "tries", "value": None}),
    ]


def test_a_write_that_fails_raises_in_a_def_routine(desk):
    desk.outbox.close()
    outcome = desk.run(both("ctx.note('lost')")[0].values[0])
    assert outcome["error"] == "OutboxError: the outbox is closed: the supervisor has stopped"


def test_closing_ends_what_is_left(desk):
    async def routine(ctx):
        await asyncio.sleep(60)

    desk.start(1, routine)
    desk.runner.close(10)
    assert desk.ended.get(timeout=10) == (attempt(1), None)
