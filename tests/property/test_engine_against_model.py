"""Random workflows under random commands and clocks: the control plane against a naive model.

After every step the answer (status, code, body) and every row are what the model says, the engine's
own rules hold, and folding the ledger gives the rows. ``STATEOUS_EXAMPLES`` lets it run longer
(`make sim`).
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from stateous_controlplane.writer.working_set import MAX_WEIGHT
from tests.property.random_workflows import DECLARED, documents
from tests.property.twins import Twins

#: A failing story is made short before it is told, which takes minutes.
pytestmark = pytest.mark.timeout(3600)

#: The ids of children get 128 characters at most: of the first fits each, of the second `left` alone,
#: of the third some of the children's children.
LONG = ("L" * 118, "M" * 119, "N" * 108)
IDS = ("T-2", "T-2", "T-3", "t-1", *LONG, "T-1.p.2.right", "T-1.Q.1.left", "T-1.a.1.left", "")
LIVE = ("active", "paused")

payloads = st.sampled_from([{"m": 1}, {"m": 2}, None, {}, {"m": 1, "x": 2}, {"m": "wrong"}])
contexts = st.sampled_from([{"n": 3}, {"n": 3}, {"n": 0}, None, {"n": 5, "kept": {}}, {"n": "x"}])
changes = st.sampled_from(
    [None, None, {"n": 3}, {}, {"n": None}, {"kept": None}, {"kept": {"x": 1, "y": 2}}, {"new": 1}]
)
events = st.sampled_from([*DECLARED * 3, "timeout", "joined", "nosuch", "x" * 70])
boxes = st.sampled_from(["box-1", "box-1", "box-1", "box-2"])
callers = st.sampled_from([None, None, "box-1", "box-1", "box-2"])
requests = st.sampled_from([None, "r1", "r2"])
keys = st.sampled_from([None, None, None, "k1", "k2"])
attempts = st.sampled_from([None, None, None, None, 1, 2, 3])
numbers = st.sampled_from([None, None, 1, 2, 3])
schedules = st.lists(
    st.sampled_from(
        [
            {"event": "go", "after": "20s"},
            {"event": "tell", "after": "2m", "payload": {"m": 1}},
            {"event": "back", "after": "1h"},
            {"event": "tell", "after": "1m"},
            {"event": "error", "after": "1m"},
        ]
    ),
    max_size=2,
)
#: Which of several: 0 to 8 count the likely ones from the youngest, 9 is an unlikely one.
nth = st.integers(0, 9)
outcomes = st.fixed_dictionaries(
    {
        "kind": st.sampled_from([*["event"] * 4, "failed", "failed", "waiting"]),
        "event": events,
        "payload": payloads,
        "changes": changes,
        "schedules": schedules,
    }
)


class Family(RuleBasedStateMachine):
    """Tokens of one random workflow, and everything that can happen to them."""

    depth = 0
    twins: Twins

    @initialize(data=st.data(), context=contexts)
    def serve(self, data: st.DataObject, context: Any) -> None:
        # A writer that keeps all rows, some, or none from batch to batch.
        kept = data.draw(st.sampled_from([MAX_WEIGHT, 6000, 0]))
        self.twins = Twins(data.draw(documents(self.depth)), kept=kept)
        self.twins.start("T-1", context)

    # ── which ───────────────────────────────────────────────────────────

    def token(self, which: int) -> str:
        """A live token, mostly."""
        tokens = self.twins.model.tokens
        live = [each.token for each in tokens.values() if each.status in LIVE]
        if not live:
            live = [f"N-{len(tokens)}"]
            self.twins.start(live[0], {"n": 3})
        if which == 9:
            return next(iter(tokens), "nobody")
        return live[::-1][which % len(live)]

    def top(self, which: int) -> str:
        """A top token: its family is live, mostly."""
        return self.token(which).split(".")[0]

    def task(self, which: int) -> int:
        """A task that is worked on, mostly."""
        tasks = self.twins.model.tasks.values()
        if not any(each.status in ("claimed", "waiting") for each in tasks):
            self.token(0)
            self.twins.claim("box-1", self.queues(), most=3)
        held = [each.id for each in tasks if each.status in ("claimed", "waiting")]
        if which == 9 or not held:
            return (len(tasks) + 2) // 2
        return held[::-1][which % len(held)]

    def queues(self) -> list[str]:
        return sorted({each.queue for each in self.twins.model.tasks.values()})

    def fitted(self, task: int, outcome: Any) -> tuple[int, Any]:
        """An outcome whose event the task's state emits, when it emits any."""
        model, event = self.twins.model, outcome["event"]
        if task in model.tasks and event in DECLARED:
            emits = model.state(model.tokens[model.tasks[task].token]).get("emits", [])
            event = emits[DECLARED.index(event) % len(emits)] if emits else event
        return task, {**outcome, "event": event, "payload": {"m": 2} if event == "tell" else None}

    # ── tokens ──────────────────────────────────────────────────────────

    @rule(token=st.sampled_from(IDS), context=contexts)
    def start(self, token: str, context: Any) -> None:
        self.twins.start(token, context)

    @rule(which=nth, event=events, payload=payloads, key=keys, odd=st.integers(0, 3))
    def fire(self, which: int, event: str, payload: Any, key: str | None, odd: int) -> None:
        if odd:
            event = event if event in DECLARED else "go"
            payload = {"m": payload and 1} if event == "tell" else None
        self.twins.fire(self.token(which), event, payload, key)

    @rule(
        which=nth, verb=st.sampled_from(["pause", "resume", "resume", "cancel"]), own=st.booleans()
    )
    def steer(self, which: int, verb: str, own: bool) -> None:
        self.twins.steer(verb, self.top(which) if own else self.token(which))

    @rule(
        which=nth,
        meanwhile=st.lists(st.one_of(outcomes, st.tuples(nth, events)), max_size=4),
        seconds=st.sampled_from([None, None, 25, 200]),
        verb=st.sampled_from(["resume", "resume", "resume", "cancel", "pause"]),
    )
    def pause_a_while(
        self, which: int, meanwhile: list[Any], seconds: int | None, verb: str
    ) -> None:
        """Events and outcomes arrive while a family is paused."""
        self.task(0)
        top = self.top(which)
        self.twins.steer("pause", top)
        for each in meanwhile:
            if isinstance(each, tuple):
                token, event = self.token(each[0]), each[1]
                self.twins.fire(token, event, {"m": 1} if event == "tell" else None)
            else:
                self.say(*self.fitted(self.task(0), each))
        if seconds is not None:
            self.twins.pass_time(seconds)
        self.twins.steer(verb, top)

    # ── tasks ───────────────────────────────────────────────────────────

    @rule(box=boxes, request=requests, most=st.sampled_from([None, 1, 3, 3]), which=nth)
    def claim(self, box: str, request: str | None, most: int | None, which: int) -> None:
        queues = self.queues() or ["a"]
        if which == 9:
            queues = [queues[0], "top/a", "/a"]
        self.twins.claim(box, queues, request, most)

    @rule(which=nth, outcome=outcomes, attempt=attempts, box=callers)
    def report(self, which: int, outcome: Any, attempt: int | None, box: str | None) -> None:
        self.say(self.task(which), outcome, attempt=attempt, supervisor=box)

    @rule(whole=st.lists(outcomes, min_size=1, max_size=4))
    def work(self, whole: list[Any]) -> None:
        """A supervisor claims, and reports on the youngest tasks that it has."""
        self.twins.claim("box-1", self.queues() or ["a"], most=4)
        for outcome in whole:
            self.say(*self.fitted(self.task(0), outcome))

    @rule(
        whole=st.lists(
            st.one_of(
                outcomes,
                st.tuples(nth, events),
                st.sampled_from(["claim", "pause", "resume", "cancel", "start", "write"]),
            ),
            min_size=2,
            max_size=6,
        ),
        which=nth,
    )
    def all_at_once(self, whole: list[Any], which: int) -> None:
        """Several requests in one batch. The tasks are those that were held before."""
        task, top = self.task(0), self.top(which)
        with self.twins.together():
            for number, each in enumerate(whole):
                match each:
                    case "claim":
                        self.twins.claim("box-1", self.queues() or ["a"], "r1", 2)
                    case "start":
                        self.twins.start(f"B-{len(self.twins.model.tokens)}", {"n": 3})
                    case "write":
                        self.twins.remember(task, "k", number, None, None)
                    case str():
                        self.twins.steer(each, top)
                    case (chosen, event):
                        payload = {"m": 1} if event == "tell" else None
                        self.twins.fire(
                            self.token(chosen), event, payload, "k1" if chosen == 8 else None
                        )
                    case _:
                        self.say(*self.fitted(task, each))

    def say(self, task: int, outcome: Any, **who: Any) -> None:
        changes, schedules = outcome["changes"], outcome["schedules"]
        match outcome["kind"]:
            case "failed":
                error = "boom" if outcome["event"] in DECLARED else ""
                self.twins.report_failed(task, error, **who)
            case "waiting":
                who.setdefault("supervisor", "box-1")
                self.twins.report_waiting(task, changes, schedules, **who)
            case _:
                event, payload = outcome["event"], outcome["payload"]
                self.twins.report_event(task, event, payload, changes, schedules, **who)

    @rule(box=boxes, ids=st.lists(nth, max_size=3))
    def heartbeat(self, box: str, ids: list[int]) -> None:
        self.twins.heartbeat(box, [self.task(each) for each in ids])

    @rule(
        which=nth, attempt=attempts, number=numbers,
        value=st.sampled_from(["note", None, 1, {"a": []}]),
    )  # fmt: skip
    def write(self, which: int, attempt: int | None, number: int | None, value: Any) -> None:
        if value == "note":
            self.twins.note(self.task(which), attempt, number)
        else:
            self.twins.remember(self.task(which), "k", value, attempt, number)

    # ── time ────────────────────────────────────────────────────────────

    @rule(
        seconds=st.sampled_from([1, 7, 21, 31, 61, 125, 301]),
        jump=st.sampled_from([0, 0, 0, 0, -4000, -130, -5, 90, 4000]),
    )
    def pass_time(self, seconds: int, jump: int) -> None:
        self.twins.pass_time(seconds, wall=jump)


class Flat(Family):
    depth = 0


class Parallel(Family):
    depth = 1


class Nested(Family):
    depth = 2


class Deep(Family):
    depth = 3


TestFlat, TestParallel = Flat.TestCase, Parallel.TestCase
TestNested, TestDeep = Nested.TestCase, Deep.TestCase
TestFlat.settings = TestParallel.settings = TestNested.settings = TestDeep.settings = settings(
    max_examples=int(os.environ.get("STATEOUS_EXAMPLES", "125")),
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
