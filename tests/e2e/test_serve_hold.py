"""One control plane serves a database: taking the hold, waiting for it, losing it."""

from __future__ import annotations

import signal
import socket
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from stateous_client import Client, NotServing, Unreachable
from tests.support.processes import Process, control_plane, eventually, running
from tests.support.served import (
    answered,
    asked,
    free_port,
    holder_of,
    is_open,
    query,
    take_row,
    ticket_graph,
)

pytestmark = pytest.mark.e2e

DB = "sqlite:///plane.db"
LOST = "another control plane took this database; "
STOPPED = "error: another control plane took the database; this control plane stopped\n"


def starting(graph: Path, port: int, *options: str, name: str = "serve") -> Process:
    """A control plane that is not waited for."""
    words = ["serve", str(graph), "--db", DB, "--listen", f"127.0.0.1:{port}", *options]
    return Process(words, cwd=graph.parent, name=name)


def entries(database: Path, token: str = "T-1") -> int:
    ((number,),) = query(database, "SELECT count(*) FROM ledger WHERE token = ?", token)
    return int(number)


def test_the_port_is_bound_before_the_database_opens(database: Path) -> None:
    port = free_port()
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with running(starting(ticket_graph(database.parent), port)) as process:
            eventually(lambda: is_open(port))
            with socket.create_connection(("127.0.0.1", port), timeout=30) as caller:
                caller.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert process.said == ""
                other.execute("ROLLBACK")
                assert caller.recv(100).startswith(b"HTTP/1.1 200 ")
            assert process.stop() == 0


def test_a_signal_during_the_start_undoes_it(database: Path) -> None:
    port = free_port()
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with running(starting(ticket_graph(database.parent), port)) as process:
            eventually(lambda: is_open(port))
            process.signal(signal.SIGTERM)
            other.execute("ROLLBACK")
            assert process.ended() == 0
            assert process.said == "stopped\n"
    assert holder_of(database) is None


def test_of_two_starts_at_once_exactly_one_serves(tmp_path: Path) -> None:
    graph = ticket_graph(tmp_path)
    # The database is new: the tables are made under the hold as well.
    ports = [free_port(), free_port()]
    first = starting(graph, ports[0], name="first")
    second = starting(graph, ports[1], name="second")
    with running(first), running(second):

        def served_and_refused() -> tuple[Process, Process] | None:
            for serves, refused in ((first, second), (second, first)):
                if "serving on" in serves.said and "error: " in refused.said:
                    return serves, refused
            return None

        serves, refused = eventually(served_and_refused)
        assert refused.ended() == 1
        assert refused.said.startswith("error: another control plane serves this database (")
        assert "Traceback" not in first.said + second.said
        assert (holder_of(tmp_path / "plane.db") or "").split(":")[1] == str(serves.pid)
        assert serves.stop() == 0


def test_after_sigkill_a_start_works_at_once(database: Path) -> None:
    graph = ticket_graph(database.parent)
    with control_plane(graph, DB, cwd=database.parent) as (killed, client):
        client.start("T-1")
        killed.kill()
    assert holder_of(database) is not None
    with control_plane(graph, DB, cwd=database.parent, port=killed.port) as (process, client):
        assert client.get("T-1")["state"] == "coding"
        assert process.stop() == 0
    assert holder_of(database) is None


def test_who_stands_by_does_not_listen_until_it_has_the_hold(database: Path) -> None:
    graph = ticket_graph(database.parent)
    port = free_port()
    with control_plane(graph, DB, cwd=database.parent) as (holder, client):
        client.start("T-1")
        with running(starting(graph, port, "--standby", name="standby")) as standby:
            line = standby.says("standing by")
            assert holder_of(database) in line
            assert not is_open(port)
            assert holder.stop() == 0
            standby.says(f"serving on http://127.0.0.1:{port} ")
            assert standby.said.count("standing by") == 1
            with Client(f"http://127.0.0.1:{port}") as other:
                assert other.get("T-1")["state"] == "coding"
            assert standby.stop() == 0


def test_who_stands_by_can_be_stopped(database: Path) -> None:
    graph = ticket_graph(database.parent)
    take_row(database, "box-9:4711:9f3c01aa")
    with running(starting(graph, 0, "--standby")) as standby:
        standby.says("standing by: another control plane (box-9:4711:9f3c01aa, last seen at ")
        assert standby.stop(signal.SIGINT) == 0
        assert standby.said.endswith("stopped\n")
    assert holder_of(database) == "box-9:4711:9f3c01aa"


def test_a_takeover_ends_the_control_plane_that_was_there(database: Path) -> None:
    graph = ticket_graph(database.parent)
    with control_plane(graph, DB, cwd=database.parent) as (process, client):
        client.start("T-1")
        waiting = asked(
            process.port, "/tasks/claim", supervisor="box-1", states=["testing"], wait=30
        )
        assert client.get("T-1")["state"] == "coding"
        before = entries(database)
        take_row(database, "box-9:4711:9f3c01aa")
        # Either the fence refuses the event, or the control plane is gone already.
        with Client(process.url, retries=0) as impatient, pytest.raises((NotServing, Unreachable)):
            impatient.fire("T-1", "done")
        assert process.ended() == 1
        assert answered(waiting) == (503, "not_serving")
        lines = process.said.splitlines(keepends=True)
        assert lines[-1] == STOPPED
        assert sum(LOST in line for line in lines) == 1
        assert f" stateous.serve: {LOST}" in process.said
        assert "Traceback" not in process.said
    assert holder_of(database) == "box-9:4711:9f3c01aa"
    assert entries(database) == before


def test_a_hold_that_became_free_is_taken_back(database: Path) -> None:
    with control_plane(ticket_graph(database.parent), DB, cwd=database.parent) as (process, client):
        name = holder_of(database)
        query(database, "UPDATE control_plane SET serving = NULL, since = NULL")
        process.says("this control plane took it back")
        assert holder_of(database) == name
        assert client.start("T-1")["state"] == "coding"
        assert process.stop() == 0


def test_a_suspended_holder_commits_nothing_once_its_hold_was_taken(database: Path) -> None:
    graph = ticket_graph(database.parent)
    with control_plane(graph, DB, cwd=database.parent) as (suspended, client):
        client.start("T-1")
        suspended.signal(signal.SIGSTOP)
        # As on a disk that two hosts share, whose lock does not reach from one to the other.
        (database.parent / "plane.db.lock").unlink()
        with control_plane(graph, DB, cwd=database.parent) as (taker, successor):
            # The kernel takes the request for the control plane that does not run.
            event = asked(suspended.port, "/tokens/T-1/events/done")
            before = successor.history("T-1")
            suspended.signal(signal.SIGCONT)
            assert answered(event) == (503, "not_serving")
            assert suspended.ended() == 1
            assert suspended.said.endswith(STOPPED)
            assert successor.history("T-1") == before
            assert holder_of(database).split(":")[1] == str(taker.pid)  # type: ignore[union-attr]
            assert successor.fire("T-1", "done")["state"] == "testing"
            assert taker.stop() == 0


def test_the_row_is_renewed(database: Path) -> None:
    def since() -> str:
        ((moment,),) = query(database, "SELECT since FROM control_plane")
        return str(moment)

    with control_plane(None, DB, cwd=database.parent) as (process, _):
        first = since()
        eventually(lambda: since() > first, within=10.0)
        assert process.stop() == 0


def test_a_database_that_another_program_has_locked(database: Path) -> None:
    with control_plane(ticket_graph(database.parent), DB, cwd=database.parent) as (process, client):
        client.start("T-1")
        started: list[str] = []

        def start() -> None:
            with Client(process.url, timeout=60) as patient:
                started.append(patient.start("T-2")["token"])

        with closing(sqlite3.connect(database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            starting_one = threading.Thread(target=start)
            starting_one.start()
            assert client.get("T-1")["status"] == "active"
            assert client.health()["workflow"] == "ticket"
            assert started == []
            other.execute("ROLLBACK")
        starting_one.join(30)
        assert started == ["T-2"]
        assert process.stop() == 0
