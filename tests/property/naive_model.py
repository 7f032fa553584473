"""A naive model of the control plane: a second reading of `docs/spec/wire.md` 3, over plain dicts.

It shares no code with the engine. Guards and schemas are callables that stand beside their texts;
an answer is status, code and body; ``…`` ends a text of which only the beginning counts.
"""

# ruff: noqa: RET503
import re
from datetime import timedelta

LEASE, OVER = timedelta(minutes=2), "stopped answering: no heartbeat for 2 minutes"
LIVE, NO_WAY, TWO = ("active", "paused"), "no way", "two guards"
STEERED = {"pause": ("active",), "resume": ("paused",), "cancel": LIVE}
#: A dict whose members can be written with a dot.
Row = type("Row", (dict,), {"__getattr__": dict.__getitem__, "__setattr__": dict.__setitem__})


def need(holds, code):
    if not holds:
        raise PermissionError(code)


class Model:
    def __init__(self, document, guards, valid, wall):
        self.document, self.guards, self.valid = document, guards, valid
        self.wall = self.now = wall
        self.tokens, self.tasks, self.timers, self.ledger = {}, {}, {}, {}
        self.keys, self.memory, self.claims, self.held = {}, {}, {}, []

    def play(self, request, *arguments, **named):
        if request not in ("claim", "heartbeat"):
            self.next_moment()
        try:
            status, body = getattr(self, request)(*arguments, **named) or (200, None)
        except PermissionError as refused:
            code = str(refused)
            return 404 if "not_found" in code else 422 if "invalid" in code else 409, code, None
        return status, None, body

    def next_moment(self):
        self.now = max(self.wall, self.now + timedelta(microseconds=1))

    def flow(self, workflow):
        return self.document["workflows"][workflow] if workflow else self.document

    def state(self, token):
        return self.flow(token.workflow)["states"].get(token.state, {})

    def fits(self, named, value):
        model = named.get("context") or named.get("payload")
        return model is None or self.valid[model](value)

    def carries(self, token, event, payload):
        shape = self.flow(token.workflow)["events"].get(event)
        return self.fits(shape, payload or {}) if shape else shape == {} and not payload

    def given(self, workflow, context, inputs):
        model = self.document["schemas"].get(self.flow(workflow).get("context"), {})
        fields = model.get("properties", {}).items()
        given = {key: context[key] for key in inputs if key in context}
        return {name: each["default"] for name, each in fields if "default" in each} | given

    def choose(self, flow, state, event, context, payload=None, count=None, branches=()):
        scope = context, payload, count, branches
        rows = [r for r in flow["transitions"] if (r["from"], r.get("on")) == (state, event)]
        true = [r["to"] for r in rows if "when" in r and self.guards[r["when"]](*scope)]
        ways = true + [r["to"] for r in rows if "when" not in r]
        return TWO if len(true) > 1 else ways[0] if ways else NO_WAY

    def decide(self, token, event, payload, context):
        flow, given, joined = self.flow(token.workflow), payload or {}, event == "joined"
        branches = given["branches"] if joined else ()
        scope = context, given, lambda n: token.counts.get(n, 0) + (n == event), branches
        target = self.choose(flow, token.state, event, *scope)
        into = (self.state(token) if joined else flow["events"].get(event, {})).get("into")
        context = {**context, into: given} if into else context
        path = f"{token.token}.{target}.{token.visits.get(target, 0) + 1}"
        good = self.fits(flow, context) and self.enterable(path, flow, target, context)
        return target if good or target == TWO else NO_WAY, context, into

    def enterable(self, path, flow, target, context):
        state = flow["states"].get(target, {})
        names, inputs = state.get("parallel", []), state.get("inputs", [])
        return all(self.startable(f"{path}.{n}", n, self.given(n, context, inputs)) for n in names)

    def startable(self, token, workflow, context):
        flow, taken = self.flow(workflow), token.lower() in map(str.lower, self.tokens)
        first = self.choose(flow, "__start__", None, context)
        good = len(token) <= 128 and not taken and first not in (NO_WAY, TWO)
        good = good and self.enterable(f"{token}.{first}.1", flow, first, context)
        return good and self.fits(flow, context)

    def log(self, token, kind, key=None, /, **data):
        token.update(seq=token.seq + 1, at=self.now)
        self.ledger.setdefault(token.token, []).append((token.seq, self.now, kind, key, data))
        if key is not None:
            self.keys[token.token, key] = data["event"], data["payload"] or {}

    def begin(self, name, context, workflow=None, top=None, parent=None):
        self.tokens[name] = token = Row(
            token=name, top=top or name, workflow=workflow, context=context, parent=parent, seq=0,
            status="active", state="__start__", visits={}, counts={}, paused_at=None, ended_at=None,
        )  # fmt: skip
        self.log(token, "started", context=context, **({"parent": parent} if parent else {}))
        first = self.choose(self.flow(workflow), "__start__", None, context)
        self.take(token, "__started__", None, first, context, None)

    def take(self, token, event, payload, target, context, into, key=None):
        left, emits = token.state, self.state(token).get("emits", [])
        self.log(token, "event_accepted", key, event=event, payload=payload, state=left)
        token.counts[event] = token.counts.get(event, 0) + 1
        if into:
            token.context = context
            self.log(token, "context_changed", keys=[into])
        self.leave(token, event in emits, f"the parent left {left!r} on {event!r}")
        if target == "__end__":
            return self.end(token, "completed")
        visit = token.visits[target] = token.visits.get(target, 0) + 1
        cause = {"name": event} | ({} if payload is None else {"payload": payload})
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
            given = self.given(name, token.context, state.get("inputs", []))
            self.begin(f"{path}.{name}", given, name, token.top, token.token)

    def set_timer(self, token, kind, event, after, payload=None):
        due = self.now + timedelta(
            seconds=int(after[:-1]) * {"s": 1, "m": 60, "h": 3600}[after[-1]]
        )
        self.timers[len(self.timers) + 1] = Row(
            id=len(self.timers) + 1, token=token.token, state=token.state, visit=token.visit,
            kind=kind, event=event, payload=payload, set_at=self.now, due_at=due, status="pending",
        )  # fmt: skip
        self.log(token, "timer_set", event=event, due_at=due)

    def leave(self, token, own, reason):
        for task in self.of(token, self.tasks, "queued", "claimed", "waiting"):
            self.close(task, "done" if own and task.status != "queued" else "cancelled")
        for timer in self.of(token, self.timers, "pending"):
            timer.status = "cancelled"
        for child in self.children(token, *LIVE):
            self.stop(child, "cancelled", reason)

    def close(self, task, status):
        task.update(status=status, lease_until=None)
        self.log(self.tokens[task.token], f"task_{status}", task=task.id)

    def of(self, token, rows, *statuses):
        return [r for r in rows.values() if r.token == token.token and r.status in statuses]

    def children(self, token, *statuses):
        names = self.state(token).get("parallel", [])
        found = [self.tokens[f"{token.token}.{token.state}.{token.visit}.{n}"] for n in names]
        return [child for child in found if child.status in statuses or not statuses]

    def stop(self, token, status, reason):
        for held in [h for h in self.held if h.token == token.token and token.status == "paused"]:
            self.drop(held)
        self.leave(token, False, "…")
        self.end(token, status, reason)

    def end(self, token, status, reason=None):
        self.log(token, status, **({"reason": reason} if reason else {}))
        token.update(status=status, ended_at=self.now, paused_at=None)
        self.memory = {p: kept for p, kept in self.memory.items() if p[0] != token.token}
        up = self.tokens.get(token.parent, Row(status="none"))
        if status != "cancelled" and up.status == "active" and token in self.children(up):
            children = [token] if self.state(up)["join"] == "any" else self.children(up)
            if all(child.status not in LIVE for child in children):
                fatal = f"the join of {up.state!r} cannot move the token: …"
                self.move(up, "joined", {"branches": [*map(self.branch, children)]}, fatal=fatal)

    def branch(self, child):
        named = {name: child[name] for name in ("workflow", "token", "status", "context")}
        return {**named, "final": child.state, "payload": child.entered_by.get("payload")}

    def move(self, token, event, payload, changes=None, schedules=(), key=None, fatal=None):
        target, *way = self.decide(token, event, payload, token.context | (changes or {}))
        self.allow(fatal or target != NO_WAY, token, event)
        self.save(token, changes, schedules if target not in (TWO, NO_WAY) else ())
        if target in (TWO, NO_WAY):
            self.stop(token, "failed", fatal if target == NO_WAY else "…")
        else:
            self.take(token, event, payload, target, *way, key)

    def save(self, token, changes, schedules):
        if changes:
            token.context = token.context | changes
            self.log(token, "context_changed", keys=sorted(changes))
        for each in schedules:
            self.set_timer(token, "timer", each["event"], each["after"], each.get("payload"))

    def allow(self, holds, token, event, code="event_not_allowed"):
        if not holds:
            event = event[:64] + "…" * (len(event) > 64)
            self.log(token, "event_rejected", event=event, reason="…")
            raise PermissionError(code)

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
            self.move(token, "error", None, fatal=f"{token.state!r} failed, and …")

    def answer(self, token, status=200):
        named = ("token", "state", "status", "visit", "context", "entered_at", "parent")
        return status, {name: token[name] for name in named if token[name] is not None}

    def start(self, name, context):
        if name in self.tokens:
            return self.answer(self.tokens[name])
        good = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", name)
        need(good and name.lower() not in map(str.lower, self.tokens), "invalid_token_id")
        parts = re.fullmatch(r"(.+)\.([^.]+)\.0*[1-9][0-9]*\.([^.]+)", name.lower())
        above = [each for each in self.tokens.values() if parts and each.token.lower() == parts[1]]
        states = [self.flow(each.workflow)["states"].get(parts[2], {}) for each in above]
        need(not any(parts[3] in s.get("parallel", []) for s in states), "invalid_token_id")
        context = self.given(None, context or {}, context or {})
        need(self.startable(name, None, context), "invalid_context")
        self.begin(name, context)
        return self.answer(self.tokens[name], 201)

    def fire(self, name, event, payload, key):
        need(name in self.tokens, "token_not_found")
        token = self.tokens[name]
        if (name, key) in self.keys:
            more = {} if self.keys[name, key] == (event, payload or {}) else {"matches": False}
            return 200, {"duplicate": True, **more, "token": self.answer(token)[1]}
        self.allow(token.status in LIVE, token, event, "token_not_active")
        self.allow(event in self.flow(token.workflow)["events"], token, event)
        need(self.carries(token, event, payload), "invalid_payload")
        take = self.hold if token.status == "paused" else self.move
        take(token, event, payload, key=key)
        return self.answer(token)

    def steer(self, verb, name):
        need(name in self.tokens, "token_not_found")
        token = self.tokens[name]
        need(not token.parent, "child_token")
        need(token.status in STEERED[verb], "token_not_active")
        if verb == "cancel":
            self.stop(token, "cancelled", None)
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

    def hold(self, token, event, payload, task=None, changes=None, schedules=(), key=None):
        arrival = 1 + sum(each.top == token.top for each in self.held)
        more = {"state": token.state, "visit": token.visit, "task": task.id} if task else {}
        more |= {k: v for k, v in (("context", changes), ("schedules", schedules)) if v}
        data = {"event": event, "payload": payload, "arrival": arrival, **more}
        self.log(token, "event_deferred", key, **data)
        self.held.append(Row(data, token=token.token, top=token.top, seq=token.seq))

    def drop(self, held):
        self.held.remove(held)
        self.log(self.tokens[held.token], "event_dropped", event=held.event, reason="…")

    def replay(self, token, held):
        event, changes, place = held.event, held.get("context", {}), (token.state, token.visit)
        if token.status != "active" or ("task" in held and place != (held.state, held.visit)):
            return self.drop(held)
        context = token.context | changes
        target, *way = self.decide(token, event, held.payload, context)
        target = target if self.fits(self.flow(token.workflow), context) else NO_WAY
        if target not in (TWO, NO_WAY):
            self.held.remove(held)
            self.log(token, "event_replayed", event=event)
            self.save(token, changes, held.get("schedules", ()))
            return self.take(token, event, held.payload, target, *way)
        self.drop(held)
        if target == TWO or event == "error":
            self.stop(token, "failed", "…")
        elif "task" in held:
            self.fail_attempt(self.tasks[held.task], "…")

    def claim(self, supervisor, states, request, most):
        last, granted = self.claims.get(supervisor, (None, ()))
        grants = [t for t, a in granted if request == last and self.renewed(t, supervisor, a)]
        ready = [t for t in self.tasks.values() if t.status == "queued" and t.queue in states]
        ready = [t for t in ready if self.tokens[t.token].status == "active" and not grants]
        for task in sorted(ready, key=lambda t: (t.queued_at, t.id))[: most or 1]:
            self.next_moment()
            task.update(status="claimed", claimed_by=supervisor, attempt=task.attempt + 1)
            task.update(lease_until=self.now + LEASE, number=0)
            data = {"task": task.id, "supervisor": supervisor, "attempt": task.attempt}
            self.log(self.tokens[task.token], "task_claimed", **data)
            grants.append(task.id)
        if request and ready:
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
        held = attempt in (None, row.attempt) and row.status in ("claimed", "waiting")
        need(held, "task_not_held")
        return row, self.tokens[row.token]

    def report(self, task, kind, said, attempt=None, supervisor=None):
        row, token = self.worked_on(task, attempt)
        mine = (row.status, row.claimed_by) == ("claimed", supervisor)
        need(mine or (supervisor is None and kind != "waiting"), "task_not_held")
        if kind == "failed":
            self.fail_attempt(row, said or "…")
            return self.answer(token)
        event, payload, changes, schedules = said
        context = token.context | (changes or {})
        need(self.fits(self.flow(token.workflow), context), "invalid_context")
        fit = [self.carries(token, each["event"], each.get("payload")) for each in schedules]
        need(all(fit), "invalid_payload")
        if kind == "waiting":
            self.save(token, changes, schedules)
            self.close(row, "waiting")
            return self.answer(token)
        self.allow(event in self.state(token)["emits"], token, event)
        need(self.carries(token, event, payload), "invalid_payload")
        if token.status == "active":
            self.move(token, event, payload, changes, schedules)
        else:
            self.allow(self.decide(token, event, payload, context)[0] != NO_WAY, token, event)
            self.hold(token, event, payload, row, changes, schedules)
            self.close(row, "done")
        return self.answer(token)

    def write(self, task, attempt, number, text=None, key=None, value=None):
        row, token = self.worked_on(task, attempt)
        place = self.memory.setdefault((row.token, row.state), {})
        new, row.number = number is None or number > row.number, max(number or 0, row.number)
        if new and text is not None:
            self.log(token, "note", task=task, text=text)
        elif new and (value is not None or key in place):
            kind = "memory_deleted" if value is None else "memory_set"
            self.log(token, kind, state=row.state, memory_key=key)
            kept = {name: each for name, each in {**place, key: value}.items() if each is not None}
            self.memory[row.token, row.state] = kept
        return 204, None

    def lapse(self, task):
        if self.tasks[task].status == "claimed":
            self.fail_attempt(self.tasks[task], f"{self.tasks[task].claimed_by} {OVER}")

    def ring(self, number):
        timer, token = self.timers[number], self.tokens[self.timers[number].token]
        if timer.status == "pending" and token.status == "active":
            timer.status = "fired"
            self.log(token, "timer_fired", event=timer.event)
            fatal = f"{token.state!r} timed out: …" if timer.kind == "timeout" else None
            self.move(token, timer.event, timer.payload, fatal=fatal)
