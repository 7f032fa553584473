import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

CONTRACT = """
from __future__ import annotations

from typing import Never

from pydantic import BaseModel

from stateous import Context, Occurrence, StateRef

__workflow__ = "invoices"
__checksum__ = "sha256:aa"
__contract__ = "sha256:cc"


class Verdict(BaseModel):
    approved: bool
    note: str | None = None


class events:
    class submitted(Occurrence[None]):
        name = "submitted"

    class reviewed(Occurrence[Verdict]):
        name = "reviewed"

    class tax_check:
        class quoted(Occurrence[None]):
            name = "quoted"


class states:
    draft = StateRef("draft", emits=(events.submitted,))
    review = StateRef("review", emits=(events.reviewed, events.submitted))
    stuck = StateRef[Never]("stuck", emits=())

    class tax_check:
        ask = StateRef("tax-check/ask", emits=(events.tax_check.quoted,))
"""


@pytest.fixture
def write_folder(tmp_path, monkeypatch):
    """Writes a supervisor's folder; what loading it does to the process is undone."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = dict(sys.modules)

    def write(url="http://127.0.0.1:9", /, *, tasks=4, folder="desk", **files):
        home = tmp_path / folder
        home.mkdir(exist_ok=True)
        (home / "contract.py").write_text(CONTRACT)
        (home / "stateous.yaml").write_text(f'url: "{url}"\ntasks: {tasks}\nname: box-a\n')
        for stem, text in files.items():
            (home / f"{stem}.py").write_text(text)
        return home

    yield write
    for name in set(sys.modules) - set(before):
        if hasattr(sys.modules[name], "__stateous_folder__"):
            del sys.modules[name]
    sys.modules.update({name: before[name] for name in before if name not in sys.modules})


class FakePlane:
    """A control plane of a test: real HTTP, answers that the test sets, every request kept.

    Claims wait until a grant is queued, as long as they may. `answers` maps the end of a path to a
    function of the body that gives a status and a body, or None for the usual answer; raising
    `ConnectionAbortedError` closes the connection without an answer.
    """

    def __init__(self):
        self.health = {"workflow": "invoices", "checksum": "sha256:aa", "contract": "sha256:cc"}
        self.lease = None
        self.answers = {}
        self.requests = []
        self.lost = set()
        self._granted = {}
        self._queue = []
        self._changed = threading.Condition()
        self._open = True

    def grant(self, task, *, state="draft", token=None, attempt=1, **more):
        """Queue a task."""
        with self._changed:
            self._queue.append(
                {
                    "task": task,
                    "token": token or f"INV-{task}",
                    "state": state,
                    "visit": 1,
                    "attempt": attempt,
                    "context": {"title": "May"},
                    "memory": {},
                    "entered_by": {"name": "__started__"},
                }
                | more
            )
            self._changed.notify_all()

    def grant_job(self, task, *, attempt=1, timeout=300, **more):
        """Queue a job of a run: with `routine`, or with `script`, its text."""
        script = more.pop("script", None)
        if script is not None:
            more["script"] = {"path": more.pop("path", "work.js"), "source": script}
        with self._changed:
            self._queue.append(
                {
                    "task": task,
                    "token": f"run-{task}",
                    "machine": "review",
                    "state": "pricing",
                    "job": "pricing",
                    "visit": 1,
                    "attempt": attempt,
                    "input": None,
                    "timeout": timeout,
                    "memory": {},
                }
                | more
            )
            self._changed.notify_all()

    def bodies(self, path):
        """The bodies of the requests whose path ends so, in order of arrival."""
        with self._changed:
            return [body for where, body in self.requests if where.endswith(path)]

    def wait_for(self, path, *, count=1):
        """The bodies of such requests, once there are so many."""
        with self._changed:
            there = self._changed.wait_for(lambda: len(self.bodies(path)) >= count, timeout=10)
            assert there, f"no {count} requests of {path}: {self.requests}"
            return self.bodies(path)

    def answer(self, path, body):
        with self._changed:
            self.requests.append((path, body))
            self._changed.notify_all()
            usual = next((make for end, make in self.answers.items() if path.endswith(end)), None)
        answered = usual(body) if usual is not None else None
        return answered if answered is not None else self._usual(path, body)

    def _usual(self, path, body):
        if path == "/health":
            return 200, self.health
        if path == "/tasks/claim":
            return self._claim(body)
        if path == "/tasks/heartbeat":
            return 200, {"lost": [task for task in body["tasks"] if task in self.lost]}
        if path.endswith("/report"):
            return 200, {"token": "INV-1"}
        return 204, None

    def _claim(self, body):
        jobs = body.get("jobs", [])

        def is_mine(grant):
            if "script" in grant:
                return "scripts" in jobs
            if "routine" in grant:
                return f"{grant['machine']}/{grant['routine']}" in jobs
            return grant["state"] in body["states"]

        def mine():
            return [it for it in self._queue if is_mine(it)]

        with self._changed:
            found = self._granted.get(body["request"])
            if found is None:
                if body["states"] or jobs:
                    self._changed.wait_for(lambda: mine() or not self._open, body.get("wait", 0))
                found = mine()[: body.get("max") or 1]
                self._queue = [it for it in self._queue if it not in found]
                if found:
                    self._granted[body["request"]] = found
        if "max" in body:
            return 200, {"tasks": found}
        return (200, found[0]) if found else (204, None)

    def close(self):
        with self._changed:
            self._open = False
            self._changed.notify_all()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _respond(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        try:
            status, answer = self.server.plane.answer(self.path, body)
        except ConnectionAbortedError:
            self.close_connection = True
            return
        content = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        if self.server.plane.lease is not None:
            self.send_header("Stateous-Lease", str(self.server.plane.lease))
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        try:
            self.wfile.write(content)
        except OSError:
            self.close_connection = True

    do_GET = do_POST = do_PUT = _respond

    def log_message(self, *_):
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_):
        pass


@pytest.fixture
def plane():
    fake = FakePlane()
    server = _Server(("127.0.0.1", 0), _Handler)
    server.plane = fake
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield fake
    fake.close()
    server.shutdown()
    thread.join()
    server.server_close()
