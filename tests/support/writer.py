"""The writer driven by hand: a sequencer without a thread, a fake clock, a store that can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from stateous.graph.machine import Machine, freeze
from stateous.graph.reading import check_graph
from stateous.json import JsonText, read_json, write_json
from stateous_controlplane.answers import Answer
from stateous_controlplane.engine.commands import Claim, Command, Fire, Heartbeat, Request, Start
from stateous_controlplane.engine.rows import Task, Token
from stateous_controlplane.store.memory.database import MemoryDatabase
from stateous_controlplane.store.memory.store import MemoryStore
from stateous_controlplane.store.memory.transaction import MemoryTransaction
from stateous_controlplane.store.port import Changes, Due, GraphRecord, HoldState, Loaded, Needs
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.sequencer import Sequencer, Terms
from stateous_controlplane.writer.submission import Submission
from stateous_controlplane.writer.working_set import MAX_WEIGHT
from tests.support.graphs import graph

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
LEASE = timedelta(minutes=2)
BOX = "box-1"

LOOP = graph(
    """
    START -> work
    work -> rest on done
    work -> work on again
    work -> END on stop
    rest -> work on done
    """,
    workflow="loop",
    states={"work": {"retries": 5}},
)


class FakeClock:
    """Both clocks, which stand still until the test moves them."""

    def __init__(self) -> None:
        self.wall = NOON
        self.seconds = 1000.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.seconds += seconds

    def advance_wall(self, seconds: float) -> None:
        """The wall clock alone is set to another time."""
        self.wall += timedelta(seconds=seconds)


@dataclass
class Faults:
    """What goes wrong in a store, each until it is taken back."""

    begin: Exception | None = None
    renew: Exception | None = None
    #: Called with a batch's changes before they are committed; may raise.
    commit: Callable[[Changes], None] | None = None


class _Watched:
    """A transaction whose changes are kept for the watcher."""

    def __init__(self, inner: MemoryTransaction) -> None:
        self._inner = inner
        self.changes = Changes()
        self.loads: list[Needs] = []

    def load(self, needs: Needs) -> Loaded:
        self.loads.append(needs)
        return self._inner.load(needs)

    def memory(self, places: set[tuple[str, str]]) -> dict[tuple[str, str], dict[str, JsonText]]:
        return self._inner.memory(places)

    def due(self, now: datetime, *, leases: bool, limit: int) -> Due:
        return self._inner.due(now, leases=leases, limit=limit)

    def undelivered(self, limit: int) -> tuple[tuple[str, int], ...]:
        return self._inner.undelivered(limit)

    def graph(self, checksum: str) -> str | None:
        return self._inner.graph(checksum)

    def write(self, changes: Changes) -> None:
        self.changes = changes
        self._inner.write(changes)


class WatchedStore(MemoryStore):
    """The store in memory, which tells of its commits and fails where it is told to."""

    def __init__(self, database: MemoryDatabase | None = None) -> None:
        super().__init__(database)
        self.faults = Faults()
        #: The entries of each commit that changed something.
        self.commits: list[list[str]] = []
        #: What the last transaction loaded.
        self.loads: list[Needs] = []
        #: How many transactions were asked for.
        self.asked = 0
        #: Called right after a commit.
        self.committed: Callable[[], None] = lambda: None

    @contextmanager
    def transaction(self, holder: str) -> Iterator[Any]:
        self.asked += 1
        if self.faults.begin is not None:
            raise self.faults.begin
        with super().transaction(holder) as transaction:
            watched = _Watched(transaction)
            self.loads = watched.loads
            yield watched
            if self.faults.commit is not None:
                self.faults.commit(watched.changes)
        if watched.changes:
            self.commits.append([f"{e.token} {e.kind}" for e in watched.changes.entries])
            self.committed()

    def renew_hold(self, holder: str, now: datetime) -> HoldState:
        if self.faults.renew is not None:
            raise self.faults.renew
        return super().renew_hold(holder, now)


@dataclass
class Writer:
    """A control plane's writer over a database in memory."""

    document: dict[str, Any] = field(default_factory=lambda: LOOP)
    database: MemoryDatabase = field(default_factory=MemoryDatabase)
    clock: FakeClock = field(default_factory=FakeClock)
    name: str = "host:1:00000001"
    #: What is served, when it is not just the machine of ``document``.
    machine: Machine | None = None
    grace: bool = False
    #: How many bytes of rows it keeps from batch to batch.
    kept: int = MAX_WEIGHT

    def __post_init__(self) -> None:
        document = check_graph(self.document)
        self.store = WatchedStore(self.database)
        taken = self.store.take_hold(self.name, self.clock.now())
        assert taken is None, taken
        record = GraphRecord(
            document.checksum,
            "workflow",
            document.workflow,
            document.structure,
            document.contract,
            write_json(self.document),
        )
        assert self.store.serve_graph(self.name, record, self.clock.now()) == 0
        self.served = self.machine or freeze(document)
        self.answers: dict[Submission, Answer] = {}
        self.deliveries: list[tuple[list[Submission], set[str]]] = []
        self.lost = 0
        self.sequencer = Sequencer(
            self.store,
            Catalog(self.served),
            Terms(self.name, LEASE, self.kept),
            self.clock,
            self._deliver,
            self._on_lost,
        )
        if not self.grace:
            # Most tests are about the time after the first 45 s.
            self.clock.advance(46)
            self.run()
            self.store.commits.clear()

    def _deliver(self, answers: list[tuple[Submission, Answer]], tokens: set[str]) -> None:
        for submission, answer in answers:
            assert submission not in self.answers, "answered twice"
            self.answers[submission] = answer
        self.deliveries.append(([each for each, _ in answers], tokens))

    def _on_lost(self) -> None:
        self.lost += 1

    # ── driving ─────────────────────────────────────────────────────────

    def submit(self, request: Request | Command) -> Submission:
        """Hand ``request`` in, as the API does."""
        submission = Submission(request)
        if isinstance(request, Claim):
            submission.deadline = self.clock.monotonic() + request.wait
        self.sequencer.submit(submission)
        return submission

    def run(self) -> None:
        """Let the sequencer work until it has nothing to do."""
        for _ in range(1000):
            if not self.sequencer.step():
                return
        raise AssertionError("the sequencer never comes to rest")

    def pass_time(self, seconds: float) -> None:
        """Time passes at once; what is due then is done."""
        self.clock.advance(seconds)
        self.run()

    def ask(self, request: Request | Command) -> Any:
        """The body of the answer to ``request``: None is an empty one (204)."""
        submission = self.submit(request)
        self.run()
        return self.body(submission)

    def start(self, *tokens: str) -> None:
        """Start tokens, each in a batch of its own."""
        for token in tokens:
            assert self.ask(Start(token))["token"] == token

    def fire(self, token: str, event: str) -> Any:
        return self.ask(Fire(token, event))

    def beat(self, *tasks: int, supervisor: str = BOX) -> list[int]:
        """The ids that a heartbeat has lost."""
        lost: list[int] = self.ask(Heartbeat(supervisor, tasks))["lost"]
        return lost

    # ── what came of it ─────────────────────────────────────────────────

    def body(self, submission: Submission) -> Any:
        """The body of an answer that has been given."""
        body = self.answers[submission].body
        return None if body is None else read_json(body)

    def status(self, submission: Submission) -> int:
        """The status of an answer that has been given."""
        return self.answers[submission].status

    def waits(self, submission: Submission) -> bool:
        """Whether there is no answer yet."""
        return submission not in self.answers

    def task(self, task: int) -> Task:
        """A task's row as it is committed."""
        return self.database.tables.tasks[task]

    def token(self, token: str) -> Token:
        """A token's row as it is committed."""
        return self.database.tables.tokens[token]

    def kinds(self, token: str) -> str:
        """The kinds of a token's ledger as it is committed."""
        history = self.store.reads().history(token, after=0, limit=None) or []
        return " ".join(entry.kind for entry in history)

    def restarted(self, name: str = "host:2:00000002", *, grace: bool = False) -> Writer:
        """The next control plane on this database, after this one was killed."""
        self.store.close()
        return Writer(
            self.document, self.database, self.clock, name, machine=self.machine, grace=grace
        )


def claim(*states: str, **more: Any) -> Claim:
    """A claim of ``states``, by :data:`BOX` if nobody else is named."""
    more.setdefault("supervisor", BOX)
    return Claim(states=states or ("work",), **more)


def given(body: Any) -> list[tuple[int, int]]:
    """Task and attempt of what a claim got."""
    if body is None:
        return []
    grants = body.get("tasks", [body])
    return [(grant["task"], grant["attempt"]) for grant in grants]
