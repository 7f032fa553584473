"""The transcript of `docs/spec/statechart.md` 18: what is typed, what appears, and somebody who types it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.processes import DEADLINE, Process, environment, eventually
from tests.support.served import free_port

PAGE: Final = (Path(__file__).parents[2] / "docs" / "spec" / "statechart.md").read_text("utf-8")

#: What differs each time.
RUN: Final = re.compile(r"run-[a-z2-7]{16}")
TICKET: Final = re.compile(r"tk_[\w-]{43}")
URL: Final = "http://127.0.0.1:8080"
_SECTION: Final = re.compile(r"^## 18\. Transcript$.*?^```console\n(.*?)^```$", re.M | re.S)
_END: Final = "EOF"


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it is typed, the text that it takes from behind `<<'EOF'`, and its output."""

    typed: str
    here: str
    output: str


def typed_in(page: str) -> list[Typed]:
    """The commands of the transcript, in order."""
    section = _SECTION.search(page)
    assert section is not None
    found: list[Typed] = []
    for part in re.split(r"^\$ ", section[1], flags=re.M)[1:]:
        typed, _, rest = part.partition("\n")
        here = ""
        if typed.endswith(f"<<'{_END}'"):
            here, _, rest = rest.partition(f"{_END}\n")
        found.append(Typed(typed, here, rest))
    return found


@dataclass
class Reader:
    """Somebody who types the transcript in ``folder``; ``before`` is called before each line."""

    folder: Path
    db: str
    before: Callable[[Reader, Typed], None] = lambda reader, typed: None
    port: int = field(default_factory=free_port)
    #: Where the `stateous` command is.
    commands: Path = field(default_factory=lambda: Path(sys.executable).parent)
    service: Process | None = None
    #: What stands in the page, and what stands for it here.
    here: dict[str, str] = field(default_factory=dict)
    log: str = ""

    @property
    def variables(self) -> dict[str, str]:
        """What a person at this computer would have: a port of one's own, a short lease."""
        return environment(
            PATH=f"{self.commands}:/usr/bin:/bin",
            XDG_STATE_HOME=str(self.folder.parent / "state"),
            STATEOUS_LISTEN=f"127.0.0.1:{self.port}",
            STATEOUS_URL=f"http://127.0.0.1:{self.port}",
            STATEOUS_LEASE="4s",
            **({"STATEOUS_DB": self.db} if self.db else {}),
        )

    def read(self) -> None:
        """Type it all."""
        for typed in typed_in(PAGE):
            if self.service is not None:
                self.before(self, typed)
            if typed.typed.endswith("&"):
                self.serve(typed.output)
            else:
                self.type(typed)

    def serve(self, output: str) -> None:
        """The service begins, and says what the page says; warnings of its log may come before."""
        extra = {n: v for n, v in self.variables.items() if n.startswith(("STATEOUS_", "XDG_"))}
        self.service = Process(
            ["serve", "--scripts"],
            cwd=self.folder,
            name="serve",
            extra=extra,
            log=self.folder.parent,
            command=[self.commands / "stateous"],
        )
        line = self.service.says("serving on ")
        assert line.replace(f":{self.port}", ":8080") == output.rstrip("\n")

    def kill(self) -> None:
        """`kill -9`, and the service again."""
        assert self.service is not None
        self.service.kill()
        self.log += self.service.said
        self.serve(f"serving on {URL} (Ctrl-C stops)\n")

    def type(self, typed: Typed) -> None:
        """One line, and what appears."""
        # A job that was running when the service died waits for the end of its lease.
        patient = "--tickets" in typed.typed

        def appears() -> bool:
            ran = self._run(typed)
            said = ran.stdout + ran.stderr
            if patient and said == "error: no open ticket\n":
                return False
            self._learn(typed.output, said)
            assert self._as_in_page(said) == typed.output, f"$ {typed.typed}"
            assert (ran.returncode == 1) == typed.output.startswith("error:")
            return True

        eventually(lambda: appears() or None, within=60)

    def _run(self, typed: Typed) -> subprocess.CompletedProcess[str]:
        line = typed.typed
        for page, mine in self.here.items():
            line = line.replace(page, mine)
        script = f"{line}\n{typed.here}EOF\n" if typed.here else line
        return subprocess.run(
            ["/bin/bash", "-c", script],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE * 2,
            check=False,
        )

    def _learn(self, output: str, said: str) -> None:
        for pattern in (RUN, TICKET):
            page, mine = pattern.search(output), pattern.search(said)
            if page is not None and mine is not None:
                known = self.here.setdefault(page[0], mine[0])
                assert known == mine[0], "it is another one than before"

    def _as_in_page(self, said: str) -> str:
        for page, mine in self.here.items():
            said = said.replace(mine, page)
        return said.replace(f":{self.port}", ":8080")

    @property
    def ticket(self) -> str:
        """The value of the ticket that it was shown."""
        (value,) = (mine for mine in self.here.values() if TICKET.fullmatch(mine))
        return value

    def left(self) -> set[str]:
        """What is in the folder now."""
        assert self.service is not None
        assert self.service.stop() == 0
        self.log += self.service.said
        return {file.name for file in self.folder.iterdir()}
