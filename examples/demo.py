"""`make demo`: the main job in one minute, on an embedded SQLite file in a temporary folder.

A workflow is compiled, a control plane serves it and runs its supervisor, three tickets go their
way, and their histories are shown. Each command is printed as a newcomer types it, then run.
"""

# ruff: noqa: T201

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from stateous_client import Client

EXAMPLES = Path(__file__).resolve().parent
STATEOUS = [sys.executable, "-m", "stateous_cli"]
#: How long each step may take, in seconds.
PATIENCE = 20

TICKETS = {
    "TICKET-1": '{"title": "Log in with a passkey"}',
    "TICKET-2": '{"title": "Export to CSV", "bugs": 2, "leaks": true}',
    "TICKET-3": '{"title": "A darker dark mode", "bugs": 5}',
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="stateous-demo-") as name:
        folder = Path(name)
        for example in ("sdlc", "sdlc-supervisor"):
            shutil.copytree(
                EXAMPLES / example,
                folder / example,
                ignore=shutil.ignore_patterns("build", ".stateous", "__pycache__"),
            )
        show(folder)
    say("Done. Everything ran in a temporary folder, which is gone now. Next: README.md")


def show(folder: Path) -> None:
    say("1. Compile the workflow: it is checked, and becomes a graph file.")
    stateous(folder, "compile", "sdlc/flow.py", "--diagram")

    say("2. Serve it: a control plane on an SQLite file, and a supervisor in the same process.")
    with serving(folder) as url:
        say(f"3. Start three tickets, over HTTP at {url}. STATEOUS_URL says where.")
        for ticket, context in TICKETS.items():
            stateous(folder, "token", "start", ticket, context, url=url)
        with Client(url) as client:
            for ticket in TICKETS:
                client.wait(ticket, timeout=PATIENCE)

        say("4. All three have ended. The first passed its tests and both of its reviews at once:")
        stateous(folder, "token", "show", "TICKET-1", url=url)
        say(
            "   The second failed its tests twice, then one of its reviews, which are tokens of their"
            "\n   own. It went back to coding, and two more reviews approved it:"
        )
        stateous(folder, "token", "list", "--parent", "TICKET-2", url=url)
        stateous(folder, "token", "show", "TICKET-2.reviews.1.security-review", url=url)
        say("   The third failed three times: count('failed') < 3 sent it back no more. Its end:")
        stateous(folder, "token", "show", "TICKET-3", "--after", "42", url=url)
        say("5. Where all tickets are:")
        stateous(folder, "token", "list", "--workflow", "sdlc", url=url)
        say("6. Ctrl-C: the supervisor finishes what it runs, then the control plane stops.")


def stateous(folder: Path, *arguments: str, url: str | None = None) -> None:
    """Print a command, run it, and let its output through; a failure ends the demo."""
    print(f"$ stateous {shlex.join(arguments)}", flush=True)
    subprocess.run(
        [*STATEOUS, *arguments],
        cwd=folder,
        env=os.environ | ({"STATEOUS_URL": url} if url else {}),
        timeout=PATIENCE,
        check=True,
    )


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a control plane that serves the workflow until the block ends."""
    arguments = [
        "serve",
        "sdlc/build/sdlc.json",
        "--db",
        "sqlite:///demo.db",
        "--listen",
        "127.0.0.1:0",
        "--supervise",
        "sdlc-supervisor",
    ]
    print(f"$ stateous {shlex.join(arguments)} &", flush=True)
    server = subprocess.Popen(
        [*STATEOUS, *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a Ctrl-C in the terminal is the demo's, which then stops it
    )
    log = Log(server)
    try:
        yield log.address()
        server.send_signal(signal.SIGINT)
        if server.wait(PATIENCE) != 0:
            give_up(f"the control plane ended with exit code {server.returncode}")
    finally:
        server.kill()
        server.wait()
        log.close()


class Log:
    """The control plane's stderr, shown from the first line on and read to the end."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        assert server.stderr is not None
        self._stderr = server.stderr
        self._address = ""
        self._known = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def address(self) -> str:
        """Where it serves, once its log says so."""
        if not self._known.wait(PATIENCE) or not self._address:
            give_up("the control plane did not come up")
        return self._address

    def close(self) -> None:
        self._reader.join(PATIENCE)
        self._stderr.close()

    def _read(self) -> None:
        for line in self._stderr:
            found = re.match(r"serving on (\S+)", line)
            if found:
                self._address = found[1]
            # Its log of each task would stand between the lines of the commands.
            if found or not re.match(r"\d{4}-\d\d-\d\d ", line):
                print(f"  {line}", end="", flush=True)
            if found:
                self._known.set()
        self._known.set()


def say(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}", flush=True)


def give_up(why: str) -> NoReturn:
    sys.exit(f"demo: {why}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ndemo: stopped")
