"""A control plane of the simulation: one process on one host, from its start to its end.

It is made of the product's own parts: the API's shapes make commands of bodies, the sequencer
decides and commits, the store takes and renews the hold. What the server does with threads and
sockets is done here with happenings: what arrives until the process gets its turn is one batch, and while
the process is frozen whatever arrives waits in its sockets.

It always starts as a standby: it tries each second to take the hold, and listens once it has it.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from stateous.wire.headers import LEASE
from stateous.wire.problems import Refusal
from stateous_client.protocol.courses import Sleep
from stateous_client.protocol.exchange import Answer, Request
from stateous_controlplane import answers as replies
from stateous_controlplane.api import commands, outcomes
from stateous_controlplane.api.bodies import read_object
from stateous_controlplane.engine.commands import Claim
from stateous_controlplane.startup import Workflow, put_on_record
from stateous_controlplane.store.port import DatabaseBusy, DatabaseUnreachable, HoldLost
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.sequencer import Sequencer, Terms
from stateous_controlplane.writer.submission import Submission
from tests.sim import run_routes
from tests.sim.faults import FaultyStore
from tests.sim.timeline import Crashed, Host, Steps
from tests.sim.violation import Violation
from tests.sim.witness import Witness

#: How the API reads each request that changes something (`docs/spec/wire.md` 2).
ROUTES: Final[dict[str, Any]] = {
    r"POST /tokens": commands.start_of,
    r"POST /tokens/(?P<token>[^/]+)/events/(?P<event>[^/]+)": commands.fire_of,
    r"POST /tokens/(?P<token>[^/]+)/pause": commands.pause_of,
    r"POST /tokens/(?P<token>[^/]+)/resume": commands.resume_of,
    r"POST /tokens/(?P<token>[^/]+)/cancel": commands.cancel_of,
    r"POST /tasks/claim": commands.claim_of,
    r"POST /tasks/heartbeat": commands.heartbeat_of,
    r"POST /tasks/(?P<task>\d+)/report": outcomes.report_of,
    r"POST /tasks/(?P<task>\d+)/note": outcomes.note_of,
    r"PUT /tasks/(?P<task>\d+)/memory": outcomes.memory_of,
    **run_routes.ROUTES,
}
#: What a control plane's log tells of its hold.
LOGGED: Final = {
    "another control plane took this database": "hold lost",
    "this control plane took it back": "hold taken back",
}
_DATABASE: Final = re.compile(r"the database (postgresql://|/)\S+")
#: Steps without an end are a defect.
_MOST_STEPS: Final = 10_000


@dataclass(eq=False)
class _Caller:
    """A request that has arrived, and the connection that its answer goes to."""

    request: Request[Any]
    send: Callable[[Answer], None]
    submission: Submission | None = None

    def hang_up(self) -> None:
        if self.submission is not None:
            self.submission.withdrawn = True


class ControlPlane:
    """One control plane process after another on ``host``.

    ``open_store`` makes the store of the next process, ``name`` its holder's name. Without a
    ``workflow`` it hosts runs alone.
    """

    def __init__(
        self,
        host: Host,
        workflow: Workflow | None,
        witness: Witness,
        *,
        lease: timedelta,
        open_store: Callable[[], FaultyStore],
        name: Callable[[], str],
    ) -> None:
        self.host = host
        host.crashed = self._crashed
        self._workflow = workflow
        self._witness = witness
        self._lease = lease
        self._open_store = open_store
        self._name = name
        self.store: FaultyStore | None = None
        self.sequencer: Sequencer | None = None
        self.holder = ""
        self.listening = False
        self._callers: dict[Submission, _Caller] = {}
        self._mailbox: list[_Caller] = []
        self._busy = False
        self._wake = 0

    # ── from its start to its end ───────────────────────────────────────

    def start(self) -> None:
        """The process begins."""
        self.host.boot()
        self.host.run(self._starting())

    def stop(self) -> None:
        """SIGTERM: what was submitted is served, the hold is given up."""
        if self.sequencer is None or self.host.frozen:
            return
        self._tell("stops")
        self._busy = True
        self.host.guarded(self._wind_up)
        self.host.crash()

    def _starting(self) -> Steps:
        self.store = store = self._open_store()
        self.holder = self._name()
        while not self._takes_hold(store):
            yield Sleep(1.0)
        self._tell(f"holds the database as {self.holder}")
        workflow = self._workflow
        catalog = Catalog(None if workflow is None else workflow.machine)
        terms = Terms(self.holder, self._lease, ticket_key=run_routes.TICKET_KEY)
        try:
            if workflow is not None:
                put_on_record(store, self.holder, workflow, self.host.now())
            self.sequencer = Sequencer(
                store, catalog, terms, self.host, self._deliver, self._lose_hold
            )
        except (HoldLost, DatabaseBusy):
            raise Crashed from None
        self.listening = True
        self._plan()

    def _takes_hold(self, store: FaultyStore) -> bool:
        try:
            return store.take_hold(self.holder, self.host.now()) is None
        except DatabaseUnreachable:
            return False

    def _wind_up(self) -> None:
        assert self.sequencer is not None
        assert self.store is not None
        self.listening = False
        self._read_mailbox()
        self.sequencer.end()
        self._witness.at_rest(self, self._unanswered(), ended=True)
        with contextlib.suppress(DatabaseBusy):
            self.store.give_up_hold(self.holder)

    def _lose_hold(self) -> None:
        self._tell("has lost the hold")
        self.host.run(self._leave())

    def _leave(self) -> Steps:
        yield Sleep(0.5)
        raise Crashed

    def _crashed(self) -> None:
        if self.store is not None:
            self.store.close()
        self.store = self.sequencer = None
        self.listening = False
        self._callers.clear()
        self._mailbox.clear()
        self._busy = False

    # ── requests and answers ────────────────────────────────────────────

    def receive(self, request: Request[Any], answer: Callable[[Answer], None]) -> Any:
        """A request has arrived on a connection."""
        caller = _Caller(request, answer)
        self._mailbox.append(caller)
        timeline = self.host.timeline
        longest = 0.15 if timeline.chance(0.2) else 0.004
        timeline.after(timeline.random.uniform(0.0, longest), self._work)
        return caller.hang_up

    def _read_mailbox(self) -> None:
        assert self.sequencer is not None
        mailbox, self._mailbox = self._mailbox, []
        for caller in mailbox:
            asked = _command_of(caller.request)
            if isinstance(asked, Refusal):
                raise Violation(f"the API refused {caller.request}: {asked}")
            caller.submission = submission = Submission(asked)
            if isinstance(asked, Claim):
                submission.deadline = self.host.monotonic() + asked.wait
            self._callers[submission] = caller
            self._witness.asked(asked)
            self.sequencer.submit(submission)

    def _deliver(self, answers: list[tuple[Submission, replies.Answer]], tokens: set[str]) -> None:
        for submission, answer in answers:
            caller = self._callers.pop(submission, None)
            if caller is None:
                raise Violation(f"{submission.request} was answered twice")
            self._tell(f"answers {_shown(submission.request)}: {answer.status}")
            self._witness.answered(submission.request, answer)
            headers = {LEASE.lower(): f"{self._lease.total_seconds():g}"}
            caller.send(Answer(answer.status, headers, answer.body or b""))

    def _unanswered(self) -> list[Submission]:
        return [each for each in self._callers if not each.withdrawn]

    # ── the writer's thread ─────────────────────────────────────────────

    def _work(self) -> None:
        """Let the sequencer work until it has nothing to do."""
        if self.sequencer is None:
            return
        if self.host.frozen:
            self.host.timeline.at(self.host.frozen_until, self._work)
        elif not self._busy:
            self.host.guarded(self._work_on)

    def _work_on(self) -> None:
        self._busy = True
        try:
            sequencer = self.sequencer
            assert sequencer is not None
            for _ in range(_MOST_STEPS):
                self._read_mailbox()
                if not sequencer.step():
                    break
            else:
                raise Violation("the sequencer never comes to rest")
            self._witness.at_rest(self, self._unanswered())
            self._plan()
        finally:
            self._busy = False

    def _plan(self) -> None:
        """Come back when there is something to do without a request."""
        assert self.sequencer is not None
        at = self.sequencer.wake_at()
        if at is None:
            return
        self._wake += 1
        this = self._wake
        delay = at - self.host.monotonic()
        self.host.timeline.after(
            max(delay, 0.001), lambda: self._work() if this == self._wake else None
        )

    def _tell(self, what: str) -> None:
        self.host.timeline.tell(self.host.name, what)


def _command_of(request: Request[Any]) -> Any:
    line = f"{request.method} {request.path}"
    for pattern, shape in ROUTES.items():
        match = re.fullmatch(pattern, line)
        if match is not None:
            body = read_object(request.body or b"")
            headers = {name.lower().encode(): value for name, value in request.headers}
            return body if isinstance(body, Refusal) else shape(body, match.groupdict(), headers)
    raise AssertionError(line)


def _shown(request: object) -> str:
    return re.sub(r"JsonText\('(.*?)'\)", r"\1", repr(request))


class LogToTrace(logging.Handler):
    """What the control planes log goes into the trace; a defect that is logged is one."""

    def __init__(self, tell: Callable[[str, str], None]) -> None:
        super().__init__()
        self._tell = tell
        self.defects: list[str] = []
        self.seen: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        # Where the database is differs from run to run.
        text = _DATABASE.sub("the database", record.getMessage())
        self._tell("log", text)
        self.seen |= {what for words, what in LOGGED.items() if words in text}
        if "defect" in text:
            self.defects.append(_DATABASE.sub("the database", logging.Formatter().format(record)))
            self._tell("log", self.defects[-1])
