import asyncio
import threading

import pytest

from stateous_supervisor.loops.heartbeat import Pulse
from stateous_supervisor.pace import Pace
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
