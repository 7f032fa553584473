"""An outbox whose disk takes nothing for a while (`docs/spec/authoring.md` 8.6)."""

import json
import logging
import sqlite3
import threading
from datetime import UTC, datetime
from queue import SimpleQueue

import pytest

from stateous_supervisor.errors import OutboxError
from stateous_supervisor.messages import Attempt, Draft
from stateous_supervisor.outbox import Outbox
from stateous_supervisor.outbox_file import open_file
from stateous_supervisor.pace import Pace

FULL = "database or disk is full"
NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)


class Disk:
    """A connection to a file on a disk that is full when the test says so.

    ``room`` is how many bytes a message may have meanwhile.
    """

    def __init__(self, folder):
        self._connection, self.path = open_file(folder)
        self.full = False
        self.room = 0

    def execute(self, statement, values=()):
        size = max((len(it) for it in values if isinstance(it, str)), default=0)
        if self.full and statement.startswith(("INSERT", "DELETE")) and size >= self.room:
            error = sqlite3.OperationalError(FULL)
            raise error
        return self._connection.execute(statement, values)

    @property
    def in_transaction(self):
        return self._connection.in_transaction

    def close(self):
        self._connection.close()


@pytest.fixture
def disk(tmp_path):
    return Disk(tmp_path)


@pytest.fixture
def told():
    """What the outbox has told of its disk."""
    return SimpleQueue()


@pytest.fixture
def open_outbox(disk, told):
    opened = []

    def open_(backoff=(0.01,), written=lambda _: None):
        outbox = Outbox(
            disk, disk.path, written=written, refuses=told.put, clock=lambda: NOON,
            pace=Pace(backoff=backoff),
        )  # fmt: skip
        opened.append(outbox)
        return outbox

    yield open_
    for outbox in opened:
        outbox.close()


def note(text, task=1):
    return Draft(Attempt(task, 1), "T", "note", {"text": text})


def report(task=1):
    return Draft(Attempt(task, 1), "T", "report", {"kind": "waiting"})


def on_disk(disk):
    connection = sqlite3.connect(disk.path)
    found = connection.execute("SELECT id, kind, body FROM messages ORDER BY id").fetchall()
    connection.close()
    return [(row, kind, json.loads(body)) for row, kind, body in found]


def test_what_a_full_disk_refuses_is_kept_in_order_and_written_once_there_is_room(
    disk, told, open_outbox
):
    outbox = open_outbox()
    first = outbox.put(note("a")).result()
    disk.full = True
    second = outbox.put(note("b"))
    assert told.get(timeout=10) == FULL
    assert outbox.refusal == FULL
    outbox.remove(first)
    third = outbox.put(report())
    assert not second.done()
    disk.full = False
    assert third.result(10).id == second.result().id + 1
    assert told.get(timeout=10) is None
    assert outbox.refusal is None
    outbox.close()
    assert on_disk(disk) == [(2, "note", {"text": "b"}), (3, "report", {"kind": "waiting"})]


def test_it_is_told_once_however_often_it_is_tried(disk, told, open_outbox):
    tries = []
    execute = disk.execute

    def counted(statement, values=()):
        tries.append(statement)
        return execute(statement, values)

    disk.execute = counted
    outbox = open_outbox()
    disk.full = True
    kept = outbox.put(note("a"))
    assert told.get(timeout=10) == FULL
    before = len(tries)
    while len(tries) < before + 20:
        threading.Event().wait(0.01)
    disk.full = False
    kept.result(10)
    assert told.get(timeout=10) is None
    assert told.empty()


def test_what_a_routine_waits_for_fails_at_once(disk, told, open_outbox):
    outbox = open_outbox(backoff=(60,))
    disk.full = True
    for text in ("the first", "and while it is known"):
        with pytest.raises(OutboxError, match=f"^cannot write to the outbox: {FULL}$"):
            outbox.put(note(text), keep=False).result(10)
    assert told.get(timeout=10) == FULL


def test_nothing_overtakes_what_is_kept(disk, told, open_outbox):
    written = []
    outbox = open_outbox(backoff=(60,), written=written.extend)
    disk.full, disk.room = True, 100
    kept = [outbox.put(note("x" * 200)), outbox.put(note("small")), outbox.put(report())]
    assert told.get(timeout=10) == FULL
    assert not written
    disk.full = False
    outbox.hurry()
    assert [it.result(10).kind for it in kept] == ["note", "note", "report"]
    assert [message.body.get("text", "")[:5] for message in written] == ["xxxxx", "small", ""]


def test_a_disk_with_little_room_counts_as_full(disk, told, open_outbox):
    outbox = open_outbox()
    disk.full = True
    kept = outbox.put(report())
    assert told.get(timeout=10) == FULL
    disk.room = 1000
    with pytest.raises(TimeoutError):
        kept.result(0.1)
    disk.full = False
    kept.result(10)


def test_a_disk_that_is_full_at_the_start_is_told_before_anything_is_written(
    disk, told, open_outbox
):
    disk.full = True
    outbox = open_outbox()
    assert told.get(timeout=10) == FULL
    disk.full = False
    assert told.get(timeout=10) is None
    assert outbox.put(note("a")).result(10).id == 1, "the proof of room took no id"


def test_a_message_that_nobody_can_write_says_nothing_of_the_disk(told, open_outbox):
    outbox = open_outbox()
    with pytest.raises(OutboxError):
        outbox.put(note("\ud800")).result(10)
    outbox.put(note("a")).result(10)
    assert told.empty()


def test_a_supervisor_that_stops_tries_once_more_and_keeps_nothing(disk, told, open_outbox):
    outbox = open_outbox(backoff=(60,))
    disk.full = True
    kept = outbox.put(report())
    assert told.get(timeout=10) == FULL
    outbox.hurry()
    with pytest.raises(OutboxError):
        kept.result(10)
    with pytest.raises(OutboxError):
        outbox.put(report()).result(10)


def test_a_close_leaves_nobody_waiting(disk, told, open_outbox, caplog):
    outbox = open_outbox(backoff=(60,))
    messages = [outbox.put(note(text)).result(10) for text in ("a", "b", "c")]
    disk.full = True
    kept = outbox.put(report())
    assert told.get(timeout=10) == FULL
    for message in messages:
        outbox.remove(message)
    with caplog.at_level(logging.ERROR):
        outbox.close()
    with pytest.raises(OutboxError):
        kept.result(0)
    [record] = [each.getMessage() for each in caplog.records if "remove" in each.getMessage()]
    assert record == "cannot remove answered messages from the outbox: database or disk is full"


def test_a_proof_of_room_that_a_crash_left_is_no_message(tmp_path, disk, told):
    disk.execute("INSERT INTO messages VALUES (-1, 0, 0, '', 'note', '  ', '')")
    disk.close()
    outbox = Outbox.open(tmp_path, written=lambda _: None)
    assert outbox.left == ()
    outbox.close()
    assert on_disk(disk) == []
