"""How `stateous serve` ends: signals, long polls, requests in progress, the hold."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path

import pytest

from tests.support.databases import ServedDatabase, holder_of
from tests.support.processes import control_plane, eventually
from tests.support.served import answered, asked, is_open, looked, ticket_graph

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_answers_long_polls_at_once_and_gives_the_hold_up(
    number: signal.Signals, database: ServedDatabase, tmp_path: Path
) -> None:
    graph = ticket_graph(tmp_path)
    with control_plane(graph, database.url, cwd=tmp_path) as (process, client):
        client.start("T-1")
        waiting = {
            asked(process.port, "/tasks/claim", supervisor="b", states=["testing"], wait=30): 204,
            looked(process.port, "/tokens/T-1?wait=60"): 200,
            looked(process.port, "/tokens/T-1/history?after=50&wait=60"): 200,
        }
        idle = socket.create_connection(("127.0.0.1", process.port), timeout=30)
        assert client.get("T-1")["state"] == "coding"
        began = time.monotonic()
        process.signal(number)
        for connection, status in waiting.items():
            assert answered(connection)[0] == status
        assert idle.recv(1) == b""
        idle.close()
        assert process.ended() == 0
        assert time.monotonic() - began < 10
        assert process.said.endswith("stopped\n")
        assert not is_open(process.port)
    assert holder_of(database) is None


def upload(port: int, body: bytes) -> socket.socket:
    """A start whose body is missing its last byte."""
    caller = socket.create_connection(("127.0.0.1", port), timeout=30)
    caller.sendall(
        b"POST /tokens HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body[:-1])
    )
    return caller


BODY = b'{"token":"T-9"}'


def test_a_request_in_progress_is_finished(database: ServedDatabase, tmp_path: Path) -> None:
    graph = ticket_graph(tmp_path)
    with control_plane(graph, database.url, cwd=tmp_path) as (process, client):
        with upload(process.port, BODY) as caller:
            assert client.health()["workflow"] == "ticket"
            process.signal(signal.SIGTERM)
            eventually(lambda: not is_open(process.port))
            caller.sendall(BODY[-1:])
            assert caller.recv(100).startswith(b"HTTP/1.1 201 ")
        assert process.ended() == 0
    with control_plane(graph, database.url, cwd=tmp_path) as (process, client):
        assert client.get("T-9")["state"] == "coding"
        assert process.stop() == 0


def test_a_request_that_takes_too_long_is_cut(database: ServedDatabase, tmp_path: Path) -> None:
    graph = ticket_graph(tmp_path)
    with (
        control_plane(graph, database.url, cwd=tmp_path) as (process, client),
        upload(process.port, BODY) as caller,
    ):
        assert client.health()["workflow"] == "ticket"
        began = time.monotonic()
        assert process.stop() == 0
        assert 4.0 < time.monotonic() - began < 15.0
        assert cut(caller)
    assert holder_of(database) is None


def test_a_second_signal_cuts_what_is_open(database: ServedDatabase, tmp_path: Path) -> None:
    with control_plane(ticket_graph(tmp_path), database.url, cwd=tmp_path) as (process, client):
        with upload(process.port, BODY) as caller:
            assert client.health()["workflow"] == "ticket"
            process.signal(signal.SIGINT)
            eventually(lambda: not is_open(process.port))
            began = time.monotonic()
            process.signal(signal.SIGTERM)
            assert process.ended() == 1
            assert time.monotonic() - began < 4.0
            assert cut(caller)
        assert "Traceback" not in process.said
    assert holder_of(database) is None


def cut(caller: socket.socket) -> bool:
    try:
        return caller.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_locked_database_does_not_keep_it(database: ServedDatabase, tmp_path: Path) -> None:
    """The hold's row cannot be cleared then; its lock is freed all the same."""
    graph = ticket_graph(tmp_path)
    with control_plane(graph, database.url, cwd=tmp_path) as (process, _):
        with database.locked():
            start = asked(process.port, "/tokens", token="T-1")
            time.sleep(1.5)  # the clock's tick, too, now waits for the database
            began = time.monotonic()
            assert process.stop() == 0
            assert time.monotonic() - began < 12.0
        with pytest.raises((OSError, AssertionError)):
            assert answered(start)[0] == 503
        assert "Traceback" not in process.said
    with control_plane(graph, database.url, cwd=tmp_path) as (process, _):
        assert process.stop() == 0
