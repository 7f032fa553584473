"""A throwaway PostgreSQL for the tests: no root, no package system, no Docker; works as root too.

Where its programs are, `tests/support/postgres_bins.py` knows. One server is shared by all workers of
a test session (:func:`shared_server`); a test that kills its server has one of its own, with `fsync`
on (:class:`Postgres`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psycopg

from stateous_controlplane.store.migrating import migrate
from stateous_controlplane.store.versions import NEWEST, VERSION_TABLE, VERSIONS
from tests.support.postgres_bins import find_bin

#: Starts the server as another user where needed, and lets it end with whoever started it.
_LAUNCH = """
import ctypes, os, signal, sys
user, group, *words = sys.argv[1:]
libc = ctypes.CDLL(None)
if int(user) >= 0:
    os.setgroups([])
    os.setgid(int(group))
    os.setuid(int(user))
if hasattr(libc, "prctl"):
    libc.prctl(1, signal.SIGQUIT)
os.execv(words[0], words)
"""


@dataclass(frozen=True)
class _User:
    """Whom the server runs as: it refuses to run as root."""

    uid: int = -1
    gid: int = -1

    @property
    def options(self) -> dict[str, Any]:
        if self.uid < 0:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def owns(self, path: Path) -> None:
        if self.uid >= 0:
            os.chown(path, self.uid, self.gid)


def _server_user() -> _User:
    if os.geteuid() != 0:
        return _User()
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return _User(found.pw_uid, found.pw_gid)
    raise RuntimeError("PostgreSQL does not run as root, and there is neither postgres nor nobody")


class Postgres:
    """A server in a folder of its own under the temporary folder, on a port of its own.

    Without ``fsync`` it is fast, and loses answered commits when it is killed.
    """

    def __init__(
        self,
        bin_dir: Path,
        *,
        fsync: bool = False,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        # Short: the path of a socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="stateous-pg-", dir="/tmp"))
        self._user = _server_user()
        self._password = secrets.token_hex(8)
        self._process: subprocess.Popen[bytes] | None = None
        self.folder.chmod(0o711)
        for name in ("data", "sock"):
            (self.folder / name).mkdir(mode=0o700)
            self._user.owns(self.folder / name)
        self._bin = bin_dir if self._can_run(bin_dir) else self._copy(bin_dir)
        self._make_cluster()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._settings: dict[str, object] = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder / "sock",
            "max_connections": 300,
            "shared_buffers": "64MB",
        }
        if not fsync:
            self._settings |= {
                "fsync": "off",
                "full_page_writes": "off",
                "autovacuum": "off",
            }
        self._settings |= settings or {}
        self.start()

    def start(self, within: float = 30.0) -> None:
        """Start, and wait until it takes connections."""
        words = [str(self._bin / "postgres"), "-D", str(self.folder / "data")]
        for name, value in self._settings.items():
            words += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _LAUNCH, str(self._user.uid), str(self._user.gid), *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=self._environment,
                start_new_session=True,
            )
        end = time.monotonic() + within
        while time.monotonic() < end:
            if self._is_ready():
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError(
            "PostgreSQL did not start:\n" + (self.folder / "log").read_text()[-2000:]
        )

    def _is_ready(self) -> bool:
        with contextlib.suppress(OSError, IndexError):
            lines = (self.folder / "data" / "postmaster.pid").read_text().splitlines()
            return lines[7].strip() == "ready"
        return False

    @property
    def pid(self) -> int:
        """The id of the server's first process, whose children are the others."""
        assert self._process is not None
        return self._process.pid

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop and wait: SIGINT is a fast stop, SIGQUIT is as a crash."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait(30)

    def close(self) -> None:
        """Stop, and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = "postgres") -> str:
        """The URL of a database."""
        return f"postgresql://stateous:{self._password}@127.0.0.1:{self.port}/{database}"

    def _make_cluster(self) -> None:
        password = self.folder / "password"
        password.write_text(self._password)
        self._run(
            "initdb",
            *("-D", str(self.folder / "data"), "-U", "stateous", f"--pwfile={password}"),
            *("-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8"),
            *("--no-sync", "--no-instructions"),
        )

    @property
    def _environment(self) -> dict[str, str]:
        return {"PATH": f"{self._bin}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def _run(self, tool: str, *words: str) -> None:
        ran = subprocess.run(
            [self._bin / tool, *words],
            capture_output=True,
            text=True,
            cwd="/",
            env=self._environment,
            check=False,
            **self._user.options,
        )
        if ran.returncode != 0:
            raise RuntimeError(f"{tool} failed: {ran.stderr.strip()}")

    def _can_run(self, bin_dir: Path) -> bool:
        try:
            ran = subprocess.run(
                [bin_dir / "postgres", "--version"],
                capture_output=True,
                cwd="/",
                check=False,
                **self._user.options,
            )
        except OSError:
            return False
        return ran.returncode == 0

    def _copy(self, bin_dir: Path) -> Path:
        """Copy a wheel that lies where the server's user cannot read."""
        if "site-packages" not in bin_dir.parts:
            raise RuntimeError(f"{bin_dir} cannot be executed by the user {self._user.uid}")
        package = bin_dir.parents[1]
        # Its libraries lie beside it, where the programs look for them.
        for each in (package, package.with_name(f"{package.name}.libs")):
            if each.is_dir():
                shutil.copytree(each, self.folder / "pg" / each.name, symlinks=True)
        (self.folder / "pg").chmod(0o755)
        return self.folder / "pg" / bin_dir.relative_to(package.parent)


# ── one server for all workers ──────────────────────────────────────────

TEMPLATE = "stateous_template"

_END_SESSIONS = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
_EMPTY = "; ".join(
    [f"DELETE FROM {name}" for name in sorted(VERSIONS[NEWEST] - {"control_plane"})]
    + [
        "UPDATE control_plane SET structure = NULL, checksum = NULL, serving = NULL, since = NULL, "
        "ticket_key = NULL, key_fingerprint = NULL",
    ]
)
_IS_SOUND = (
    f"SELECT (SELECT count(*) FROM control_plane) = 1 "
    f"AND (SELECT string_agg(version_num, ' ') FROM {VERSION_TABLE}) = '{NEWEST}'"
)


class SharedServer:
    """The server that all workers of a test session use, with a migrated template database."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._made = 0
        self._emptied: list[str] = []
        self._worker = os.environ.get("PYTEST_XDIST_WORKER", f"p{os.getpid()}")
        self._connection = psycopg.connect(self.url("postgres"), autocommit=True)

    def url(self, database: str) -> str:
        """The URL of one of its databases."""
        return self._url.replace("{name}", database)

    @contextlib.contextmanager
    def new_database(self, template: str = TEMPLATE) -> Iterator[str]:
        """The URL of a database of one's own, whose tables may be changed; dropped at the end."""
        name = self._create(template)
        try:
            yield self.url(name)
        finally:
            self._drop(name)

    @contextlib.contextmanager
    def empty_database(self) -> Iterator[str]:
        """The URL of an empty database at the newest version.

        It is emptied for the next test, which costs a quarter of copying one (13 ms), unless the test has
        spoilt it.
        """
        name = self._emptied.pop() if self._emptied else self._create(TEMPLATE)
        try:
            yield self.url(name)
        finally:
            self._connection.execute(_END_SESSIONS, (name,))
            if self._can_be_emptied(name):
                self._emptied.append(name)
            else:
                self._drop(name)

    def _can_be_emptied(self, name: str) -> bool:
        try:
            with psycopg.connect(self.url(name), autocommit=True) as connection:
                connection.execute(_EMPTY)
                (sound,) = connection.execute(_IS_SOUND).fetchone() or (False,)
        except psycopg.errors.UndefinedTable:
            return False
        return bool(sound)

    def _drop(self, name: str) -> None:
        self._connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _create(self, template: str) -> str:
        self._made += 1
        name = f"t_{self._worker}_{self._made}"
        self._connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def close(self) -> None:
        self._connection.close()


@contextlib.contextmanager
def shared_server(folder: Path, bin_dir: Path | None = None) -> Iterator[SharedServer]:
    """The server of the test session that ``folder`` belongs to; the first worker starts it.

    Two servers, of different programs, have different folders.
    Each worker holds a shared lock on a file as long as it lives, which the system frees whatever
    happens to it. A keeper process, which has the server as its child, ends once nobody holds it.
    """
    with (folder / "postgres.users").open("a") as users:
        with (folder / "postgres.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)
            told = folder / "postgres.json"
            if not told.exists():
                _start_keeper(folder, bin_dir or find_bin())
            server = SharedServer(json.loads(told.read_text())["url"])
        try:
            yield server
        finally:
            server.close()


def _start_keeper(folder: Path, bin_dir: Path | None) -> None:
    if bin_dir is None:
        raise RuntimeError("there is no PostgreSQL here")
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.support.postgres", str(folder), str(bin_dir)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert keeper.stdout is not None
    with keeper.stdout as said:
        if said.readline() != b"ready\n":
            raise RuntimeError("PostgreSQL for the tests did not start")
    # It ends by itself, after us.
    keeper.returncode = 0


def _keep(folder: Path, bin_dir: Path) -> None:
    """Run the server until no worker is left."""
    server = Postgres(bin_dir)
    try:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {TEMPLATE}")
        migrate(server.url(TEMPLATE))
        (folder / "postgres.json").write_text(json.dumps({"url": server.url("{name}")}))
        print("ready", flush=True)
        with (folder / "postgres.users").open("a") as users:
            while not _is_free(users):
                time.sleep(0.2)
    finally:
        server.close()


def _is_free(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    _keep(Path(sys.argv[1]), Path(sys.argv[2]))
