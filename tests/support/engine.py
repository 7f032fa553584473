"""The engine driven by hand: one family, an injected clock, and all that the engine said.

Every command is decided on a family that must come out as it went in; only then it evolves, and
must keep every rule of a family.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from stateous.graph.machine import Machine
from stateous.json import JsonText, read_json
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.commands import (
    AddNote,
    Cancel,
    ClaimTask,
    Command,
    EndLease,
    Fire,
    FireTimer,
    Pause,
    RenewLease,
    ReportEvent,
    ReportFailed,
    ReportWaiting,
    Resume,
    Schedule,
    Start,
    WriteMemory,
)
from stateous_controlplane.engine.decide import Decision, Unready, decide
from stateous_controlplane.engine.effects import Effects
from stateous_controlplane.engine.family import Family, Situation, Vicinity
from stateous_controlplane.engine.invariants import broken_rules
from stateous_controlplane.engine.replies import Reply, TokenReply
from stateous_controlplane.engine.rows import Entry, Task, Timer, TimerKind, Token

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
LEASE = timedelta(minutes=2)
BOX = "build-box-1"
T = "T-1"


def text(value: Any) -> JsonText | None:
    """``value`` as the commands carry it: None stays None."""
    return None if value is None else JsonText.of(value)


def after(event: str, seconds: int, payload: Any = None) -> Schedule:
    """A timer that a report asks for."""
    return Schedule(event, f"{seconds}s", text(payload))


@dataclass
class Engine:
    """Plays commands on one family. ``now`` is the wall clock, which nobody moves but the test."""

    machine: Machine
    served: bool = True
    #: Machines of other documents, to which tokens may be pinned.
    pinned: tuple[Machine, ...] = ()
    now: datetime = NOON
    family: Family = field(default_factory=Family)
    vicinity: Vicinity = field(default_factory=Vicinity)
    #: Ids of other families, in lower case.
    taken: set[str] = field(default_factory=set)
    ledger: list[Entry] = field(default_factory=list)
    effects: Effects = field(default_factory=Effects)
    next_task: int = 1
    next_timer: int = 1
    _last: datetime = NOON - timedelta(seconds=1)

    # ── playing ─────────────────────────────────────────────────────────

    def decide(self, command: Command) -> Decision:
        """What the engine says to ``command``; the family must stay as it is."""
        before = deepcopy(self.family)
        looked_up: dict[str, bool] = {}
        try:
            decision = decide(self.family, command, self.situation(looked_up))
            while isinstance(decision, Unready):
                mine = {token.lower() for token in self.family.tokens}
                looked_up |= {each: each in self.taken | mine for each in decision.ids}
                decision = decide(self.family, command, self.situation(looked_up))
            return decision
        finally:
            assert self.family == before, "a decision changed the family that it was given"
            assert_texts_are_true(self.family)

    def situation(self, looked_up: dict[str, bool]) -> Situation:
        return Situation(
            machines=self.machines,
            served=self.machine if self.served else None,
            now=max(self.now, self._last + timedelta(microseconds=1)),
            next_task=self.next_task,
            next_timer=self.next_timer,
            vicinity=self.vicinity,
            looked_up=looked_up,
        )

    @property
    def machines(self) -> dict[str, Machine]:
        """The machines of all documents, by checksum."""
        return {each.checksum: each for each in (self.machine, *self.pinned)}

    def play(self, command: Command) -> Reply:
        """Decide ``command``, and let the family evolve by it."""
        reply, effects = self.decide(command)
        self.family.evolve(effects)
        self.ledger += effects.entries
        self.effects = effects
        self.next_task += effects.new_tasks
        self.next_timer += effects.new_timers
        if effects.entries:
            self._last = effects.entries[-1].at
        assert self.broken() == []
        return reply

    def broken(self) -> list[str]:
        """The rules of a family that are broken now."""
        return broken_rules(self.family, self.ledger, self.machines)

    def wait(self, **duration: float) -> None:
        """Time passes: ``wait(minutes=2)``."""
        self.now += timedelta(**duration)

    # ── commands, with what most tests want ─────────────────────────────

    def start(self, context: Any = None, token: str = T) -> Reply:
        return self.play(Start(token, text(context)))

    def fire(
        self, event: str, payload: Any = None, key: str | None = None, token: str = T
    ) -> Reply:
        return self.play(Fire(token, event, text(payload), key))

    def pause(self, token: str = T) -> Reply:
        return self.play(Pause(token))

    def resume(self, token: str = T) -> Reply:
        return self.play(Resume(token))

    def cancel(self, token: str = T) -> Reply:
        return self.play(Cancel(token))

    def claim(self, supervisor: str = BOX, task: int | None = None) -> Reply:
        return self.play(ClaimTask(task or self.task.id, supervisor, LEASE))

    def renew(self, supervisor: str = BOX, task: int | None = None, grace: bool = False) -> Reply:
        return self.play(RenewLease(task or self.task.id, supervisor, LEASE, grace))

    def report(
        self, event: str, payload: Any = None, changes: Any = None, *timers: Schedule, **who: Any
    ) -> Reply:
        return self.play(
            ReportEvent(self._named(who), event, text(payload), text(changes), timers, **who)
        )

    def report_waiting(self, changes: Any = None, *timers: Schedule, **who: Any) -> Reply:
        who.setdefault("supervisor", BOX)
        return self.play(ReportWaiting(self._named(who), text(changes), timers, **who))

    def report_failed(self, error: str = "boom", **who: Any) -> Reply:
        return self.play(ReportFailed(self._named(who), error, **who))

    def note(self, words: str, **who: Any) -> Reply:
        return self.play(AddNote(self._named(who), words, **who))

    def remember(self, key: str, value: Any, **who: Any) -> Reply:
        return self.play(WriteMemory(self._named(who), key, text(value), **who))

    def end_lease(self, task: int | None = None) -> Reply:
        return self.play(EndLease(task or self.task.id, LEASE))

    def fire_timer(self, timer: int) -> Reply:
        return self.play(FireTimer(timer))

    def _named(self, who: dict[str, Any]) -> int:
        task: int = who.pop("task", None) or self.task.id
        return task

    # ── what is so ──────────────────────────────────────────────────────

    @property
    def token(self) -> Token:
        """The token that the tests are about."""
        return self.family.tokens[T]

    @property
    def task(self) -> Task:
        """The youngest task."""
        return self.family.tasks[max(self.family.tasks)]

    @property
    def where(self) -> tuple[str, int, str]:
        """State, visit and status of the token."""
        return self.token.state, self.token.visit, self.token.status.value

    @property
    def open_tasks(self) -> list[int]:
        """The ids of open tasks."""
        return [task.id for task in self.family.tasks.values() if task.status.open]

    @property
    def pending(self) -> list[Timer]:
        """The timers that can still fire."""
        return [timer for timer in self.family.timers.values() if timer.pending]

    @property
    def timeout(self) -> Timer:
        """The pending timeout."""
        (found,) = [timer for timer in self.pending if timer.kind is TimerKind.TIMEOUT]
        return found

    def task_of(self, token: str) -> int:
        """The youngest task of a token."""
        return max(task.id for task in self.family.tasks.values() if task.token == token)

    def standing(self) -> dict[str, str]:
        """State and status of each token."""
        return {
            token.token: f"{token.state} {token.status.value}"
            for token in self.family.tokens.values()
        }

    # ── what was said ───────────────────────────────────────────────────

    def kinds(self, behind: int = 0, of: str | None = None) -> str:
        """The kinds of the entries behind a seq, of one token or of all, as one line."""
        return " ".join(kind for kind, _ in self.told(behind, of))

    def said(self, kind: str, of: str | None = None) -> list[dict[str, Any]]:
        """The data of all entries of a kind."""
        return [data for each, data in self.told(of=of) if each == kind]

    def told(self, behind: int = 0, of: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        """Kind and data of the entries behind a seq, of one token or of all."""
        return [
            (entry.kind, entry.data.value)
            for entry in self.ledger
            if entry.seq > behind and of in (None, entry.token)
        ]


def assert_texts_are_true(family: Family) -> None:
    """No decoded value was changed beside its text."""
    texts = [token.context for token in family.tokens.values()]
    texts += [token.entered_by for token in family.tokens.values()]
    texts += [timer.payload for timer in family.timers.values() if timer.payload is not None]
    texts += [value for place in family.memory.values() for value in place.values()]
    for each in texts:
        assert each.value == read_json(each.text.encode())


def context_of(reply: Reply) -> Any:
    """The context of the token that a reply shows."""
    assert isinstance(reply, TokenReply), reply
    return reply.token.context.value


def code_of(reply: Reply) -> Code:
    """The code of a refusal."""
    assert isinstance(reply, Refusal), reply
    return reply.code


def reason_of(reply: Reply) -> str:
    """The sentence of a refusal."""
    assert isinstance(reply, Refusal), reply
    return reply.sentence
