"""What `stateous serve` writes to stderr, and what it never writes."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path

import httpx
import pytest

from stateous_client import Client, EventNotAllowed
from tests.support.processes import Process, control_plane, eventually, running
from tests.support.served import free_port, ticket_graph

pytestmark = pytest.mark.e2e

DB = "sqlite:///plane.db"
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} stateous\.\w+: \S.*")
SECRET = "hunter2"


def logged(process: Process) -> list[str]:
    """The lines of the log, without those for the person at the terminal."""
    own = ("serving on http://", "stopped")
    return [line for line in process.said.splitlines() if not line.startswith(own)]


def test_without_a_word_of_it_no_request_is_logged(database: Path) -> None:
    graph = ticket_graph(database.parent)
    with control_plane(graph, DB, cwd=database.parent) as (process, client):
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
    httpx.get(f"{url}/tokens", params={"prefix": SECRET})
    httpx.get(f"{url}/health", headers={"Authorization": SECRET})
    httpx.post(f"{url}/tokens", json={"token": "T-2", "context": {"repo": [SECRET]}})
    httpx.post(f"{url}/tickets/{SECRET}")
    httpx.post(f"{url}/%74ickets/{SECRET}")
    httpx.post(f"{url}/tokens", content=b'{"' + SECRET.encode())


def test_the_access_log_has_a_line_for_each_request(database: Path) -> None:
    graph = ticket_graph(database.parent)
    with control_plane(graph, DB, "--access-log", cwd=database.parent) as (process, client):
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
            "POST /tickets/*** 404",
            "POST /tickets/*** 404",
            "POST /tokens 400",
        ]
        assert SECRET not in process.said


def test_json_lines(database: Path) -> None:
    graph = ticket_graph(database.parent)
    options = ("--access-log", "--log-format", "json")
    with control_plane(graph, DB, *options, cwd=database.parent) as (process, client):
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


def test_the_environment_gives_what_no_flag_says(database: Path) -> None:
    port = free_port()
    extra = {
        "STATEOUS_DB": DB,
        "STATEOUS_LISTEN": f":{port}",
        "STATEOUS_LEASE": "8s",
        "STATEOUS_LOG_FORMAT": "json",
        "STATEOUS_ALLOW_HOSTS": "box, proxy.internal",
    }
    process = Process(
        ["serve", "--lease", "9s", "--access-log"],
        cwd=database.parent,
        name="serve",
        extra=extra,
    )
    with running(process):
        process.says(f"serving on http://127.0.0.1:{port} (Ctrl-C stops)")
        answer = httpx.get(f"http://127.0.0.1:{port}/health", headers={"Host": "proxy.internal"})
        assert answer.status_code == 200
        assert answer.headers["Stateous-Lease"] == "9"
        assert process.stop() == 0
        assert json.loads(logged(process)[0])["text"] == "GET /health 200"


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",
        pytest.param("[::]", marks=pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6")),
    ],
)
def test_a_warning_when_other_computers_are_let_in(host: str, database: Path) -> None:
    process = Process(
        ["serve", "--db", DB, "--listen", f"{host}:0"], cwd=database.parent, name="serve"
    )
    with running(process):
        line = process.says("serving on ")
        shown = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}[host]
        match = re.fullmatch(rf"serving on (http://{re.escape(shown)}:\d+) \(Ctrl-C stops\)", line)
        assert match
        (warning,) = logged(process)
        assert LINE.fullmatch(warning)
        assert f"{host}:{match[1].rsplit(':', 1)[1]} lets other computers in" in warning
        assert "no authentication" in warning
        assert process.said.index(warning) < process.said.index(line)
        # Whoever may come in may use any name.
        assert httpx.get(f"{match[1]}/health", headers={"Host": "any.name"}).status_code == 200
        assert process.stop(signal.SIGINT) == 0


def test_a_host_that_is_allowed(database: Path) -> None:
    options = ("--allow-host", "Box", "--allow-host", "proxy.internal")
    with control_plane(None, DB, *options, cwd=database.parent) as (process, _):

        def status(host: str) -> int:
            answer = httpx.get(f"{process.url}/health", headers={"Host": host})
            assert answer.status_code == 200 or answer.json()["code"] == "wrong_host"
            return answer.status_code

        hosts = ["localhost", "127.0.0.1:1", "[::1]", "box", "BOX:80", "proxy.internal"]
        assert {host: status(host) for host in hosts} == dict.fromkeys(hosts, 200)
        assert {status(host) for host in ("evil.example", "xproxy.internal", "box.evil")} == {421}
        assert process.stop() == 0


def test_without_a_graph_tokens_on_record_go_on(database: Path) -> None:
    graph = ticket_graph(database.parent)
    with control_plane(graph, DB, cwd=database.parent) as (process, client):
        client.start("T-1")
        assert process.stop() == 0
    with control_plane(None, DB, cwd=database.parent) as (process, client):
        assert client.health() == {"workflow": None, "checksum": None, "contract": None}

        def answer(method: str, path: str, **body: object) -> tuple[int, object]:
            made = httpx.request(method, process.url + path, json=body or None)
            value = made.json()
            assert set(value) != {"error", "code"} or value["error"]
            return made.status_code, value.get("code", value.get("state"))

        assert answer("GET", "/workflow") == (404, "not_found")
        assert answer("POST", "/tokens", token="T-2") == (409, "no_workflow")
        assert answer("POST", "/tokens", token="T-1") == (200, "coding")
        grant = client.claim("box-1", ["coding"])
        assert grant is not None
        assert client.report(grant["task"], "done", attempt=1)["state"] == "testing"
        assert client.fire("T-1", "passed")["status"] == "completed"
        assert process.stop() == 0


def test_whoever_connects_and_says_nonsense_leaves_no_line(database: Path) -> None:
    with control_plane(None, DB, cwd=database.parent) as (process, client):
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
