"""A token of a rehearsal, as a test looks at it: how it is now, and how it came there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stateous_cli.output.history import history_lines
from stateous_cli.output.tasks import task_line
from stateous_cli.output.tokens import token_line

if TYPE_CHECKING:
    from datetime import datetime

    from stateous_cli.testing.plane import ControlPlane
    from stateous_client import Client, Entry, Task
    from stateous_client import Token as Values

_OPEN = frozenset({"queued", "claimed", "waiting"})


class Token:
    """A look at the token ``id``. Each property is read when it is asked for.

    Its story is made to be an assertion's message::

        assert ticket.status == "completed", ticket.story()
    """

    def __init__(self, id: str, client: Client, plane: ControlPlane) -> None:
        self.id = id
        self._client = client
        self._plane = plane

    # ── how it is now ───────────────────────────────────────────────────

    @property
    def values(self) -> Values:
        """The token as `GET /tokens/{token}` answers it."""
        return self._client.get(self.id)

    @property
    def status(self) -> str:  # no Literal: a type checker would not expect it to change
        """``active``, ``paused``, ``completed``, ``failed`` or ``cancelled``."""
        return self.values["status"]

    @property
    def state(self) -> str:
        """The current state; after the end the last one."""
        return self.values["state"]

    @property
    def visit(self) -> int:
        """How often it has entered :attr:`state`, from 1."""
        return self.values["visit"]

    @property
    def context(self) -> dict[str, Any]:
        """A copy of its context."""
        return self.values["context"]

    @property
    def task(self) -> Task | None:
        """Its open task: ``queued``, ``claimed`` while its routine runs, or ``waiting``."""
        tasks = self._client.iter_tasks(token=self.id)
        return next((task for task in tasks if task["status"] in _OPEN), None)

    def memory(self, state: str | None = None) -> dict[str, Any]:
        """What routines of ``state``, by default the current one, remember for it."""
        return self._plane.memory(self.id, self.state if state is None else state)

    # ── how it came there ───────────────────────────────────────────────

    def history(self, *, after: int = 0) -> list[Entry]:
        """The ledger's entries behind the seq ``after``, oldest first."""
        return self._client.history(self.id, after=after)

    @property
    def path(self) -> list[str]:
        """The states that it entered, in order; one that it entered again is there again."""
        return self._all("entered", "state")

    @property
    def events(self) -> list[str]:
        """The events that were accepted, in order, own ones such as ``timeout`` included."""
        return self._all("event_accepted", "event")[1:]

    @property
    def notes(self) -> list[str]:
        """The notes of its routines, in order."""
        return self._all("note", "text")

    @property
    def children(self) -> list[Token]:
        """All child tokens that it ever started, in order."""
        ids = self._all("branch_started", "token")
        return [Token(id, self._client, self._plane) for id in ids]

    def child(self, workflow: str) -> Token:
        """The child token of this workflow that was started last.

        Raises:
            LookupError: there is none.
        """
        for child in reversed(self.children):
            if child.id.endswith(f".{workflow}"):
                return child
        raise LookupError(f"{self.id} has started no child of the workflow {workflow!r}")

    def _all(self, kind: str, field: str) -> list[Any]:
        return [entry["data"][field] for entry in self.history() if entry["kind"] == kind]

    # ── in words ────────────────────────────────────────────────────────

    def story(self, now: datetime | None = None) -> str:
        """The token, its open task and its history, a line each, times in UTC.

        ``now`` is for the lines' times: the date is left out of those of the same day.
        """
        history = self.history()
        lines = [token_line(self.values)]
        task = self.task
        if task is not None:
            lines.append(f"  {task_line(task)}")
        at = self._plane.moment if now is None else now
        lines += (f"  {line}" for line in history_lines(history, today=at.date(), zone=at.tzinfo))
        for child in self.children:
            lines += (f"  {line}" for line in child.story(at).splitlines())
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.story()

    def __repr__(self) -> str:
        return f"<Token {token_line(self.values)}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and self.id == other.id and self._plane is other._plane

    def __hash__(self) -> int:
        return hash(self.id)
