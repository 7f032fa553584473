"""One control plane serves a database: taking the hold, waiting for it, losing it.

On SQLite the hold is a lock of the operating system and the row, on Postgres a lock of a session and the
row; what a caller and the next control plane see is the same.
"""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from stateous_client import Client, NotServing, Unreachable
from tests.support.databases import ServedDatabase, holder_of
from tests.support.processes import Process, control_plane, eventually, running
from tests.support.served import answered, asked, free_port, is_open, ticket_graph

pytestmark = pytest.mark.e2e

LOST = "another control plane took this database; "
STOPPED = "error: another control plane took the database; this control plane stopped\n"


def starting(
    database: ServedDatabase, graph: Path, port: int, *options: str, name: str = "serve"
) -> Process:
    """A control plane that is not waited for."""
    words = ["serve", str(graph), "--db", database.url, "--listen", f"127.0.0.1:{port}", *options]
    return Process(words, cwd=graph.parent, name=name)


def entries(database: ServedDatabase, token: str = "T-1") -> int:
    ((number,),) = database.query("SELECT count(*) FROM ledger WHERE token = ?", token)
    return int(number)


def test_the_port_is_bound_before_the_database_opens(
    database: ServedDatabase, tmp_path: Path
) -> None:
    port = free_port()
    with ExitStack() as started:
        with database.locked(whole=True):
            process = started.enter_context(
                running(starting(database, ticket_graph(tmp_path), port))
            )
            eventually(lambda: is_open(port))
            caller = started.enter_context(
                socket.create_connection(("127.0.0.1", port), timeout=30)
            )
            caller.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert process.said == ""
        assert caller.recv(100).startswith(b"HTTP/1.1 200 ")
        assert process.stop() == 0


def test_a_signal_during_the_start_undoes_it(database: ServedDatabase, tmp_path: Path) -> None:
    port = free_port()
    with ExitStack() as started:
        with database.locked(whole=True):
            process = started.enter_context(
                running(starting(database, ticket_graph(tmp_path), port))
            )
            eventually(lambda: is_open(port))
            process.signal(signal.SIGTERM)
        assert process.ended() == 0
        assert process.said == "stopped\n"
    assert holder_of(database) is None


def test_of_two_starts_at_once_exactly_one_serves(
    new_database: ServedDatabase, tmp_path: Path
) -> None:
    graph = ticket_graph(tmp_path)
    # The database is new: the tables are made under the hold as well.
    ports = [free_port(), free_port()]
    first = starting(new_database, graph, ports[0], name="first")
    second = starting(new_database, graph, ports[1], name="second")
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
        assert (holder_of(new_database) or "").split(":")[1] == str(serves.pid)
        assert serves.stop() == 0


def test_after_sigkill_a_start_works_at_once(database: ServedDatabase, tmp_path: Path) -> None:
    graph = ticket_graph(tmp_path)
    with control_plane(graph, database.url, cwd=tmp_path) as (killed, client):
        client.start("T-1")
        killed.kill()
    assert holder_of(database) is not None
    with control_plane(graph, database.url, cwd=tmp_path, port=killed.port) as (process, client):
        assert client.get("T-1")["state"] == "coding"
        assert process.stop() == 0
    assert holder_of(database) is None


def test_who_stands_by_does_not_listen_until_it_has_the_hold(
    database: ServedDatabase, tmp_path: Path
) -> None:
    graph = ticket_graph(tmp_path)
    port = free_port()
    with control_plane(graph, database.url, cwd=tmp_path) as (holder, client):
        client.start("T-1")
        with running(starting(database, graph, port, "--standby", name="standby")) as standby:
            line = standby.says("standing by")
            assert holder_of(database) in line
            assert not is_open(port)
            assert holder.stop() == 0
            standby.says(f"serving on http://127.0.0.1:{port} ")
            assert standby.said.count("standing by") == 1
            with Client(f"http://127.0.0.1:{port}") as other:
                assert other.get("T-1")["state"] == "coding"
            assert standby.stop() == 0


def test_after_sigkill_who_stands_by_takes_over_at_once(
    database: ServedDatabase, tmp_path: Path
) -> None:
    graph = ticket_graph(tmp_path)
    port = free_port()
    with control_plane(graph, database.url, cwd=tmp_path) as (plane, client):
        client.start("T-1")
        with running(starting(database, graph, port, "--standby", name="standby")) as standby:
            standby.says("standing by")
            assert not is_open(port)
            plane.kill()
            standby.says(f"serving on http://127.0.0.1:{port} ")
            with Client(f"http://127.0.0.1:{port}") as other:
                assert other.fire("T-1", "done")["state"] == "testing"
            assert standby.stop() == 0


def test_who_stands_by_can_be_stopped(database: ServedDatabase, tmp_path: Path) -> None:
    graph = ticket_graph(tmp_path)
    with (
        database.held_by("box-9:4711:9f3c01aa"),
        running(starting(database, graph, 0, "--standby")) as standby,
    ):
        standby.says("standing by: another control plane (box-9:4711:9f3c01aa, last seen at ")
        assert standby.stop(signal.SIGINT) == 0
        assert standby.said.endswith("stopped\n")
    assert holder_of(database) == "box-9:4711:9f3c01aa"


def test_a_takeover_ends_the_control_plane_that_was_there(
    database: ServedDatabase, tmp_path: Path
) -> None:
    graph = ticket_graph(tmp_path)
    with control_plane(graph, database.url, cwd=tmp_path) as (process, client):
        client.start("T-1")
        waiting = asked(
            process.port, "/tasks/claim", supervisor="box-1", states=["testing"], wait=30
        )
        assert client.get("T-1")["state"] == "coding"
        before = entries(database)
        with database.held_by("box-9:4711:9f3c01aa"):
            # Either the fence refuses the event, or the control plane is gone already.
            with (
                Client(process.url, retries=0) as impatient,
                pytest.raises((NotServing, Unreachable)),
            ):
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


def test_a_hold_that_became_free_is_taken_back(database: ServedDatabase, tmp_path: Path) -> None:
    with control_plane(ticket_graph(tmp_path), database.url, cwd=tmp_path) as (process, client):
        name = holder_of(database)
        database.query("UPDATE control_plane SET serving = NULL, since = NULL")
        process.says("this control plane took it back")
        assert holder_of(database) == name
        assert client.start("T-1")["state"] == "coding"
        assert process.stop() == 0


def test_a_suspended_holder_commits_nothing_once_its_hold_was_taken(
    database: ServedDatabase, tmp_path: Path
) -> None:
    graph = ticket_graph(tmp_path)
    with control_plane(graph, database.url, cwd=tmp_path) as (suspended, client):
        client.start("T-1")
        suspended.signal(signal.SIGSTOP)
        # As on a disk that two hosts share, whose lock does not reach from one to the other; as when
        # the network between it and the server has gone, which then ends its session.
        database.drop_lock()
        with control_plane(graph, database.url, cwd=tmp_path) as (taker, successor):
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


def test_the_row_is_renewed(database: ServedDatabase, tmp_path: Path) -> None:
    def since() -> str:
        ((moment,),) = database.query("SELECT since FROM control_plane")
        return str(moment)

    with control_plane(None, database.url, cwd=tmp_path) as (process, _):
        first = since()
        eventually(lambda: since() > first, within=10.0)
        assert process.stop() == 0


def test_a_database_that_another_program_has_locked(
    database: ServedDatabase, tmp_path: Path
) -> None:
    with control_plane(ticket_graph(tmp_path), database.url, cwd=tmp_path) as (process, client):
        client.start("T-1")
        started: list[str] = []

        def start() -> None:
            with Client(process.url, timeout=60) as patient:
                started.append(patient.start("T-2")["token"])

        with database.locked():
            starting_one = threading.Thread(target=start)
            starting_one.start()
            assert client.get("T-1")["status"] == "active"
            assert client.health()["workflow"] == "ticket"
            assert started == []
        starting_one.join(30)
        assert started == ["T-2"]
        assert process.stop() == 0
