import asyncio
import threading
import time

import pytest

from stateous_supervisor.loops.heartbeat import HeartbeatLoop, Pulse
from stateous_supervisor.messages import Attempt
from stateous_supervisor.pace import Pace
from stateous_supervisor.session import Held
from stateous_supervisor.watch import LoopWatch


@pytest.mark.parametrize(("lease", "interval"), [(None, 30), (120, 30), (4, 1), (60, 15)])
def test_a_heartbeat_is_due_each_quarter_of_the_lease_or_each_30_seconds(lease, interval):
    pulse = Pulse(100, Pace())
    assert pulse.due_in(100, lease) == interval
    assert pulse.due_in(100 + interval, lease) == 0
    pulse.beaten(100 + interval)
    assert pulse.due_in(100 + interval, lease) == interval
    assert pulse.due_in(100 + 10 * interval, lease) == 0


def test_a_shorter_lease_counts_at_once():
    pulse = Pulse(0, Pace())
    assert pulse.due_in(5, 120) == 25
    assert pulse.due_in(5, 16) == 0


def test_without_an_answer_the_waits_grow_until_one_comes():
    pulse, now, waits = Pulse(0, Pace()), 30.0, []
    for _ in range(7):
        waits.append(pulse.unanswered(now))
        assert pulse.due_in(now, 120) == waits[-1]
        now += waits[-1]
    assert waits == [1, 2, 4, 8, 16, 30, 30]
    pulse.beaten(now)
    assert pulse.due_in(now, 120) == 30
    assert pulse.unanswered(now + 30) == 1


def test_a_loop_that_turns_is_not_blocked():
    loop = asyncio.new_event_loop()
    watch = LoopWatch(loop, limit=60)
    for now in range(0, 1000, 30):
        assert watch.look(now) is None
        loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert watch.look(2000) is None
    assert watch.look(3000) is None


def test_a_loop_that_does_not_turn_names_its_task():
    loop = asyncio.new_event_loop()
    watch = LoopWatch(loop, limit=60)
    begun, go_on = threading.Event(), threading.Event()

    async def hold_up():
        begun.set()
        go_on.wait(10)

    async def main():
        await asyncio.create_task(hold_up(), name="review of INV-7 (task 2)")

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    begun.wait(10)
    assert watch.look(100) is None
    assert watch.look(160) is None
    assert watch.look(161) == "review of INV-7 (task 2)"
    go_on.set()
    thread.join()
    loop.run_until_complete(asyncio.sleep(0))
    assert watch.look(162) is None
    loop.close()


# Beats that do not come back


class Line:
    """What the clients of a loop speak to: the n-th call does what the n-th entry says."""

    def __init__(self, *calls):
        self.calls = list(calls)
        self.made = []
        self.asked = []
        self.lease = None

    def connect(self, deadline):
        self.made.append(deadline)
        return self

    def heartbeat(self, supervisor, tasks):
        call = self.calls[len(self.asked)] if len(self.asked) < len(self.calls) else None
        self.asked.append(threading.current_thread())
        if call is not None:
            call()
        return []

    def close(self):
        pass


@pytest.fixture
def beating(caplog):
    loops = []

    def begin(line, **pace):
        renewed = []
        turning = asyncio.new_event_loop()
        turning.close()
        loop = HeartbeatLoop(
            supervisor="box-a",
            url="http://plane",
            connect=line.connect,
            held=lambda: [Held(Attempt(1, 1), on_loop=False)],
            renewed=lambda attempts, at: renewed.append(at),
            lost=lambda attempts: None,
            lease=lambda: None,
            watch=LoopWatch(turning, limit=60),
            pace=Pace(heartbeat=0.02, backoff=(0.01,), **pace),
            clock=time.monotonic,
        )
        loops.append(loop)
        loop.start()
        return renewed

    yield begin
    for loop in loops:
        loop.close(10)


def until(reached):
    for _ in range(2000):
        if reached():
            return
        time.sleep(0.005)
    raise AssertionError("it did not happen")


def test_a_call_that_hangs_is_left_alone_and_others_beat_on(beating, caplog):
    stuck = threading.Event()
    line = Line(lambda: stuck.wait(30))
    renewed = beating(line, beat_timeout=0.05)
    until(lambda: len(renewed) >= 3)
    assert len(set(line.asked[:2])) == 2, "a thread of its own"
    assert len(line.made) == 2, "and a connection of its own, which the later ones share"
    assert (
        "cannot reach the control plane at http://plane (no answer within 0.02 seconds); "
        "trying again in 0.01s"
    ) in caplog.text
    stuck.set()


def test_what_a_late_call_brings_counts_and_its_connection_serves_the_next(beating):
    slow = [threading.Event() for _ in range(2)]
    line = Line(*(lambda it=it: it.wait(30) for it in slow))
    renewed = beating(line, beat_timeout=0.05)
    until(lambda: len(line.asked) >= 2)
    made = len(line.made)
    for it in slow:
        it.set()
    until(lambda: len(renewed) >= 5)
    assert len(line.made) <= made + 1


def test_calls_that_never_come_back_are_bounded(beating):
    never = threading.Event()
    line = Line(*[lambda: never.wait(30)] * 100)
    beating(line, beat_timeout=0.01)
    until(lambda: len(line.asked) == 8)
    time.sleep(0.2)
    assert len(line.asked) == 8
    never.set()


def test_another_failure_is_logged_and_the_next_comes(beating, caplog):
    def broken():
        raise ZeroDivisionError

    renewed = beating(Line(broken))
    until(lambda: renewed)
    assert "a heartbeat failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text
