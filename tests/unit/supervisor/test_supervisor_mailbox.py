import asyncio
import threading

import pytest

from stateous_supervisor.mailbox import Mailbox


class CountingLoop(asyncio.SelectorEventLoop):
    """Counts how often another thread wakes it."""

    woken = 0

    def call_soon_threadsafe(self, *args, **options):
        self.woken += 1
        return super().call_soon_threadsafe(*args, **options)


@pytest.fixture
def loop():
    made = CountingLoop()
    yield made
    made.close()


def test_what_is_posted_before_the_loop_looks_wakes_it_once_and_comes_in_order(loop):
    called = []
    mailbox = Mailbox(loop)
    for number in range(100):
        mailbox.post(called.append, number)
    mailbox.post(loop.stop)
    loop.run_forever()
    assert called == list(range(100))
    assert loop.woken == 1


def test_what_comes_later_wakes_it_again(loop):
    mailbox = Mailbox(loop)
    for _ in range(2):
        mailbox.post(loop.stop)
        loop.run_forever()
    assert loop.woken == 2


def test_a_call_may_post_another_one(loop):
    mailbox = Mailbox(loop)
    mailbox.post(mailbox.post, loop.stop)
    loop.run_forever()


def test_a_call_that_raises_harms_no_other(loop):
    told, called = [], []
    loop.set_exception_handler(lambda _, context: told.append(str(context["exception"])))
    mailbox = Mailbox(loop)
    mailbox.post(lambda: 1 / 0)
    mailbox.post(called.append, "next")
    mailbox.post(loop.stop)
    loop.run_forever()
    assert (told, called) == (["division by zero"], ["next"])


def test_nothing_of_many_threads_is_lost_and_each_one_is_heard_in_order(loop):
    mailbox, called = Mailbox(loop), []

    def post(name):
        for number in range(1000):
            mailbox.post(called.append, (name, number))
        mailbox.post(over.release)

    over = threading.Semaphore(0)
    threads = [threading.Thread(target=post, args=(name,)) for name in range(4)]
    turning = threading.Thread(target=loop.run_forever)
    for thread in (turning, *threads):
        thread.start()
    for _ in threads:
        assert over.acquire(timeout=30)
    mailbox.post(loop.stop)
    for thread in (turning, *threads):
        thread.join()
    for name in range(4):
        assert [number for it, number in called if it == name] == list(range(1000))


def test_a_closed_loop_takes_nothing():
    loop = asyncio.new_event_loop()
    mailbox = Mailbox(loop)
    loop.close()
    for _ in range(2):
        with pytest.raises(RuntimeError):
            mailbox.post(print)
