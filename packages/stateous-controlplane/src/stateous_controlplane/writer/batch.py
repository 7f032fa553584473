"""One batch: submissions decided in order of arrival inside one transaction.

All that they need is loaded first. Each command then sees what those before it left. An answer is
encoded before its effects are accepted, so that what cannot be written as an answer changes nothing.
The net effects of the whole batch are written once, at the end.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from stateous.json import JsonText, write_json
from stateous.wire.problems import Refusal
from stateous_controlplane.answers import (
    NOTHING,
    Answer,
    answer_to,
    claim_answer,
    graph_answer,
    no_chart,
    refused,
    unexpected,
)
from stateous_controlplane.engine.commands import (
    Claim,
    ClaimTask,
    Command,
    Deliver,
    Heartbeat,
    RenewLease,
    RepeatGrant,
    Start,
    SubmitRun,
)
from stateous_controlplane.engine.decide import Decision, Unready, decide
from stateous_controlplane.engine.effects import Effects
from stateous_controlplane.engine.family import Family, Situation, Vicinity
from stateous_controlplane.engine.replies import (
    GrantReply,
    HeartbeatReply,
    Lost,
    Reply,
)
from stateous_controlplane.store.port import (
    Changes,
    Granted,
    GraphRecord,
    Needs,
    NewGraph,
    Remembered,
    Transaction,
)
from stateous_controlplane.writer.catalog import Catalog
from stateous_controlplane.writer.needs import needs_of
from stateous_controlplane.writer.net_changes import NetChanges
from stateous_controlplane.writer.parked import ParkedClaim, ParkedClaims, Parking
from stateous_controlplane.writer.requests import Emits, PutGraph
from stateous_controlplane.writer.submission import Submission
from stateous_controlplane.writer.supply import CommandTime, FreshIds
from stateous_controlplane.writer.working_set import WorkingSet

_log = logging.getLogger("stateous.engine")

#: What every command but a start needs to know of tokens outside its family.
_NO_VICINITY: Final = Vicinity()


class LeaseTerms(NamedTuple):
    """The length of a lease; ``grace``: no lease ends now, and one that is over can be renewed."""

    length: timedelta
    grace: bool


class Outcome(NamedTuple):
    """What a batch came to. It holds once the transaction has committed."""

    parking: Parking
    answers: list[tuple[Submission, Answer]]
    changes: Changes


class _Granted(NamedTuple):
    """What a claim got; each grant with its memory as a text, or None while it is not loaded."""

    submission: Submission
    claim: Claim
    grants: list[tuple[GrantReply, str | None]]


class Batch:
    """Decides submissions inside ``transaction``."""

    def __init__(
        self,
        transaction: Transaction,
        catalog: Catalog,
        time: CommandTime,
        ids: FreshIds,
        lease: LeaseTerms,
        parked: ParkedClaims,
        working: WorkingSet,
        ticket_key: bytes = b"",
    ) -> None:
        self._transaction = transaction
        self._catalog = catalog
        self._time = time
        self._ids = ids
        self._lease = lease
        self._parking = Parking(parked)
        self._working = working
        self._ticket_key = ticket_key
        self._ready = working.ready
        self._net = NetChanges()
        self._granted: list[_Granted] = []
        self._answers: list[tuple[Submission, Answer]] = []

    def run(self, submissions: list[Submission]) -> Outcome:
        """Decide all of ``submissions``, and write what changed."""
        self._load(submissions)
        for submission in submissions:
            if submission.withdrawn:
                continue
            answer = self._guarded(submission)
            if answer is not None:
                self._answers.append((submission, answer))
        if self._granted:
            self._answer_claims()
        changes = self._net.sum()
        if changes:
            self._transaction.write(changes)
        return Outcome(self._parking, self._answers, changes)

    # ── loading ─────────────────────────────────────────────────────────

    def _load(self, submissions: list[Submission]) -> None:
        needs = needs_of([each.request for each in submissions])
        self._take_in(self._working.lacking(needs))

    def _take_in(self, needs: Needs) -> None:
        if not needs:
            return
        loaded = self._transaction.load(needs)
        graphs = {token.graph for token in loaded.tokens.values()}
        self._catalog.fetch(graphs, self._transaction.graph)
        self._working.absorb(needs, loaded)

    # ── deciding ────────────────────────────────────────────────────────

    def _guarded(self, submission: Submission) -> Answer | None:
        try:
            return self._process(submission)
        except Exception:
            _log.exception("a command met a defect; nothing of it was done")
            return unexpected()

    def _process(self, submission: Submission) -> Answer | None:
        """The answer, or None when it comes later: a claim that got something, or waits."""
        request = submission.request
        match request:
            case Claim():
                return self._claim(submission, request)
            case Heartbeat():
                return self._heartbeat(request)
            case Emits():
                return self._emits(request)
            case PutGraph():
                return self._put_graph(request.record)
            case SubmitRun() if not self._is_chart(request.graph):
                return refused(no_chart(request.graph))
            case _:
                return self._decide(request)[1]

    def _decide(self, command: Command) -> tuple[Reply, Answer]:
        family = self._working.family_of(command)
        now = self._time.next(family)
        decision = self._step(family, command, now)
        while isinstance(decision, Unready):
            self._take_in(Needs(folded=set(decision.ids)))
            family = self._working.family_of(command)
            decision = self._step(family, command, now)
        reply, effects = decision
        answer = answer_to(reply, self._catalog)
        if effects:
            self._net.add(effects, self._working.tokens)
            if isinstance(command, Deliver):
                self._working.accept_across(effects)
            else:
                self._working.accept(family, effects)
            self._ids.use(tasks=effects.new_tasks, timers=effects.new_timers)
            self._serve_parked(effects)
        return reply, answer

    def _step(self, family: Family, command: Command, now: datetime) -> Decision | Unready:
        situation = Situation(
            machines=self._catalog,
            served=self._catalog.served,
            now=now,
            next_task=self._ids.task,
            next_timer=self._ids.timer,
            vicinity=(
                self._working.vicinity_of(command)
                if isinstance(command, Start | SubmitRun)
                else _NO_VICINITY
            ),
            looked_up=self._working.looked_up,
            ticket_key=self._ticket_key,
        )
        return decide(family, command, situation)

    def _heartbeat(self, request: Heartbeat) -> Answer:
        lost = [
            task
            for task in sorted(set(request.tasks))
            if isinstance(
                self._decide(
                    RenewLease(task, request.supervisor, self._lease.length, self._lease.grace)
                )[0],
                Lost,
            )
        ]
        return answer_to(HeartbeatReply(tuple(lost)), self._catalog)

    def _emits(self, request: Emits) -> Answer:
        """Each value is a command of its own; behind one that is refused none is taken."""
        answer = NOTHING
        for emit in request.values:
            reply, answer = self._decide(emit)
            if isinstance(reply, Refusal):
                break
        return answer

    def _is_chart(self, graph: str) -> bool:
        return self._catalog.chart(graph, self._transaction.graph)

    def _put_graph(self, record: GraphRecord) -> Answer:
        known = record.checksum in self._working.on_record
        if not known:
            self._net.put_graph(NewGraph(record, self._time.current()))
            self._working.on_record.add(record.checksum)
        return graph_answer(record, created=not known)

    # ── claims ──────────────────────────────────────────────────────────

    def _claim(self, submission: Submission, claim: Claim) -> Answer | None:
        grants = self._repeated(claim) or self._grant(claim)
        if grants:
            self._hand_out(submission, claim, grants)
            return None
        if claim.wait and (claim.states or claim.jobs):
            self._parking.park(ParkedClaim(submission, claim))
            return None
        return nothing_for(claim)

    def _repeated(self, claim: Claim) -> list[GrantReply]:
        """What the same request was granted before, as far as it is still held."""
        remembered = self._working.remembered.get(claim.supervisor)
        if remembered is None or claim.request is None or remembered.request != claim.request:
            return []
        held = {each.task for each in remembered.granted if each.task not in self._working.tasks}
        self._take_in(Needs(tasks=held))
        replies = [
            self._decide(
                RepeatGrant(each.task, claim.supervisor, each.attempt, self._lease.length)
            )[0]
            for each in remembered.granted
        ]
        return [reply for reply in replies if isinstance(reply, GrantReply)]

    def _grant(self, claim: Claim) -> list[GrantReply]:
        """The oldest ready tasks of the claim's queues, as many as it may have."""
        grants: list[GrantReply] = []
        while len(grants) < (claim.max or 1):
            task = self._oldest(claim)
            if task is None:
                break
            try:
                reply, _ = self._decide(ClaimTask(task, claim.supervisor, self._lease.length))
            except Exception:
                if not grants:
                    raise
                _log.exception("a claim met a defect; it gets what it had got before")
                break
            if isinstance(reply, GrantReply):
                grants.append(reply)
        if grants and claim.request is not None:
            # In the order that the record gives them back in: a repeat is the same in this batch.
            granted = tuple(sorted(Granted(each.task.id, each.task.attempt) for each in grants))
            remembered = Remembered(claim.request, granted)
            self._working.remembered[claim.supervisor] = remembered
            self._net.remember(claim.supervisor, remembered)
        return grants

    def _oldest(self, claim: Claim) -> int | None:
        """The oldest ready task for the claim, also when the batch took all that were loaded."""
        queues = claim.queues
        while True:
            task, short = self._ready.pick(queues)
            if not short:
                return task
            self._take_in(Needs(queues=short))

    def _hand_out(self, submission: Submission, claim: Claim, grants: list[GrantReply]) -> None:
        """Note the grants for the answer; the same request, waiting too, is granted the same."""
        self._note(submission, claim, grants)
        if claim.request is None:
            return
        for twin in self._parking.same_request(claim):
            again = self._repeated(twin.claim)
            if again:
                self._parking.serve(twin)
                self._note(twin.submission, twin.claim, again)

    def _note(self, submission: Submission, claim: Claim, grants: list[GrantReply]) -> None:
        # Memory that the batch knows may be written later in it: what a grant shows is taken now.
        known = [self._working.memory(each.task.token, each.task.state) for each in grants]
        texts = [None if memory is None else _object_text(memory) for memory in known]
        self._granted.append(_Granted(submission, claim, list(zip(grants, texts, strict=True))))

    def _serve_parked(self, effects: Effects) -> None:
        """Give what a command has queued to the claims that wait for it."""
        queued = [task for task in effects.tasks.values() if task.ready]
        if not queued:
            return
        self._ready.add_queued(queued)
        for parked in self._parking.waiting_for({task.queue for task in queued}):
            self._serve(parked)
            if not any(self._working.tasks[task.id].ready for task in queued):
                break

    def _serve(self, parked: ParkedClaim) -> None:
        # A defect here is the claim's alone: the command that queued the task is done and answered.
        try:
            grants = self._grant(parked.claim)
        except Exception:
            _log.exception("a waiting claim met a defect; nothing of it was done")
            self._parking.serve(parked)
            self._answers.append((parked.submission, unexpected()))
            return
        if grants:
            self._parking.serve(parked)
            self._hand_out(parked.submission, parked.claim, grants)

    def _answer_claims(self) -> None:
        """Encode the grants, each with the memory of its token and state."""
        wanted = {
            (grant.task.token, grant.task.state)
            for granted in self._granted
            for grant, text in granted.grants
            if text is None
        }
        memory = self._transaction.memory(wanted) if wanted else {}
        self._working.note_memory(memory)
        for submission, claim, grants in self._granted:
            complete = [
                (grant, text or _object_text(memory[grant.task.token, grant.task.state]))
                for grant, text in grants
            ]
            answer = claim_answer(complete, as_list=claim.max is not None)
            self._answers.append((submission, answer))


def nothing_for(claim: Claim) -> Answer:
    """The answer to a claim that gets nothing."""
    return claim_answer((), as_list=claim.max is not None)


def _object_text(members: dict[str, JsonText]) -> str:
    members_in_order = [f"{write_json(key)}:{members[key].text}" for key in sorted(members)]
    return "{" + ",".join(members_in_order) + "}"
