"""A naive model of runs, what reaches a family from outside: a second reading of `docs/spec/statechart.md`.

It shares no code with the engine, and works on plain dicts. Answers are results and codes.
"""

# ruff: noqa: RET503
from datetime import timedelta

from tests.property.naive_chart import Row, run_id
from tests.property.naive_steps import Steps
from tests.property.naive_work import LIVE

LEASE, STOPPING, LOST = timedelta(minutes=2), timedelta(seconds=30), 5


def need(holds, code):
    if not holds:
        raise PermissionError(code)


class Model(Steps):
    def __init__(self, document, formulas, key, now, steps, runs):
        self.document, self.formulas, self.key, self.now = document, formulas, key, now
        self.most_steps, self.most_runs = steps, runs
        self.runs, self.tasks, self.timers, self.ledger = {}, {}, {}, {}
        self.tickets, self.held, self.outbox, self.used = [], [], [], {}

    def play(self, request, *arguments):
        self.runs_before = len(self.runs)
        try:
            return getattr(self, request)(*arguments)
        except PermissionError as refused:
            return str(refused)

    def submit(self, name, given, key):
        taken = [each for each in self.runs.values() if each.status in LIVE and each.key == key]
        if name in self.runs:
            old = self.runs[name]
            same = (old.parent, old.machine, old.input, old.key) == (None, ".", given, key)
            need(same, "run_exists")
            return None
        need(key is None or not taken, "key_taken")
        run = self.begin(name, ".", given, "client", key)
        self.command(run, "start", self.event("start", given, "client"))
        return "created"

    def declared(self, run, ev):
        events = self.chart(run).get("events")
        if events is not None and ev.name not in events:
            self.tell(run, "event_dropped", ev, reason="undeclared")
        return events is None or ev.name in events

    def bring(self, run, ev, task=None):
        """Let an event happen, or hold it while its run is paused."""
        if run.status != "paused":
            return self.command(run, "event", ev)
        arrival = 1 + sum(self.top(self.runs[each.run]) == self.top(run) for each in self.held)
        more = {"task": task.id} if task else {}
        seq = self.tell(run, "event_deferred", ev, arrival=arrival, **more)
        self.held.append(Row(run=run.id, event=Row(ev, again=seq, key=None), arrival=arrival))
        return "held"

    def top(self, run):
        return self.top(self.runs[run.parent]) if run.parent else run.id

    def send_event(self, name, event, data, key):
        need(name in self.runs, "run_not_found")
        run = self.runs[name]
        if (name, key) in self.used:
            return self.again(name, key, event, data, None)
        need(run.status in LIVE, "run_not_active")
        events = self.chart(run).get("events")
        need(event not in ("start", "timer", "done", "failed"), "event_not_allowed")
        need(events is None or event in events, "event_not_allowed")
        return self.bring(run, self.event(event, data, "client", key=key))

    def again(self, name, key, event, data, answers):
        *same, result = self.used[name, key]
        need(same == [event, data, answers], "idempotency_mismatch")
        return f"{result} again"

    def answer(self, value, data, key):
        found = [each for each in self.tickets if each.value == value]
        need(found, "ticket_refused")
        (ticket,) = found
        run = self.runs[ticket.run]
        if (run.id, key) in self.used:
            return self.again(run.id, key, ticket.ticket, data, value)
        need(ticket.status == "open", "ticket_refused")
        need(run.status == "active", "run_not_active")
        ev = self.event(ticket.ticket, data, ticket.state, kind="ticket", key=key, answers=value)
        found, notes = self.rule(run, ev)
        for note in notes:
            self.log(run, "note", about="condition", **note, text="…")
        told = {"ticket": ticket.ticket, "id": self.public(value)}
        if not found:
            self.log(run, "event_rejected", event=ev.name, reason="…", **told)
            raise PermissionError("answer_not_taken")
        ticket.status = "answered"
        self.log(run, "ticket_answered", state=ticket.state, **told)
        self.agenda, self.steps, self.mine = [], {run.id: 1}, {}
        self.take(run, ev, *found)
        self.settle(run)
        while self.agenda:
            what, name, ev = self.agenda.pop(0)
            getattr(self, f"do_{what}")(self.runs.get(name), ev)
        return "taken"

    def claim(self, number):
        task = self.tasks[number]
        if task.status == "queued" and self.runs[task.run].status == "active":
            timeout = timedelta(seconds=self.seconds(task.what.get("timeout", "5m")))
            task.update(status="claimed", attempt=task.attempt + 1, emitted=0)
            task.update(lease=self.now + LEASE, ends=self.now + timeout + STOPPING)
            told = {"task": number, "supervisor": "build-box-1", "attempt": task.attempt}
            self.log(self.runs[task.run], "task_claimed", **told)

    def seconds(self, length):
        return int(length[:-1]) * {"s": 1, "m": 60, "h": 3600}[length[-1]]

    def held_task(self, number):
        task = self.tasks[number]
        need(task.status == "claimed", "task_not_held")
        return task, self.runs[task.run]

    def done(self, number, output):
        task, run = self.held_task(number)
        task.update(status="done", lease=None, ends=None)
        self.log(run, "task_done", task=number, output=output)
        ev = self.finished(run, (task.state, task.visit), task.job, output)
        if ev:
            self.bring(run, ev, task)

    def failed(self, number, error, status, output):
        task, run = self.held_task(number)
        self.log(run, "task_failed", task=number, error=error, status=status)
        task.update(status="failed", lease=None, ends=None, lost=task.lost + (status == "lost"))
        again = task.attempt - task.lost <= task.what.get("retries", 0)
        if task.lost < LOST if status == "lost" else again:
            task.status = "queued"
            self.log(run, "task_retrying", task=number, attempt=task.attempt + 1)
            return
        place = (task.state, task.visit)
        self.bring(run, self.finished(run, place, task.job, output, error, status), task)

    def lapse(self, number):
        if self.tasks[number].status == "claimed" and self.tasks[number].lease <= self.now:
            self.failed(number, "…", "lost", None)

    def overtime(self, number):
        if self.tasks[number].status == "claimed" and self.tasks[number].ends <= self.now:
            self.failed(number, "…", "timeout", None)

    def emit(self, number, count, event, data):
        task, run = self.held_task(number)
        if count <= task.emitted:
            return
        task.emitted = count
        ev = self.event(event, data, task.job, place=(task.state, task.visit))
        if self.declared(run, ev):
            self.bring(run, ev, task)

    def ring(self, number):
        timer = self.timers[number]
        run = self.runs[timer.run]
        if timer.status == "pending" and run.status == "active" and timer.due <= self.now:
            timer.status = "fired"
            self.log(run, "timer_fired", event=timer.event, state=timer.state)
            self.command(run, "event", self.event(timer.event, None, timer.state, kind="timer"))

    def deliver(self, number):
        post = self.outbox.pop(number)
        key, sender = post.to["key"], self.runs[post.sender]
        live = [each for each in self.runs.values() if each.status in LIVE and each.key == key]
        if live:
            if self.declared(live[0], post.event):
                self.bring(live[0], post.event)
        elif "machine" in post.to:
            name = run_id("key", sender.id, post.send)
            more = {"sender": sender.id, "send": post.send}
            run = self.begin(name, post.to["machine"], post.event.data, sender.id, key, **more)
            self.command(run, "start", self.event("start", post.event.data, sender.id))
        else:
            self.undelivered(sender, post, "no_run")

    def steer(self, verb, name):
        need(name in self.runs, "run_not_found")
        run = self.runs[name]
        need(not run.parent, "child_token")
        allowed = {"pause": ("active",), "resume": ("paused",), "cancel": LIVE}[verb]
        need(run.status in allowed, "run_not_active")
        if verb == "cancel":
            return self.stop(run)
        self.turn(run, verb)
        mine = [each for each in self.held if self.top(self.runs[each.run]) == name]
        for each in mine if verb == "resume" else ():
            self.replay(self.runs[each.run], each)

    def turn(self, run, verb):
        for timer in self.timers.values():
            moves = timer.run == run.id and timer.status == "pending" and not timer.clock
            if verb == "resume" and moves:
                timer.due += self.now - run.paused_at
        run.update(status={"pause": "paused", "resume": "active"}[verb], paused_at=self.now)
        self.log(run, f"{verb}d")
        for child in self.runs.values():
            if child.parent == run.id and child.status in LIVE:
                self.turn(child, verb)

    def replay(self, run, held):
        self.held.remove(held)
        ev = held.event
        if run.status != "active":
            self.tell(run, "event_dropped", ev, reason="ended")
        elif ev.place and ev.place not in self.places(run):
            self.tell(run, "event_dropped", ev, reason="left")
        else:
            self.command(run, "event", ev)
