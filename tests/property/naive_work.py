"""A naive model of runs, what entering a state begins: a second reading of `docs/spec/statechart.md`.

It shares no code with the engine, and works on plain dicts. ``…`` stands for any text.
"""

# ruff: noqa: RET503
from datetime import timedelta

from tests.property.naive_chart import Charts, Failed, Row, run_id

LIVE, LEVELS = ("active", "paused"), 16


class Work(Charts):
    """Entries of the ledger, timers, jobs, child runs, sends; and their end."""

    def log(self, run, kind, key=None, /, **data):
        run.seq += 1
        self.ledger[run.id].append((run.seq, self.now, kind, key, data))
        return run.seq

    def tell(self, run, kind, ev, **more):
        """An entry about an event: what it is, what became of it, and who sent it."""
        if ev.again and kind != "event_kept":
            more["seq"] = ev.again
        if ev.again and kind == "event_accepted":
            kind = "event_replayed"
        sent = {"sender": ev.sender, "send": ev.send} if ev.sender else {}
        data = {"event": ev.name, "data": ev.data, "from": ev["from"], **more, **sent}
        results = {"event_kept": "kept", "event_dropped": "dropped", "event_deferred": "held"}
        if ev.key is not None:
            self.used[run.id, ev.key] = ev.name, ev.data, ev.answers, results.get(kind, "taken")
        return self.log(run, kind, ev.key, **data)

    def event(self, name, data, source, **more):
        blank = {"kind": "plain", "sender": None, "send": None, "again": None, "key": None}
        blank |= {"kept": False, "place": None, "answers": None, "fails": None, "jobs_done": None}
        return Row({**blank, "name": name, "data": data, "from": source, **more})

    def start_timer(self, run, state, visit, timer, ev):
        text = timer["text"]
        if "from" in timer:
            text = self.formula(run, state, ev, timer["from"], own=False)
            if not isinstance(text, str) or text[:1] not in "0123456789":
                raise Failed("time")
        if ":" in text:
            due = self.now.replace(
                hour=int(text[:2]), minute=int(text[3:5]), second=0, microsecond=0
            )
            due += timedelta(days=due <= self.now)
        else:
            due = self.now + timedelta(
                seconds=int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]
            )
        row = {"run": run.id, "state": state, "visit": visit, "event": timer["timer"], "due": due}
        self.timers[len(self.timers) + 1] = Row(
            row, set_at=self.now, clock=":" in text, status="pending"
        )
        self.log(run, "timer_set", event=timer["timer"], state=state, text=text, due_at=due)

    def start_job(self, run, state, visit, job, what, given):
        where = {"state": state, "visit": visit}
        if "machine" not in what:
            number = len(self.tasks) + 1
            row = {"id": number, "run": run.id, "job": job, **where, "input": given, "attempt": 0}
            self.tasks[number] = Row(
                row, status="queued", lost=0, emitted=0, lease=None, ends=None, what=what
            )
            self.log(run, "task_queued", task=number, job=job, **where)
            return
        child, path = run_id("child", run.id, state, visit, job), what["machine"]
        level, above = 0, run
        while above.parent:
            level, above = level + 1, self.runs[above.parent]
        if level >= LEVELS or len(self.runs) - self.runs_before >= self.most_runs:
            ev = self.finished(run, (state, visit), job, None, "…")
            self.left_of(run).starts.append(("event", run.id, ev))
            return
        name = self.document["machines"][path]["statechart"]
        self.log(run, "branch_started", run=child, machine=name, job=job, **where)
        self.begin(child, path, given, "parent", parent=run.id, job=job, place=(state, visit))
        start = self.event("start", given, "parent")
        self.left_of(run).starts.append(("start", child, start))

    def begin(self, name, path, given, by, key=None, **more):
        blank = {
            "id": name,
            "machine": path,
            "input": given,
            "key": key,
            "parent": None,
            "job": None,
        }
        blank |= {"status": "active", "path": [], "visits": {}, "outputs": {}, "output": None}
        blank |= {
            "error": None,
            "kept": [],
            "joins": {},
            "seq": 0,
            "paused_at": None,
            "place": None,
        }
        run = self.runs[name] = Row(blank, entering={}, gone={})
        run.update({each: more[each] for each in ("parent", "job", "place") if each in more})
        self.ledger[name] = []
        chart = self.chart(run)["statechart"]
        told = {"input": given, "graph": "…", "machine": chart, "by": by}
        told |= {"key": key} if key is not None else {}
        told |= {each: more[each] for each in ("parent", "job", "sender", "send") if each in more}
        self.log(run, "started", **told)
        return run

    def send(self, run, state, sends, ev, entered):
        run.entering = run.gone  # tickets of states that were just left can still be read
        for each in sends:
            to, data = each["to"], self.built(run, state, ev, each.get("data"))
            shown = to
            if isinstance(to, dict):
                key = self.value(run, state, ev, to["key"])
                if not isinstance(key, str) or not key:
                    raise Failed("expression")
                shown = {**to, "key": key}
            told = {"to": shown, "event": each["event"], "data": data, "state": state}
            if to == "parent" and not run.parent:
                self.log(run, "sent", **told, delivery="recorded")
                continue
            seq = self.log(run, "sent", **told)
            source = run.id if isinstance(to, dict) else run.job if to == "parent" else "parent"
            event = self.event(each["event"], data, source, sender=run.id, send=seq)
            post = Row(send=seq, to=shown, event=event, sender=run.id)
            if isinstance(to, dict):
                self.left_of(run).keyed.append(post)
            elif to == "parent":
                self.left_of(run).sends.append(("parent", run.id, post))
            else:
                states = dict(self.all_states(self.chart(run)["states"]))
                (home,) = [
                    name
                    for name, there in states.items()
                    if "machine" in self.jobs(name, there).get(to, {})
                ]
                visit = entered.get(home) or run.visits.get(home, 0)
                post.child = run_id("child", run.id, home, visit, to)
                self.left_of(run).sends.append(("child", run.id, post))
        run.entering = {}

    # ── ends ────────────────────────────────────────────────────────────

    def end_in(self, run, name, state, ev):
        output = self.built(run, name, ev, state.get("output"))
        if len(run.path) == 1:
            run.output = output
            if state["end"] == "done":
                return self.end(run, "completed", output=output)
            return self.fail(run, "ended", f"ended in {name}", output=output)
        around = run.path[-2][0]
        run.outputs[name] = run.outputs[around] = output
        raised = self.event("done", output, around)
        if state["end"] == "failed":
            error = f"ended in {name}"
            data = {"status": "failed", "error": error, "output": output}
            raised = self.event("failed", data, around, fails=("ended", error))
        self.left_of(run).raised.append(raised)

    def fail(self, run, code, reason, **output):
        self.end_work(run, None, "…")
        run.error = (code, reason)
        self.end(run, "failed", code=code, reason=reason, **output)

    def end(self, run, status, **told):
        for ev in run.kept:
            self.tell(run, "event_dropped", ev, reason="ended")
        run.kept = []
        self.log(run, status, **told)
        run.status = status

    def end_work(self, run, place, reason):
        """End the work of one active state, or of all of them."""
        for task in self.tasks.values():
            mine = task.run == run.id and task.status in ("queued", "claimed")
            if mine and place in (None, (task.state, task.visit)):
                task.update(status="cancelled", lease=None, ends=None)
                self.log(run, "task_cancelled", task=task.id)
        for row in [*self.timers.values(), *self.tickets]:
            if row.run == run.id and place in (None, (row.state, row.visit)):
                gone = {"pending": "cancelled", "open": "void"}
                row.status = gone.get(row.status, row.status)
        for child in [*self.runs.values()]:
            mine = child.parent == run.id and child.status in LIVE
            if mine and place in (None, child.place):
                self.stop(child, reason)

    def stop(self, run, reason=None):
        for ev in [each for each in self.held if each.run == run.id and run.status == "paused"]:
            self.held.remove(ev)
            self.tell(run, "event_dropped", ev.event, reason="ended")
        for ev in run.kept:
            self.tell(run, "event_dropped", ev, reason="ended")
        run.kept = []
        self.end_work(run, None, "…")
        self.end(run, "cancelled", **({"reason": reason} if reason else {}))
