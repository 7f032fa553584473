"""The rows that batches work on: families as they were loaded, evolving with each decision.

They are kept from one batch to the next, so that most batches load nothing. Why that is right: one
control plane writes to a database, and this set has seen everything that it has committed. A family
is here as a whole or not at all, as :class:`~stateous_controlplane.store.port.Needs` describes it;
so what is known here is what a load would bring. Its owner throws the set away when that may be
wrong: after a transaction that did not commit, or maybe did, and once somebody else may have written
(:attr:`~stateous_controlplane.store.port.Store.generation`).

A family is let go when its top token has ended, and the one that was used least recently when there
is too much. What the engine never looks at again goes at the end of each batch.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from stateous.json import JsonText
from stateous_controlplane.engine.commands import (
    AnswerTicket,
    Cancel,
    Command,
    Deliver,
    Fire,
    FireTimer,
    Pause,
    Resume,
    SendEvent,
    Start,
    SubmitRun,
)
from stateous_controlplane.engine.effects import Effects
from stateous_controlplane.engine.family import Family, Vicinity
from stateous_controlplane.engine.rows import Run, Sent, Task, TicketStatus, Token
from stateous_controlplane.engine.start import possible_parent
from stateous_controlplane.store.port import Loaded, Needs, Remembered
from stateous_controlplane.writer.across import joined, parted
from stateous_controlplane.writer.ready import ReadyTasks

#: What the families that are kept may weigh together, in bytes, counted roughly.
MAX_WEIGHT: Final = 24 * 1024 * 1024
#: A family that weighs more is not kept.
_MAX_FAMILY_WEIGHT: Final = 256 * 1024
#: A row without its texts, and how much larger a text is that has been decoded.
_ROW_WEIGHT: Final = 1024
_DECODED: Final = 8
#: Supervisors whose last claim is known.
_MAX_SUPERVISORS: Final = 4096


@dataclass(slots=True)
class WorkingSet:
    """Families by their top token, found by whatever a command names."""

    max_weight: int = MAX_WEIGHT
    tokens: dict[str, Token] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    #: The last request of each supervisor that got something; None when it is known to have none.
    remembered: dict[str, Remembered | None] = field(default_factory=dict)
    #: Ids that were looked up in this batch, folded, and whether they are taken.
    looked_up: dict[str, bool] = field(default_factory=dict)
    #: Documents that were looked up in this batch, or put on record in it.
    on_record: set[str] = field(default_factory=set)
    ready: ReadyTasks = field(init=False)
    # In the order of their last use. What is first in a plain dict costs a walk past all that went.
    _families: OrderedDict[str, Family] = field(default_factory=OrderedDict)
    _weights: dict[str, int] = field(default_factory=dict)
    _weight: int = 0
    _used: set[str] = field(default_factory=set)
    _timer_tops: dict[int, str] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)
    # Of runs, as far as this batch has looked them up: tickets' runs by digest, live runs by key, the
    # outbox by sender and seq.
    _digests: dict[str, str] = field(default_factory=dict)
    _key_holders: dict[str, str | None] = field(default_factory=dict)
    _sends: dict[tuple[str, int], Sent] = field(default_factory=dict)
    # Tokens that began here: what is not known of their memory is not there.
    _begun: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.ready = ReadyTasks(self.tasks)

    # ── loading ─────────────────────────────────────────────────────────

    def lacking(self, needs: Needs) -> Needs:
        """What of ``needs`` has to be loaded, because it is not known here."""
        return Needs(
            tokens=needs.tokens.difference(self.tokens),
            folded=needs.folded,
            tasks=needs.tasks.difference(self.tasks),
            timers=needs.timers.difference(self._timer_tops),
            keys=needs.keys,
            supervisors=needs.supervisors.difference(self.remembered),
            queues=self.ready.lacking(needs.queues),
            memory_of={each for each in needs.memory_of if not self._memory_known(each)},
            held=needs.held,
            graphs=needs.graphs,
            digests=needs.digests,
            run_keys=needs.run_keys,
            sends=needs.sends,
        )

    def _memory_known(self, task: int) -> bool:
        row = self.tasks.get(task)
        return row is not None and self.memory(row.token, row.state) is not None

    def absorb(self, needs: Needs, loaded: Loaded) -> None:
        """Take in what a load found. A row that is known already has evolved since, and stays."""
        known = self._families.keys() & {token.top for token in loaded.tokens.values()}
        for token in loaded.tokens.values():
            if token.token not in self.tokens:
                self.tokens[token.token] = token
                self._family(token.top).tokens[token.token] = token
        for task in loaded.tasks.values():
            if task.id not in self.tasks:
                self.tasks[task.id] = task
                self._family(self._top(task.token)).tasks[task.id] = task
        for timer in loaded.timers.values():
            if timer.id not in self._timer_tops:
                top = self._top(timer.token)
                self._timer_tops[timer.id] = top
                self._family(top).timers[timer.id] = timer
        for top, holding in loaded.holding.items():
            if top not in known:
                self._family(top).holding = holding
        for held in loaded.held:
            self._family(held.top).held[held.token, held.seq] = held
        self._absorb_of_runs(loaded, known)
        for (token_id, key), use in loaded.keys.items():
            self._family(self._top(token_id)).keys[token_id, key] = use
        for place, memory in loaded.memory.items():
            self._family(self._top(place[0])).memory.setdefault(place, memory)
        for supervisor in needs.supervisors:
            self.remembered[supervisor] = loaded.remembered.get(supervisor)
        self._ids.update(loaded.ids)
        for folded in needs.folded:
            self.looked_up[folded] = folded in self._ids
        self.ready.add_loaded(needs.queues, loaded)

    def _absorb_of_runs(self, loaded: Loaded, known: set[str]) -> None:
        for digest, ticket in loaded.tickets.items():
            self._family(self._top(ticket.token)).tickets.setdefault(digest, ticket)
            self._digests[digest] = ticket.token
        for kept in loaded.kept:
            if kept.top not in known:
                self._family(kept.top).kept[kept.token, kept.seq] = kept
        for place, sent in loaded.outbox.items():
            self._family(self._top(sent.token)).outbox[place] = sent
            self._sends[place] = sent
        for key, holder in loaded.key_holders.items():
            # Who has had or got the key in this batch is known better.
            self._key_holders.setdefault(key, holder)
        self.on_record |= loaded.graphs

    def note_memory(self, places: dict[tuple[str, str], dict[str, JsonText]]) -> None:
        """These places were looked up, and have not been written since."""
        for place, memory in places.items():
            if self.tokens[place[0]].status.live:
                self._family(self._top(place[0])).memory.setdefault(place, memory)

    # ── finding ─────────────────────────────────────────────────────────

    def family_of(self, command: Command) -> Family:
        """The family that ``command`` works on; empty when what it names does not exist."""
        match command:
            case (
                Start(token=token)
                | Fire(token=token)
                | Pause(token=token)
                | Resume(token=token)
                | Cancel(token=token)
                | SubmitRun(run=token)
                | SendEvent(run=token)
            ):
                row = self.tokens.get(token)
                top = None if row is None else row.top
            case FireTimer(timer=timer):
                top = self._timer_tops.get(timer)
            case AnswerTicket(digest=digest):
                run = self._digests.get(digest)
                top = None if run is None else self._top(run)
            case Deliver(sender=sender, seq=seq):
                return self._family_across(sender, seq)
            case _:
                task = self.tasks.get(command.task)
                top = None if task is None else self._top(task.token)
        return Family() if top is None else self._family(top)

    def _family_across(self, sender: str, seq: int) -> Family:
        """The families of a sender and of the live run that has the key it sent to."""
        sent = self._sends.get((sender, seq))
        if sent is None:
            return Family()
        family = self._family(self._top(sender))
        holder = self._key_holders.get(sent.key)
        receiver = family if holder is None else self._family(self._top(holder))
        return family if receiver is family else joined(family, receiver)

    def vicinity_of(self, command: Start | SubmitRun) -> Vicinity:
        """What a start has to know of tokens outside its family."""
        token = command.token if isinstance(command, Start) else command.run
        key = command.key if isinstance(command, SubmitRun) else None
        parent = possible_parent(token)
        written = None if parent is None else self._ids.get(parent.lower())
        return Vicinity(
            taken_by=self._ids.get(token.lower()),
            possible_parent=None if written is None else self.tokens.get(written),
            key_taken_by=None if key is None else self._key_holders.get(key),
        )

    def memory(self, token: str, state: str) -> dict[str, JsonText] | None:
        """The memory there, when it is known."""
        memory = self._family(self._top(token)).memory.get((token, state))
        return {} if memory is None and token in self._begun else memory

    def _family(self, top: str) -> Family:
        family = self._families.get(top)
        if family is None:
            family = self._families[top] = Family()
        self._used.add(top)
        return family

    def _top(self, token: str) -> str:
        return self.tokens[token].top

    # ── evolving ────────────────────────────────────────────────────────

    def accept_across(self, effects: Effects) -> None:
        """Let the families evolve that a delivery has changed; one may have begun."""
        self._take_over(effects)
        for top, part in parted(effects, self._top).items():
            self._family(top).evolve(part)

    def accept(self, family: Family, effects: Effects) -> None:
        """Let ``family`` evolve; one that begins gets its place here."""
        family.evolve(effects)
        self._take_over(effects, family)

    def _take_over(self, effects: Effects, family: Family | None = None) -> None:
        for token in effects.tokens.values():
            self.tokens[token.token] = token
            if token.run is not None and token.run.key is not None:
                self._note_key(token.token, token.run.key, live=token.status.live)
        for created in effects.created:
            folded = created.lower()
            if family is not None:
                self._families.setdefault(self._top(created), family)
            self._used.add(self._top(created))
            self._begun.add(created)
            self._ids[folded] = created
            if folded in self.looked_up:
                self.looked_up[folded] = True
        self.tasks.update(effects.tasks)
        for timer in effects.timers.values():
            self._timer_tops[timer.id] = self._top(timer.token)

    def _note_key(self, run: str, key: str, *, live: bool) -> None:
        if live:
            self._key_holders[key] = run
        elif self._key_holders.get(key, run) == run:
            self._key_holders[key] = None

    # ── from batch to batch ─────────────────────────────────────────────

    def settle(self) -> None:
        """The batch has committed: keep what the next ones may need, and let go of the rest."""
        self.ready.settle()
        for top in self._used:
            self._settle(top)
        self._used.clear()
        self._ids.clear()
        self.looked_up.clear()
        self._digests.clear()
        self._key_holders.clear()
        self._sends.clear()
        self.on_record.clear()
        while self._weight > self.max_weight:
            self._let_go(next(iter(self._families)))
        while len(self.remembered) > _MAX_SUPERVISORS:
            del self.remembered[next(iter(self.remembered))]

    def _settle(self, top: str) -> None:
        family = self._families[top]
        self._families.move_to_end(top)
        self._weight -= self._weights.pop(top, 0)
        family.keys.clear()
        family.held.clear()
        family.outbox.clear()
        row = family.tokens.get(top)
        if row is None or not row.status.live:
            self._let_go(top)
            return
        self._prune(family)
        weight = _weight_of(family)
        if weight > _MAX_FAMILY_WEIGHT:
            self._let_go(top)
            return
        self._weights[top] = weight
        self._weight += weight

    def _prune(self, family: Family) -> None:
        """Let go of what no load would bring: ended tokens of the past, closed tasks and timers."""
        for task in [each for each in family.tasks.values() if not each.status.open]:
            del family.tasks[task.id], self.tasks[task.id]
            self.ready.forget(task)
        for timer in [each for each in family.timers.values() if not each.pending]:
            del family.timers[timer.id], self._timer_tops[timer.id]
        if family.tickets:
            for ticket in [
                each for each in family.tickets.values() if each.status is not TicketStatus.OPEN
            ]:
                del family.tickets[ticket.digest]
        if len(family.tokens) > 1:
            self._prune_tokens(family)

    def _prune_tokens(self, family: Family) -> None:
        for token in [each for each in family.tokens.values() if _is_past(family, each)]:
            del family.tokens[token.token], self.tokens[token.token]
            self._begun.discard(token.token)
            for place in [each for each in family.memory if each[0] == token.token]:
                del family.memory[place]

    def _let_go(self, top: str) -> None:
        family = self._families.pop(top)
        self._weight -= self._weights.pop(top, 0)
        for token in family.tokens:
            del self.tokens[token]
            self._begun.discard(token)
        for task in family.tasks.values():
            del self.tasks[task.id]
            if not task.ready:
                self.ready.forget(task)
        for timer in family.timers:
            del self._timer_tops[timer]


def _is_past(family: Family, token: Token) -> bool:
    """Whether it has ended, and is no child of a live token's current visit."""
    if token.status.live:
        return False
    parent = family.tokens.get(token.parent or "")
    return (
        parent is None
        or not parent.status.live
        or (parent.state, parent.visit) != (token.parent_state, token.parent_visit)
    )


def _weight_of(family: Family) -> int:
    rows = len(family.tokens) + len(family.tasks) + len(family.timers) + len(family.tickets)
    texts = 0
    for token in family.tokens.values():
        texts += len(token.context.text) + len(token.entered_by.text)
        texts += 0 if token.run is None else _weight_of_run(token.run)
    for timer in family.timers.values():
        texts += len(timer.payload.text) if timer.payload is not None else 0
    for task in family.tasks.values():
        texts += 0 if task.job is None else len(task.job.input.text)
    for kept in family.kept.values():
        texts += len(kept.data.text)
    for memory in family.memory.values():
        texts += sum(len(value.text) for value in memory.values())
    return rows * _ROW_WEIGHT + texts * _DECODED


def _weight_of_run(run: Run) -> int:
    finished = [text for outputs in run.finished.values() for text in outputs.values()]
    texts = [run.input, run.output, *run.outputs.values(), *finished]
    return sum(len(text.text) for text in texts if text is not None)
