"""The options of `stateous serve`, from the command line and from the environment."""

from __future__ import annotations

import json
import re
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.support.databases import ServedDatabase
from tests.support.processes import Process, control_plane, running
from tests.support.served import free_port, logged, ticket_graph

pytestmark = pytest.mark.e2e


def test_the_environment_gives_what_no_flag_says(database: ServedDatabase, tmp_path: Path) -> None:
    port = free_port()
    extra = {
        "STATEOUS_DB": database.url,
        "STATEOUS_LISTEN": f":{port}",
        "STATEOUS_LEASE": "8s",
        "STATEOUS_LOG_FORMAT": "json",
        "STATEOUS_ALLOW_HOSTS": "box, proxy.internal",
    }
    process = Process(
        ["serve", "--lease", "9s", "--access-log"],
        cwd=tmp_path,
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
def test_a_warning_when_other_computers_are_let_in(
    host: str, database: ServedDatabase, tmp_path: Path
) -> None:
    process = Process(
        ["serve", "--db", database.url, "--listen", f"{host}:0"], cwd=tmp_path, name="serve"
    )
    with running(process):
        line = process.says("serving on ")
        shown = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}[host]
        match = re.fullmatch(rf"serving on (http://{re.escape(shown)}:\d+) \(Ctrl-C stops\)", line)
        assert match
        (warning,) = logged(process)
        assert " stateous.serve: " in warning
        assert f"{host}:{match[1].rsplit(':', 1)[1]} lets other computers in" in warning
        assert "no authentication" in warning
        assert process.said.index(warning) < process.said.index(line)
        # Whoever may come in may use any name.
        assert httpx.get(f"{match[1]}/health", headers={"Host": "any.name"}).status_code == 200
        assert process.stop(signal.SIGINT) == 0


def test_a_host_that_is_allowed(database: ServedDatabase, tmp_path: Path) -> None:
    options = ("--allow-host", "Box", "--allow-host", "proxy.internal")
    with control_plane(None, database.url, *options, cwd=tmp_path) as (process, _):

        def status(host: str) -> int:
            answer = httpx.get(f"{process.url}/health", headers={"Host": host})
            assert answer.status_code == 200 or answer.json()["code"] == "wrong_host"
            return answer.status_code

        hosts = ["localhost", "127.0.0.1:1", "[::1]", "box", "BOX:80", "proxy.internal"]
        assert {host: status(host) for host in hosts} == dict.fromkeys(hosts, 200)
        assert {status(host) for host in ("evil.example", "xproxy.internal", "box.evil")} == {421}
        assert process.stop() == 0


def test_without_a_graph_tokens_on_record_go_on(database: ServedDatabase, tmp_path: Path) -> None:
    graph = ticket_graph(tmp_path)
    with control_plane(graph, database.url, cwd=tmp_path) as (process, client):
        client.start("T-1")
        assert process.stop() == 0
    with control_plane(None, database.url, cwd=tmp_path) as (process, client):
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


def test_one_connection_too_many(database: ServedDatabase, tmp_path: Path) -> None:
    with (
        control_plane(None, database.url, "--max-connections", "2", cwd=tmp_path) as (
            process,
            client,
        ),
        ExitStack() as opened,
    ):
        assert client.ready()  # its connection stays open

        def answer() -> bytes:
            caller = opened.enter_context(
                socket.create_connection(("127.0.0.1", process.port), timeout=30)
            )
            caller.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return caller.recv(4096)

        assert answer().startswith(b"HTTP/1.1 200 ")
        refused = answer()
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b'"code":"too_many_connections"' in refused
        assert process.stop() == 0
