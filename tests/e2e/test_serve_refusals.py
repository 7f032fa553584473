"""`stateous serve` refuses to start: one sentence, exit code 1, and nothing is left behind."""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.databases import (
    OnPostgres,
    ServedDatabase,
    SqliteFile,
    holder_of,
    write_holder,
)
from tests.support.graphs import TICKET
from tests.support.postgres import SharedServer
from tests.support.processes import control_plane, run_stateous
from tests.support.served import (
    OTHER_STRUCTURE,
    free_port,
    is_open,
    refused_here,
    refused_start,
    taken_port,
    ticket_graph,
    written,
)

pytestmark = pytest.mark.e2e

#: Of starts that are refused whatever the database is.
DB = "sqlite:///plane.db"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder is the test's own, and the environment says nothing of Stateous."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("STATEOUS_")]:
        monkeypatch.delenv(name)


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(
            ("nofile.json",),
            "cannot read the graph file nofile.json: No such file or directory",
            id="no file",
        ),
        pytest.param((".",), "cannot read the graph file .: Is a directory", id="a folder"),
        pytest.param(
            ("v2.json",),
            "v2.json is not a graph file: the graph file has format 2, but this Stateous reads "
            "format 1; run `stateous compile` again",
            id="format 2",
        ),
        pytest.param(
            ("review.yaml",),
            "review.yaml is not a graph file: `stateous compile review.yaml` makes one",
            id="not compiled",
        ),
        pytest.param(
            ("ticket.json", "--listen", "nonsense"),
            "--listen 'nonsense' is not HOST:PORT with a port from 0 to 65535; write, for "
            "example, 127.0.0.1:8080 or [::1]:8080",
            id="no port",
        ),
        pytest.param(
            ("ticket.json", "--listen", "127.0.0.1:65536"),
            "--listen '127.0.0.1:65536' is not HOST:PORT with a port from 0 to 65535; write, for "
            "example, 127.0.0.1:8080 or [::1]:8080",
            id="port too high",
        ),
        pytest.param(
            ("ticket.json", "--lease", "3s"),
            "--lease 3s: a lease is at least 4s long",
            id="short lease",
        ),
    ],
)
def test_before_the_port_is_bound(
    words: tuple[str, ...], sentence: str, new_database: ServedDatabase, tmp_path: Path
) -> None:
    ticket_graph(tmp_path)
    written(tmp_path, {**TICKET, "stateous": 2}, "v2.json")
    (tmp_path / "review.yaml").write_text("statechart: review\nstates: { a: {} }\n")
    before = left_in(tmp_path)
    assert refused_here(*words, "--db", new_database.url) == sentence
    assert left_in(tmp_path) == before
    assert new_database.tables() == set()


def test_it_is_the_same_from_a_terminal(tmp_path: Path) -> None:
    assert refused_start("nofile.json", "--db", DB, cwd=tmp_path) == (
        "cannot read the graph file nofile.json: No such file or directory"
    )
    assert left_in(tmp_path) == set()


def test_a_lease_that_is_no_duration(tmp_path: Path) -> None:
    said = refused_here("--lease", "soon", "--db", DB)
    assert said.startswith("--lease: ")
    assert "'soon'" in said


def test_a_file_that_is_no_graph(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"stateous": 1, "workflow": 5', "utf-8")
    said = refused_here("bad.json", "--db", DB)
    assert said.startswith("bad.json is not a graph file: ")
    assert left_in(tmp_path) == {"bad.json"}


def test_a_port_that_is_in_use(new_database: ServedDatabase, tmp_path: Path) -> None:
    with taken_port() as port:
        graph = str(ticket_graph(tmp_path))
        said = refused_here(graph, "--db", new_database.url, "--listen", f"127.0.0.1:{port}")
    assert said == (
        f"cannot listen on 127.0.0.1:{port}: another program uses that port; stop it, or choose "
        "another with --listen"
    )
    assert left_in(tmp_path) == {"ticket.json"}
    assert new_database.tables() == set()


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "no.such.host.invalid"], ids=["another computer's", "unknown"]
)
def test_a_host_that_is_none_of_this_computer(host: str, tmp_path: Path) -> None:
    said = refused_here("--db", DB, "--listen", f"{host}:8080")
    assert said.startswith(f"cannot listen on {host}:8080: ")
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://root:hunter2@box/db",
        "postgresql+psycopg://root:hunter2@box/db",
        "sqlite://plane.db",
        "sqlite:///",
        "sqlite:///:memory:",
        "plane.db",
    ],
)
def test_a_url_of_no_database(url: str, tmp_path: Path) -> None:
    said = refused_here("--db", url, "--listen", "127.0.0.1:0")
    assert "hunter2" not in said
    assert url.replace("hunter2", "***") in said
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize(
    ("file", "why"),
    [
        pytest.param("nowhere/plane.db", "there is no folder {tmp}/nowhere", id="no folder"),
        pytest.param("folder.db", "it is a folder", id="a folder"),
        pytest.param("text.db", "the file is not an SQLite database", id="a text"),
        pytest.param(
            "/sys/plane.db",
            "Permission denied",
            id="read-only",
            marks=pytest.mark.skipif(
                sys.platform != "linux", reason="a folder where nobody, not even root, may write"
            ),
        ),
    ],
)
def test_a_database_file_that_cannot_be_opened(file: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "text.db").write_text("To whom it may concern:\n" * 100, "utf-8")
    said = refused_here("--db", f"sqlite:///{file}", "--listen", "127.0.0.1:0")
    assert said == (f"cannot open the database {tmp_path / file}: {why.format(tmp=tmp_path)}")
    assert left_in(tmp_path) <= {"folder.db", "text.db", "folder.db.lock", "text.db.lock"}


@pytest.mark.parametrize(
    ("part", "other", "why"),
    [
        pytest.param(":{port}/", ":1/", ".+ refused.*", id="no server"),
        pytest.param(
            ":{password}@",
            ":hunter2@",
            'password authentication failed for user "stateous"',
            id="a wrong password",
        ),
        pytest.param("/{name}", "/absent", 'database "absent" does not exist', id="no database"),
    ],
)
def test_a_database_on_a_server_that_cannot_be_opened(
    part: str, other: str, why: str, postgres_server: SharedServer
) -> None:
    url = postgres_server.url("postgres")
    password, port = re.findall(r":(\w+)", url)
    wrong = url.replace(part.format(port=port, password=password, name="postgres"), other)
    assert wrong != url
    said = refused_here("--db", wrong, "--listen", "127.0.0.1:0")
    shown = wrong.replace(password, "***").replace("hunter2", "***")
    beginning = f"cannot open the database {shown}: "
    assert said.startswith(beginning)
    assert re.search(rf"{why}$", said.removeprefix(beginning)), said


@pytest.mark.parametrize(
    ("statements", "sentence"),
    [
        pytest.param(
            ["UPDATE stateous_version SET version_num = '9999'"],
            r"a newer Stateous made this database \(version 9999, this one knows \d{4}\): "
            r"upgrade Stateous",
            id="a newer version",
        ),
        pytest.param(
            ["UPDATE stateous_version SET version_num = 'abcd'"],
            r"the database has an unknown version \(abcd, this Stateous knows \d{4}\): .+",
            id="an unknown version",
        ),
        pytest.param(
            ["DROP TABLE stateous_version"],
            r"the database has tables with the names of Stateous \(.*tokens.*\) but no version: .+",
            id="no version",
        ),
        pytest.param(
            ["DROP TABLE timers"],
            r"the database lacks a table of its version \d{4} \(timers\): .+",
            id="a missing table",
        ),
        pytest.param(
            ["DELETE FROM control_plane"],
            r"the database \S+ lacks the row of its table control_plane: .+",
            id="a missing row",
        ),
    ],
)
def test_a_database_that_must_be_left_alone(
    statements: list[str], sentence: str, database: ServedDatabase
) -> None:
    for statement in statements:
        database.query(statement)
    before = contents(database)
    said = refused_here("--db", database.url, "--listen", "127.0.0.1:0")
    assert re.fullmatch(sentence, said), said
    assert contents(database) == before
    assert database.has_free_lock()


def contents(database: ServedDatabase) -> list[object]:
    """All tables, and what Stateous keeps of itself in them."""
    tables = sorted(database.tables())
    own = [name for name in ("control_plane", "stateous_version") if name in tables]
    return [tables, *(database.query(f"SELECT * FROM {name}") for name in own)]


def test_a_database_that_another_control_plane_holds(
    database: ServedDatabase, tmp_path: Path
) -> None:
    graph = ticket_graph(tmp_path)
    url = database.url
    with control_plane(graph, url, cwd=tmp_path) as (holder, client):
        name = holder_of(database)
        port = free_port()
        said = refused_start(str(graph), "--db", url, "--listen", f"127.0.0.1:{port}", cwd=tmp_path)
        match = re.fullmatch(
            r"another control plane serves this database \((.+), last seen at "
            r"\d\d:\d\d:\d\d UTC\); stop it first, or wait for it with --standby",
            said,
        )
        assert match, said
        assert match[1] == name
        assert re.fullmatch(rf".+:{holder.pid}:[0-9a-f]{{8}}", match[1])
        assert not is_open(port)
        assert holder_of(database) == name
        assert client.ready()
        assert holder.stop() == 0


OTHER = "box-9:4711:9f3c01aa"


@pytest.mark.parametrize(
    ("ago", "refused"), [(5.0, True), (60.0, False)], ids=["alive", "silent for a minute"]
)
def test_the_row_of_another_host_is_respected_while_it_is_renewed(
    ago: float, refused: bool, sqlite_database: SqliteFile, tmp_path: Path
) -> None:
    """Only on SQLite is the row more than a name: the lock of a file need not reach other hosts."""
    write_holder(sqlite_database, OTHER, datetime.now(UTC) - timedelta(seconds=ago))
    if refused:
        said = refused_here("--db", sqlite_database.url, "--listen", "127.0.0.1:0")
        assert said.startswith(
            f"another control plane serves this database ({OTHER}, last seen at "
        )
        assert holder_of(sqlite_database) == OTHER
    else:
        with control_plane(None, sqlite_database.url, cwd=tmp_path) as (process, _):
            assert process.stop() == 0
        assert holder_of(sqlite_database) is None


def test_on_postgres_the_lock_alone_says_whether_another_host_serves(
    postgres_database: OnPostgres, tmp_path: Path
) -> None:
    """The server's lock reaches every host, so that a name without it is of one that is gone."""
    write_holder(postgres_database, OTHER, datetime.now(UTC))
    with control_plane(None, postgres_database.url, cwd=tmp_path) as (process, _):
        assert process.stop() == 0
    assert holder_of(postgres_database) is None
    with postgres_database.held_by(OTHER):
        said = refused_here("--db", postgres_database.url, "--listen", "127.0.0.1:0")
    assert said.startswith(f"another control plane serves this database ({OTHER}, last seen at ")
    assert holder_of(postgres_database) == OTHER


def test_another_structure_while_tokens_are_live(database: ServedDatabase, tmp_path: Path) -> None:
    graph = ticket_graph(tmp_path)
    other = written(tmp_path, OTHER_STRUCTURE, "other.json")
    start = ("--db", database.url, "--listen", "127.0.0.1:0")
    with control_plane(graph, database.url, cwd=tmp_path) as (process, client):
        for name in ("T-1", "T-2", "T-3"):
            client.start(name)
        client.pause("T-2")
        client.cancel("T-3")
        assert process.stop() == 0
    assert refused_start(str(other), *start, cwd=tmp_path) == (
        "2 token(s) are active or paused on another structure of the workflow 'ticket'; serve "
        "the graph file they started on until they end, or cancel them"
    )
    with control_plane(graph, database.url, cwd=tmp_path) as (process, client):
        client.cancel("T-1")
        client.cancel("T-2")
        assert process.stop() == 0
    with control_plane(other, database.url, cwd=tmp_path) as (process, client):
        assert client.start("T-4")["state"] == "coding"
        assert process.stop() == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--max-connections", "0"),
        ("--max-connections", "many"),
        ("--log-format", "xml"),
        ("--nosuch",),
        ("one.json", "two.json"),
    ],
)
def test_wrong_usage_is_exit_code_2(words: tuple[str, ...], tmp_path: Path) -> None:
    ran = run_stateous("serve", *words, cwd=tmp_path)
    assert ran.returncode == 2
    assert "Usage: " in ran.stderr
    assert left_in(tmp_path) == set()
