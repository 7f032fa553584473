import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stateous_supervisor.errors import OutboxError
from stateous_supervisor.messages import Attempt, Draft, Message
from stateous_supervisor.outbox import Outbox
from stateous_supervisor.pace import Pace
from tests.support.outboxes import kinds_on_disk
from tests.support.processes import eventually

NOON = datetime(2027, 3, 1, 9, 12, 54, 689575, tzinfo=UTC)
REVIEWED = {
    "kind": "event",
    "event": "reviewed",
    "payload": {"approved": True, "note": "ok"},
    "context": {"title": "May"},
    "schedules": [],
    "attempt": 1,
}


def note(text="hello", *, task=4, attempt=1):
    return Draft(Attempt(task, attempt), "INV-3", "note", {"text": text})


def report(**changes):
    return Draft(Attempt(4, 1), "INV-3", "report", REVIEWED | changes)


@pytest.fixture
def batches():
    return []


@pytest.fixture
def open_outbox(tmp_path, batches):
    opened = []

    def open_(folder=tmp_path):
        outbox = Outbox.open(folder, written=batches.append, clock=lambda: NOON)
        opened.append(outbox)
        return outbox

    yield open_
    for outbox in opened:
        outbox.close()


def rows(folder):
    with sqlite3.connect(folder / ".stateous" / "outbox.db") as connection:
        found = connection.execute("SELECT * FROM messages ORDER BY id").fetchall()
    connection.close()
    return found


def test_a_report_is_the_row_of_the_spec(tmp_path, open_outbox):
    outbox = open_outbox()
    message = outbox.put(report()).result()
    outbox.close()
    ((row, task, attempt, token, kind, body, created_at),) = rows(tmp_path)
    assert (row, task, attempt, token, kind) == (message.id, 4, 1, "INV-3", "report")
    assert json.loads(body) == REVIEWED
    assert created_at == "2027-03-01T09:12:54.689575+00:00"


def test_microseconds_are_there_also_when_they_are_zero(tmp_path):
    whole = NOON.replace(microsecond=0)
    outbox = Outbox.open(tmp_path, written=lambda _: None, clock=lambda: whole)
    outbox.put(note()).result()
    outbox.close()
    assert rows(tmp_path)[0][-1] == "2027-03-01T09:12:54.000000+00:00"


def test_the_layout_of_the_file_is_fixed(tmp_path, open_outbox):
    open_outbox().close()
    connection = sqlite3.connect(tmp_path / ".stateous" / "outbox.db")
    columns = connection.execute("PRAGMA table_info(messages)").fetchall()
    assert [(name, kind, notnull, pk) for _, name, kind, notnull, _, pk in columns] == [
        ("id", "INTEGER", 1, 1),
        ("task", "INTEGER", 1, 0),
        ("attempt", "INTEGER", 1, 0),
        ("token", "TEXT", 1, 0),
        ("kind", "TEXT", 1, 0),
        ("body", "TEXT", 1, 0),
        ("created_at", "TEXT", 1, 0),
    ]
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    insert = "INSERT INTO messages VALUES (NULL, 1, 1, 'T', ?, '{}', '')"
    for kind in ("report", "note", "memory", "emit"):
        connection.execute(insert, (kind,))
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(insert, ("other",))
    connection.close()


def test_rows_of_an_earlier_run_are_there_in_order(tmp_path, open_outbox):
    first = open_outbox()
    first.put(note("a"))
    first.put(report())
    first.put(note("b", task=5)).result()
    first.close()
    assert open_outbox().left == (
        Message(1, Attempt(4, 1), "INV-3", "note", {"text": "a"}),
        Message(2, Attempt(4, 1), "INV-3", "report", REVIEWED),
        Message(3, Attempt(5, 1), "INV-3", "note", {"text": "b"}),
    )


def test_a_row_that_another_program_wrote_with_blanks_is_read(tmp_path, open_outbox):
    open_outbox().close()
    connection = sqlite3.connect(tmp_path / ".stateous" / "outbox.db")
    row = (12, 4, 1, "INV-3", "report", json.dumps(REVIEWED), NOON.isoformat())
    connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    assert open_outbox().left == (Message(12, Attempt(4, 1), "INV-3", "report", REVIEWED),)


def test_ids_grow_also_over_removals_and_starts(open_outbox):
    first = open_outbox()
    message = first.put(note()).result()
    first.remove(message)
    first.close()
    second = open_outbox()
    assert second.left == ()
    assert second.put(note()).result().id == message.id + 1


def test_what_was_put_before_a_kill_is_there_after_it(tmp_path):
    child = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from stateous_supervisor.messages import Attempt, Draft\n"
        "from stateous_supervisor.outbox import Outbox\n"
        "outbox = Outbox.open(Path(sys.argv[1]), written=lambda _: None)\n"
        "outbox.put(Draft(Attempt(1, 1), 'T', 'note', {'text': 'kept'})).result()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", child, str(tmp_path)], check=False, timeout=60)
    outbox = Outbox.open(tmp_path, written=lambda _: None)
    assert [message.body for message in outbox.left] == [{"text": "kept"}]
    outbox.close()


def test_the_lock_is_held_from_the_opening_to_the_close(tmp_path, open_outbox):
    first = open_outbox()
    with pytest.raises(OutboxError) as refused:
        open_outbox()
    assert str(refused.value) == (
        f"another supervisor runs on {tmp_path} now: stop it, or use another folder"
    )
    first.put(note()).result()
    with pytest.raises(OutboxError):
        open_outbox()
    first.close()
    assert len(open_outbox().left) == 1


def test_an_outbox_of_a_newer_version_is_refused_and_left_alone(tmp_path, open_outbox):
    open_outbox().close()
    path = tmp_path / ".stateous" / "outbox.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(OutboxError) as refused:
        open_outbox()
    assert str(refused.value) == (
        f"a newer Stateous made the outbox {path} (version 2, this one knows 1): upgrade Stateous"
    )
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()


def test_a_file_that_is_no_database_is_refused(tmp_path, open_outbox):
    (tmp_path / ".stateous").mkdir()
    path = tmp_path / ".stateous" / "outbox.db"
    path.write_bytes(b"not a database " * 100)
    with pytest.raises(OutboxError, match=r"^cannot open the outbox .*: file is not a database$"):
        open_outbox()


def test_a_folder_that_cannot_hold_one_is_refused(tmp_path, open_outbox):
    (tmp_path / ".stateous").write_text("a file")
    with pytest.raises(OutboxError, match=r"cannot make .*\.stateous: File exists"):
        open_outbox()


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        ("emit", "{}", "does not know: its kind is 'emit'"),
        ("note", "[]", "does not know"),
        ("note", "{", "is broken"),
    ],
)
def test_a_row_that_nobody_can_send_is_named(tmp_path, open_outbox, kind, body, why):
    open_outbox().close()
    connection = sqlite3.connect(tmp_path / ".stateous" / "outbox.db")
    connection.execute("INSERT INTO messages VALUES (7, 1, 1, 'T', ?, ?, '')", (kind, body))
    connection.commit()
    connection.close()
    with pytest.raises(OutboxError, match=f"message 7 that .*{why}"):
        open_outbox()


def test_messages_that_are_put_at_once_share_a_transaction(tmp_path):
    in_first, go_on = threading.Event(), threading.Event()
    batches = []

    def written(messages):
        batches.append([message.body["text"] for message in messages])
        in_first.set()
        go_on.wait(10)

    outbox = Outbox.open(tmp_path, written=written)
    outbox.put(note("first"))
    in_first.wait(10)
    waiting = [outbox.put(note(f"n{number}")) for number in range(20)]
    go_on.set()
    ids = [done.result(10).id for done in waiting]
    outbox.close()
    assert batches == [["first"], [f"n{number}" for number in range(20)]]
    assert ids == sorted(ids)


@pytest.mark.parametrize(
    "text",
    ["a\ud800b", "a\x00b", float("nan"), 10**5000, object()],
    ids=["surrogate", "NUL", "NaN", "digits", "no JSON"],
)
def test_what_cannot_be_read_again_is_not_written_and_harms_no_other(tmp_path, text):
    in_first, go_on = threading.Event(), threading.Event()
    outbox = Outbox.open(tmp_path, written=lambda _: (in_first.set(), go_on.wait(10)))
    outbox.put(note("first"))
    in_first.wait(10)
    good, bad, also_good = outbox.put(note("a")), outbox.put(note(text)), outbox.put(note("b"))
    go_on.set()
    with pytest.raises(OutboxError, match="cannot write to the outbox"):
        bad.result(10)
    assert good.result(10).body == {"text": "a"}
    assert also_good.result(10).body == {"text": "b"}
    outbox.close()
    assert len(rows(tmp_path)) == 3


def test_a_replacement_is_both_or_neither(tmp_path, open_outbox):
    outbox = open_outbox()
    message = outbox.put(report()).result()
    with pytest.raises(OutboxError):
        outbox.replace(message, report(error="\x00")).result()
    outbox.put(note()).result()
    by = outbox.replace(message, report(kind="failed")).result()
    outbox.close()
    assert [(row[0], json.loads(row[5]).get("kind")) for row in rows(tmp_path)] == [
        (2, None),
        (by.id, "failed"),
    ]


def test_answered_messages_leave_with_the_next_that_is_put(tmp_path):
    outbox = Outbox.open(tmp_path, written=lambda _: None, pace=Pace(removal_wait=600))
    answered = [outbox.put(note(text)).result() for text in "ab"]
    for message in answered:
        outbox.remove(message)
    assert kinds_on_disk(tmp_path, 1) == ["note", "note"], "nobody waits for their removal"
    outbox.put(report()).result()
    assert kinds_on_disk(tmp_path, 1) == ["report"]
    outbox.close()


def test_answered_messages_that_nothing_follows_leave_a_moment_later(tmp_path):
    outbox = Outbox.open(tmp_path, written=lambda _: None, pace=Pace(removal_wait=0.01))
    for text in "ab":
        outbox.remove(outbox.put(note(text)).result())
        eventually(lambda: kinds_on_disk(tmp_path, 1) == [])
    outbox.close()


def test_the_end_waits_for_no_moment(tmp_path):
    outbox = Outbox.open(tmp_path, written=lambda _: None, pace=Pace(removal_wait=600))
    outbox.remove(outbox.put(note()).result())
    outbox.close()
    assert rows(tmp_path) == []


def test_forgetting_an_attempt_leaves_the_other_messages_of_its_task(tmp_path, open_outbox):
    outbox = open_outbox()
    for attempt in (1, 2):
        outbox.put(note(f"of {attempt}", attempt=attempt))
    outbox.forget(Attempt(4, 1))
    outbox.close()
    assert [json.loads(row[5]) for row in rows(tmp_path)] == [{"text": "of 2"}]


def test_a_closed_outbox_takes_nothing(open_outbox):
    outbox = open_outbox()
    outbox.close()
    outbox.close()
    with pytest.raises(OutboxError, match="the outbox is closed"):
        outbox.put(note())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask to speak of")
@pytest.mark.parametrize(("umask", "mode"), [(0o007, 0o660), (0o022, 0o644), (0o077, 0o600)])
def test_the_umask_decides_who_shares_the_file(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        Outbox.open(tmp_path, written=lambda _: None).close()
    finally:
        os.umask(before)
    assert (tmp_path / ".stateous" / "outbox.db").stat().st_mode & 0o777 == mode


@pytest.mark.skipif(os.name == "nt", reason="Windows has no mode to speak of")
def test_an_outbox_that_may_only_be_read_is_refused():
    with tempfile.TemporaryDirectory() as name:  # not tmp_path, which no other user may enter
        folder = Path(name)
        Outbox.open(folder, written=lambda _: None).close()
        folder.chmod(0o755)
        (folder / ".stateous" / "outbox.db").chmod(0o444)
        root = os.geteuid() == 0  # may write whatever the mode says
        if root:
            os.seteuid(65534)
        try:
            with pytest.raises(OutboxError, match=r"cannot write the outbox .*: Permission denied"):
                Outbox.open(folder, written=lambda _: None)
        finally:
            if root:
                os.seteuid(0)
