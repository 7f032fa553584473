"""A naive model of the control plane: a second reading of `docs/spec/wire.md` 3, over plain dicts.

It shares no code with the engine. The document is read as it stands, a guard is a callable beside
its text (of context, payload, count, branches). A text ``…`` stands for any sentence, one that ends
with it for its beginning.
"""

import contextlib
import json
import re
from datetime import datetime, timedelta

import jsonschema_rs

LEASE, OVER = timedelta(minutes=2), "stopped answering: no heartbeat for 2 minutes"
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
LIVE, OPEN = ("active", "paused"), ("queued", "claimed", "waiting")
STEERED = {"pause": ("active",), "resume": ("paused",), "cancel": LIVE}
TAKEN, NO_WAY, TWO = "taken", "refused", "two guards"


class Row(dict):
    """A dict whose members can be written with a dot."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class Refused(Exception):
    pass


def need(holds, code):
    if not holds:
        raise Refused(code)


def moment(at):
    return at.isoformat().replace("+00:00", "Z")


class Model:
    def __init__(self, document: dict, guards: dict, wall: datetime) -> None:
        self.document, self.guards, self.wall, self.now = document, guards, wall, wall
        schemas = document["schemas"].items()
        self.valid = {name: jsonschema_rs.validator_for(each).is_valid for name, each in schemas}
        self.tokens, self.tasks, self.timers, self.ledger = {}, {}, {}, {}
        self.keys, self.memory, self.claims, self.held = {}, {}, {}, []

    def play(self, request: str, *arguments, **named) -> tuple:
        """The answer to a request: status, code, body. All but two are one command each."""
        if request not in ("claim", "heartbeat"):
            self.next_moment()
        try:
            status, body = getattr(self, request)(*arguments, **named)
        except Refused as refused:
            code = str(refused)
            return 404 if "not_found" in code else 422 if "invalid" in code else 409, code, None
        return status, None, body

    def next_moment(self):
        self.now = max(self.wall, self.now + timedelta(microseconds=1))

    # The document.

    def flow(self, workflow):
        return self.document["workflows"][workflow] if workflow else self.document

    def state(self, token):
        return self.flow(token.workflow)["states"].get(token.state, {})

    def fits(self, flow, context):
        return "context" not in flow or self.valid[flow["context"]](context)

    def carries(self, token, event, payload):
        shape = self.flow(token.workflow)["events"].get(event, {})
        return self.valid[shape["payload"]](payload or {}) if "payload" in shape else not payload

    def with_defaults(self, flow, given):
        fields = self.document["schemas"].get(flow.get("context"), {}).get("properties", {})
        return {name: each["default"] for name, each in fields.items() if "default" in each} | given

    # Deciding.

    def choose(self, flow, state, event, context, payload=None, count=None, branches=()):
        rows = [r for r in flow["transitions"] if (r["from"], r.get("on")) == (state, event)]
        scope = context, payload, count, branches
        true = [r["to"] for r in rows if "when" in r and self.guards[r["when"]](*scope)]
        ways = true + [r["to"] for r in rows if "when" not in r]
        return (TWO, "") if len(true) > 1 else (TAKEN, ways[0]) if ways else (NO_WAY, "")

    def decide(self, token, event, payload, context):
        """The verdict, the target, the context afterwards, the key that keeps the payload."""
        flow, given, joined = self.flow(token.workflow), payload or {}, event == "joined"
        count = lambda name: token.counts.get(name, 0) + (name == event)  # noqa: E731
        branches = given["branches"] if joined else ()
        verdict, to = self.choose(flow, token.state, event, context, given, count, branches)
        into = (self.state(token) if joined else flow["events"].get(event, {})).get("into")
        context = {**context, into: given} if into else context
        good = not into or self.fits(flow, context)
        good = good and self.enterable(token.token, flow, to, token.visits.get(to, 0) + 1, context)
        return NO_WAY if verdict == TAKEN and not good else verdict, to, context, into

    def enterable(self, token, flow, target, visit, context):
        state = flow["states"].get(target, {})
        return all(
            self.startable(
                f"{token}.{target}.{visit}.{name}", name, self.given(state, name, context)
            )
            for name in state.get("parallel", [])
        )

    def startable(self, token, workflow, context):
        flow, taken = self.flow(workflow), token.lower() in map(str.lower, self.tokens)
        verdict, first = self.choose(flow, "__start__", None, context)
        good = len(token) <= 128 and not taken and self.fits(flow, context) and verdict == TAKEN
        return good and self.enterable(token, flow, first, 1, context)

    def given(self, state, workflow, context):
        inputs = {key: context[key] for key in state.get("inputs", []) if key in context}
        return self.with_defaults(self.flow(workflow), inputs)

    # Moving.

    def log(self, token, kind, key=None, /, **data):
        token.update(seq=token.seq + 1, at=self.now)
        entry = {"seq": token.seq, "at": self.now, "kind": kind, "key": key, "data": data}
        self.ledger.setdefault(token.token, []).append(entry)
        return token.seq

    def begin(self, name, above, workflow, context):
        up = above or {}
        self.tokens[name] = token = Row(
            token=name, top=up.get("top", name), workflow=workflow, context=context, seq=0,
            parent=up.get("token"), parent_state=up.get("state"), parent_visit=up.get("visit"),
            status="active", state="__start__", visits={}, counts={}, started_at=self.now,
            paused_at=None, ended_at=None,
        )  # fmt: skip
        self.log(token, "started", context=context, **({"parent": up["token"]} if above else {}))
        _, first = self.choose(self.flow(workflow), "__start__", None, context)
        self.take(token, "__started__", None, first, context, None)

    def take(self, token, event, payload, target, context, into, key=None):
        left, emits = token.state, self.state(token).get("emits", [])
        self.log(token, "event_accepted", key, event=event, payload=payload, state=left)
        self.use(token, key, event, payload)
        token.counts[event] = token.counts.get(event, 0) + 1
        if into:
            token.context = context
            self.log(token, "context_changed", keys=[into])
        self.leave(token, event in emits, f"the parent left {left!r} on {event!r}")
        if target == "__end__":
            self.log(token, "completed")
            self.end(token, "completed")
        else:
            self.enter(token, target, {"name": event, "payload": payload})

    def enter(self, token, target, cause):
        visit = token.visits[target] = token.visits.get(target, 0) + 1
        cause = {name: value for name, value in cause.items() if value is not None}
        token.update(state=target, visit=visit, entered_at=self.now, entered_by=cause)
        self.log(token, "entered", state=target, visit=visit)
        state, path = self.state(token), f"{token.token}.{target}.{visit}"
        if "parallel" not in state:
            task, queue = len(self.tasks) + 1, f"{token.workflow or ''}/{target}".lstrip("/")
            self.tasks[task] = Row(
                id=task, token=token.token, state=target, visit=visit, queue=queue, attempt=0,
                status="queued", claimed_by=None, lease_until=None, queued_at=self.now, number=0,
            )  # fmt: skip
            self.log(token, "task_queued", task=task, state=target)
        if "timeout" in state:
            self.set_timer(token, "timeout", "timeout", state["timeout"])
        for name in state.get("parallel", []):
            self.log(token, "branch_started", workflow=name, token=f"{path}.{name}")
            self.begin(f"{path}.{name}", token, name, self.given(state, name, token.context))

    def use(self, token, key, event, payload):
        if key is not None:
            self.keys[token.token, key] = json.dumps([event, payload or {}], sort_keys=True)

    def set_timer(self, token, kind, event, after, payload=None):
        due = self.now + timedelta(**{UNITS[after[-1]]: int(after[:-1])})
        self.timers[len(self.timers) + 1] = Row(
            id=len(self.timers) + 1, token=token.token, state=token.state, visit=token.visit,
            kind=kind, event=event, payload=payload, set_at=self.now, due_at=due, status="pending",
        )  # fmt: skip
        self.log(token, "timer_set", event=event, due_at=moment(due))

    def leave(self, token, own, reason):
        for task in self.of(token, self.tasks, *OPEN):
            end = "done" if own and task.status != "queued" else "cancelled"
            task.update(status=end, lease_until=None)
            self.log(token, f"task_{end}", task=task.id)
        for timer in self.of(token, self.timers, "pending"):
            timer.status = "cancelled"
        for child in self.children(token, *LIVE):
            self.cancel_one(child, reason)

    def of(self, token, rows, *statuses):
        return [r for r in rows.values() if r.token == token.token and r.status in statuses]

    def children(self, token, *statuses):
        names = self.state(token).get("parallel", [])
        found = [self.tokens[f"{token.token}.{token.state}.{token.visit}.{n}"] for n in names]
        return [child for child in found if child.status in statuses or not statuses]

    def end(self, token, status):
        token.update(status=status, ended_at=self.now, paused_at=None)
        self.memory = {p: kept for p, kept in self.memory.items() if p[0] != token.token}
        up = self.tokens.get(token.parent, Row(status="none"))
        if status == "cancelled" or up.status != "active":
            return
        if (up.state, up.visit) == (token.parent_state, token.parent_visit):
            children = [token] if self.state(up)["join"] == "any" else self.children(up)
            if all(child.status not in LIVE for child in children):
                branches = {"branches": [self.branch(child) for child in children]}
                self.own_event(up, "joined", branches, f"the join of {up.state!r} cannot …")

    def branch(self, child):
        payload = child.entered_by.get("payload")
        named = {name: child[name] for name in ("workflow", "token", "status", "context")}
        return {**named, "final": child.state, "payload": payload}

    def own_event(self, token, event, payload, why):
        verdict, *way = self.decide(token, event, payload, token.context)
        if verdict == TAKEN:
            self.take(token, event, payload, *way)
        else:
            self.fail(token, why if verdict == NO_WAY else "…")

    def fail(self, token, reason):
        self.leave(token, False, "…")
        self.log(token, "failed", reason=reason)
        self.end(token, "failed")

    def cancel_one(self, token, reason):
        for held in [each for each in self.held if each.token == token.token]:
            if token.status == "paused":
                self.drop(held)
        self.leave(token, False, "…")
        self.log(token, "cancelled", **({"reason": reason} if reason else {}))
        self.end(token, "cancelled")

    def fail_attempt(self, task, error):
        token = self.tokens[task.token]
        self.log(token, "task_failed", task=task.id, error=error)
        task.update(status="failed", lease_until=None)
        if task.attempt <= self.state(token).get("retries", 0):
            self.log(token, "task_retrying", task=task.id, attempt=task.attempt + 1)
            task.update(status="queued", claimed_by=None, queued_at=self.now)
            for timer in self.of(token, self.timers, "pending"):
                timer.status = "cancelled" if timer.kind == "timer" else "pending"
        elif token.status == "paused":
            self.hold(token, "error", None, task)
        else:
            self.own_event(token, "error", None, f"{token.state!r} failed, and …")

    # Requests about tokens.

    def answer(self, token, status=200):
        shown = {name: token[name] for name in ("token", "state", "status", "visit", "context")}
        parent = {"parent": token.parent} if token.parent else {}
        return status, {**shown, "entered_at": moment(token.entered_at), **parent}

    def allow(self, holds, token, event, code="event_not_allowed"):
        if not holds:
            event = event if len(event) <= 64 else event[:64] + "…"
            self.log(token, "event_rejected", event=event, reason="…")
            raise Refused(code)

    def start(self, name, context):
        if name in self.tokens:
            return self.answer(self.tokens[name])
        good = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", name)
        need(good and name.lower() not in map(str.lower, self.tokens), "invalid_token_id")
        parts = re.fullmatch(r"(.+)\.([^.]+)\.0*[1-9][0-9]*\.([^.]+)", name.lower())
        for above in self.tokens.values() if parts else ():
            state = self.flow(above.workflow)["states"].get(parts[2], {})
            reserved = above.token.lower() == parts[1] and parts[3] in state.get("parallel", [])
            need(not reserved, "invalid_token_id")
        context = self.with_defaults(self.document, context or {})
        need(self.startable(name, None, context), "invalid_context")
        self.begin(name, None, None, context)
        return self.answer(self.tokens[name], 201)

    def fire(self, name, event, payload, key):
        need(name in self.tokens, "token_not_found")
        token = self.tokens[name]
        if (name, key) in self.keys:
            use = json.dumps([event, payload or {}], sort_keys=True)
            more = {} if self.keys[name, key] == use else {"matches": False}
            return 200, {"duplicate": True, **more, "token": self.answer(token)[1]}
        self.allow(token.status in LIVE, token, event, "token_not_active")
        self.allow(event in self.flow(token.workflow)["events"], token, event)
        need(self.carries(token, event, payload), "invalid_payload")
        if token.status == "paused":
            self.hold(token, event, payload, key=key)
        else:
            self.move(token, event, payload, key=key)
        return self.answer(token)

    def move(self, token, event, payload, changes=None, schedules=(), key=None):
        verdict, *way = self.decide(token, event, payload, token.context | (changes or {}))
        self.allow(verdict != NO_WAY, token, event)
        self.save(token, changes, schedules if verdict == TAKEN else ())
        if verdict == TWO:
            self.fail(token, "…")
        else:
            self.take(token, event, payload, *way, key)

    def save(self, token, changes, schedules):
        if changes:
            token.context = token.context | changes
            self.log(token, "context_changed", keys=sorted(changes))
        for each in schedules:
            self.set_timer(token, "timer", each["event"], each["after"], each.get("payload"))

    def steer(self, verb, name):
        need(name in self.tokens, "token_not_found")
        token = self.tokens[name]
        need(not token.parent, "child_token")
        need(token.status in STEERED[verb], "token_not_active")
        if verb == "cancel":
            self.cancel_one(token, None)
        else:
            self.turn(token, paused=verb == "pause")
        for held in [each for each in self.held if each.top == name and verb == "resume"]:
            self.replay(self.tokens[held.token], held)
        return self.answer(token)

    def turn(self, token, *, paused):
        for timer in () if paused else self.of(token, self.timers, "pending"):
            timer.due_at += self.now - max(token.paused_at, timer.set_at)
        token.update(status=LIVE[paused], paused_at=self.now if paused else None)
        self.log(token, "paused" if paused else "resumed")
        for child in self.children(token, *LIVE):
            self.turn(child, paused=paused)

    # What a pause holds.

    def hold(self, token, event, payload, task=None, changes=None, schedules=(), key=None):
        arrival = 1 + sum(each.top == token.top for each in self.held)
        place = {"state": token.state, "visit": token.visit, "task": task.id} if task else {}
        more = {"context": changes, "schedules": schedules}
        data = {"event": event, "payload": payload, "arrival": arrival, **place}
        data |= {name: value for name, value in more.items() if value}
        seq = self.log(token, "event_deferred", key, **data)
        self.use(token, key, event, payload)
        self.held.append(Row(data, token=token.token, top=token.top, seq=seq))

    def drop(self, held):
        self.held.remove(held)
        self.log(self.tokens[held.token], "event_dropped", event=held.event, reason="…")

    def replay(self, token, held):
        event, changes, place = held.event, held.get("context", {}), (token.state, token.visit)
        if token.status != "active" or ("task" in held and place != (held.state, held.visit)):
            return self.drop(held)
        context = token.context | changes
        verdict, *way = self.decide(token, event, held.payload, context)
        if changes and not self.fits(self.flow(token.workflow), context):
            verdict = NO_WAY
        if verdict == TAKEN:
            self.held.remove(held)
            self.log(token, "event_replayed", event=event)
            self.save(token, changes, held.get("schedules", ()))
            return self.take(token, event, held.payload, *way)
        self.drop(held)
        if verdict == TWO or event == "error":
            self.fail(token, "…")
        elif "task" in held:
            self.fail_attempt(self.tasks[held.task], "…")
        return None

    # Requests about tasks.

    def claim(self, supervisor, states, request, most):
        last, granted = self.claims.get(supervisor, (None, ()))
        repeated = [each for each in granted if request and request == last]
        grants = [task for task, attempt in repeated if self.renewed(task, supervisor, attempt)]
        ready = [t for t in self.tasks.values() if t.status == "queued" and t.queue in states]
        ready = [t for t in ready if self.tokens[t.token].status == "active" and not grants]
        for task in sorted(ready, key=lambda t: (t.queued_at, t.id))[: most or 1]:
            self.next_moment()
            task.update(status="claimed", claimed_by=supervisor, attempt=task.attempt + 1)
            task.update(lease_until=self.now + LEASE, number=0)
            data = {"task": task.id, "supervisor": supervisor, "attempt": task.attempt}
            self.log(self.tokens[task.token], "task_claimed", **data)
            grants.append(task.id)
        if request and grants and not (repeated and request == last and not ready):
            self.claims[supervisor] = request, sorted((t, self.tasks[t].attempt) for t in grants)
        shown = [self.grant(self.tasks[task]) for task in grants]
        body = {"tasks": shown} if most else shown[0] if shown else None
        return 204 if body is None else 200, body

    def grant(self, task):
        token, memory = self.tokens[task.token], self.memory.get((task.token, task.state), {})
        grant = {name: task[name] for name in ("token", "visit", "attempt")}
        grant |= {"context": token.context, "entered_by": token.entered_by, "memory": memory}
        return {**grant, "task": task.id, "state": task.queue}

    def renewed(self, number, supervisor, attempt=None):
        self.next_moment()
        task = self.tasks.get(number, Row(status="", claimed_by=""))
        held = (task.status, task.claimed_by) == ("claimed", supervisor)
        held = held and task.lease_until > self.now and attempt in (None, task.attempt)
        if held:
            task.lease_until = self.now + LEASE
        return held

    def heartbeat(self, supervisor, tasks):
        return 200, {"lost": [t for t in sorted(set(tasks)) if not self.renewed(t, supervisor)]}

    def worked_on(self, task, attempt):
        need(task in self.tasks, "task_not_found")
        row = self.tasks[task]
        need(attempt is None or attempt >= row.attempt, "attempt_over")
        need(attempt in (None, row.attempt), "task_not_held")
        need(row.status in ("claimed", "waiting"), "task_not_held")
        return row, self.tokens[row.token]

    def report(
        self, task, kind, event="", payload=None, changes=None, schedules=(), error="", *,
        attempt=None, supervisor=None,
    ):  # fmt: skip
        row, token = self.worked_on(task, attempt)
        mine = (row.status, row.claimed_by) == ("claimed", supervisor)
        need(mine or (supervisor is None and kind != "waiting"), "task_not_held")
        if kind == "failed":
            self.fail_attempt(row, error or "…")
            return self.answer(token)
        context = token.context | (changes or {})
        need(self.fits(self.flow(token.workflow), context), "invalid_context")
        for each in schedules:
            known = each["event"] in self.flow(token.workflow)["events"]
            good = known and self.carries(token, each["event"], each.get("payload"))
            need(good, "invalid_payload")
        if kind == "waiting":
            self.save(token, changes, schedules)
            self.release(row, token, "waiting")
            return self.answer(token)
        self.allow(event in self.state(token)["emits"], token, event)
        need(self.carries(token, event, payload), "invalid_payload")
        if token.status == "active":
            self.move(token, event, payload, changes, schedules)
        else:
            verdict, *_ = self.decide(token, event, payload, context)
            self.allow(verdict != NO_WAY, token, event)
            self.hold(token, event, payload, row, changes, schedules)
            self.release(row, token, "done")
        return self.answer(token)

    def release(self, task, token, status):
        task.update(status=status, lease_until=None)
        self.log(token, f"task_{status}", task=task.id)

    def write(self, task, attempt, number, text=None, key=None, value=None):
        """A note, or a memory write when there is a key."""
        row, token = self.worked_on(task, attempt)
        last, row.number = row.number, max(number or 0, row.number)
        place = self.memory.setdefault((row.token, row.state), {})
        if number is not None and number <= last:
            pass
        elif text is not None:
            self.log(token, "note", task=task, text=text)
        elif value is not None or key in place:
            kind = "memory_deleted" if value is None else "memory_set"
            self.log(token, kind, state=row.state, memory_key=key)
            place.pop(key, None)
            place.update({} if value is None else {key: value})
        return 204, None

    # The clock.

    def tick(self):
        now = max(self.wall, self.now)
        over = [t for t in self.tasks.values() if t.status == "claimed" and t.lease_until < now]
        due = [timer for timer in self.timers.values() if self.is_due(timer, now)]
        for task in sorted(over, key=lambda t: (t.lease_until, t.id)):
            self.next_moment()
            if task.status == "claimed":
                self.fail_attempt(task, f"{task.claimed_by} {OVER}")
        for timer in sorted(due, key=lambda t: (t.due_at, t.id)):
            self.next_moment()
            if self.is_due(timer, self.now):
                self.ring(self.tokens[timer.token], timer)

    def is_due(self, timer, now):
        active = self.tokens[timer.token].status == "active"
        return timer.status == "pending" and active and timer.due_at <= now

    def ring(self, token, timer):
        timer.status = "fired"
        self.log(token, "timer_fired", event=timer.event)
        if timer.kind == "timeout":
            self.own_event(token, "timeout", None, f"{token.state!r} timed out: …")
        else:
            with contextlib.suppress(Refused):
                self.move(token, timer.event, timer.payload)
