"""What `stateous serve` writes to stderr, and what it never writes."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import httpx
import pytest

from stateous_client import Client, EventNotAllowed
from tests.support.databases import ServedDatabase
from tests.support.processes import control_plane, eventually
from tests.support.served import logged, ticket_graph

pytestmark = pytest.mark.e2e

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} stateous\.\w+: \S.*")
SECRET = "hunter2"
#: With it a start on Postgres has nothing to warn of.
KEY_FILE = ("--key-file", "ticket.key")


def test_without_a_word_of_it_no_request_is_logged(
    database: ServedDatabase, tmp_path: Path
) -> None:
    graph = ticket_graph(tmp_path)
    with control_plane(graph, database.url, *KEY_FILE, cwd=tmp_path) as (process, client):
        client.start("T-1")
        assert process.stop() == 0
        assert process.said == f"serving on {process.url} (Ctrl-C stops)\nstopped\n"


def use_all_that_is_secret(client: Client, url: str) -> None:
    """Contexts, payloads, memory, keys, queries and headers that hold :data:`SECRET`."""
    client.start("T-1", {"repo": SECRET, "note": SECRET})
    client.claim("box-1", ["coding"])
    client.note(1, SECRET)
    client.memory(1, SECRET, SECRET)
    client.fire("T-1", "done", {}, key=SECRET)
    with pytest.raises(EventNotAllowed):
        client.fire("T-1", "nosuch", {"a": SECRET})
    with httpx.Client(base_url=url, timeout=30) as anybody:
        anybody.get("/tokens", params={"prefix": SECRET})
        anybody.get("/health", headers={"Authorization": SECRET})
        anybody.post("/tokens", json={"token": "T-2", "context": {"repo": [SECRET]}})
        anybody.post(f"/tickets/{SECRET}")
        anybody.post(f"/%74ickets/{SECRET}")
        anybody.post("/tokens", content=b'{"' + SECRET.encode())


def test_the_access_log_has_a_line_for_each_request(
    database: ServedDatabase, tmp_path: Path
) -> None:
    graph = ticket_graph(tmp_path)
    with control_plane(graph, database.url, "--access-log", *KEY_FILE, cwd=tmp_path) as (
        process,
        client,
    ):
        use_all_that_is_secret(client, process.url)
        assert process.stop() == 0
        lines = logged(process)
        assert all(LINE.fullmatch(line) for line in lines), lines
        assert [line.partition(" stateous.serve: ")[2] for line in lines] == [
            "POST /tokens 201",
            "POST /tasks/claim 200",
            "POST /tasks/1/note 204",
            "PUT /tasks/1/memory 204",
            "POST /tokens/T-1/events/done 200",
            "POST /tokens/T-1/events/nosuch 409",
            "GET /tokens 200",
            "GET /health 200",
            "POST /tokens 422",
            "POST /tickets/*** 409",
            "POST /tickets/*** 409",
            "POST /tokens 400",
        ]
        assert SECRET not in process.said


def test_json_lines(database: ServedDatabase, tmp_path: Path) -> None:
    graph = ticket_graph(tmp_path)
    options = ("--access-log", "--log-format", "json", *KEY_FILE)
    with control_plane(graph, database.url, *options, cwd=tmp_path) as (process, client):
        use_all_that_is_secret(client, process.url)
        assert process.stop() == 0
        lines = [json.loads(line) for line in logged(process)]
        assert len(lines) == 12
        for line in lines:
            assert list(line) == ["at", "logger", "level", "text"]
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", line["at"])
            assert (line["logger"], line["level"]) == ("stateous.serve", "info")
        assert lines[0]["text"] == "POST /tokens 201"
        assert SECRET not in process.said


def test_whoever_connects_and_says_nonsense_leaves_no_line(
    database: ServedDatabase, tmp_path: Path
) -> None:
    with control_plane(None, database.url, *KEY_FILE, cwd=tmp_path) as (process, client):
        for nonsense in (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET\r\n\r\n", b"x" * 100_000):
            with socket.create_connection(("127.0.0.1", process.port), timeout=30) as caller:
                try:
                    caller.sendall(nonsense)
                    caller.shutdown(socket.SHUT_WR)
                    answer = caller.recv(100)
                except ConnectionError:
                    answer = b""
                assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
        assert eventually(client.ready)
        assert process.stop() == 0
        assert logged(process) == []
