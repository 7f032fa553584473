"""What the tests of `stateous serve` share: graph files, ports, requests, and a start that is refused."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from stateous_cli.app import build_app
from tests.support.graphs import TICKET, graph
from tests.support.processes import Process, run_stateous

#: Another structure of the same workflow: `coding` can be left for good only.
OTHER_STRUCTURE = graph("START -> coding\ncoding -> END on done")


def written(folder: Path, document: dict[str, Any], name: str = "graph.json") -> Path:
    """A graph file with ``document``."""
    file = folder / name
    file.write_text(json.dumps(document), "utf-8")
    return file


def ticket_graph(folder: Path) -> Path:
    """The graph file of the ticket workflow."""
    return written(folder, TICKET, "ticket.json")


@contextmanager
def taken_port() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
        return port


def is_open(port: int) -> bool:
    """Whether somebody listens on ``port``."""
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def logged(process: Process) -> list[str]:
    """The lines of the log, without those for the person at the terminal.

    Also without the warning that every start on Postgres gives: where the ticket key is.
    """
    own = ("serving on http://", "stopped")
    key = "the ticket key is kept in the database"
    lines = process.said.splitlines()
    return [line for line in lines if not line.startswith(own) and key not in line]


def refused_start(*words: str, cwd: Path) -> str:
    """The sentence with which `serve` refuses to start; it ends with exit code 1."""
    ran = run_stateous("serve", *words, cwd=cwd)
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout == ""
    assert ran.stderr.startswith("error: "), ran.stderr
    assert ran.stderr.count("\n") == 1, ran.stderr
    return ran.stderr.removeprefix("error: ").removesuffix("\n")


def refused_here(*words: str) -> str:
    """As :func:`refused_start`, in this process: it must then really have let go of everything."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    before = threading.active_count()
    try:
        app = build_app(completion=False)
        ran = CliRunner().invoke(app, ["serve", *words], catch_exceptions=False)
    finally:
        root.handlers[:], root.level = handlers, level
    assert ran.exit_code == 1, ran.output
    assert ran.stdout == ""
    assert ran.stderr.startswith("error: "), ran.stderr
    assert ran.stderr.count("\n") == 1, ran.stderr
    assert threading.active_count() == before
    return ran.stderr.removeprefix("error: ").removesuffix("\n")


def asked(port: int, path: str, **body: Any) -> HTTPConnection:
    """A POST that is on its way; :func:`answered` waits for its answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return connection


def answered(connection: HTTPConnection) -> tuple[int, str | None]:
    """Status, and the code of a refusal."""
    try:
        answer = connection.getresponse()
        text = answer.read()
        value = json.loads(text) if text else None
        return answer.status, value.get("code") if isinstance(value, dict) else None
    finally:
        connection.close()


def looked(port: int, path: str) -> HTTPConnection:
    """A GET that is on its way."""
    connection = HTTPConnection("127.0.0.1", port, timeout=90)
    connection.request("GET", path)
    return connection
