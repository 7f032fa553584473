"""A naive model of runs, section 14: a second reading of `docs/spec/statechart.md`.

It shares no code with the engine, and works on plain dicts. A step is simply done; when an expression in it
fails, everything is put back as it was.
"""

# ruff: noqa: RET503
from tests.property.naive_chart import Failed, Row
from tests.property.naive_work import LIVE, Work

KEPT = 100


def copied(value):
    """A copy of rows and what is in them that later steps do not change."""
    if isinstance(value, dict):
        made = type(value)()
        made.update((key, copied(member)) for key, member in value.items())
        return made
    return [copied(member) for member in value] if isinstance(value, list) else value


class Steps(Work):
    """The agenda of a command, and the steps that it makes runs do."""

    def command(self, run, what, ev):
        self.agenda, self.steps, self.mine, result = [(what, run.id, ev)], {}, {}, None
        while self.agenda:
            what, name, ev = self.agenda.pop(0)
            got = getattr(self, f"do_{what}")(self.runs.get(name), ev)
            result = result or got
        return result

    def do_start(self, run, ev):
        if run.status != "active":
            return
        first = self.chart(run)["initial"]
        self.step(run, ev, lambda: self.enter(run, first, 0, ev))
        self.settle(run)

    def do_event(self, run, ev):
        if run.status == "active" and (ev.place is None or ev.place in self.places(run)):
            result = self.offer(run, ev)
            self.settle(run)
            return result or "taken"

    def do_child(self, run, post):
        child = self.runs.get(post.child)
        if child is None or child.status != "active":
            return self.undelivered(run, post, "not_running")
        self.arrive(child, post.event)

    def do_parent(self, run, post):
        parent = self.runs[run.parent]
        if parent.status != "active" or run.place not in self.places(parent):
            return self.undelivered(run, post, "left")
        self.arrive(parent, post.event)

    def arrive(self, run, ev):
        if self.declared(run, ev):
            self.offer(run, ev)
            self.settle(run)

    def do_finished(self, child, _):
        parent = self.runs[child.parent]
        if parent.status != "active" or child.place not in self.places(parent):
            return
        data = {"run": child.id, "job": child.job, "status": child.status, "output": child.output}
        self.log(parent, "branch_ended", **data)
        error = None if child.status == "completed" else child.error[1]
        ev = self.finished(parent, child.place, child.job, child.output, error)
        if ev:
            self.offer(parent, ev)
            self.settle(parent)

    def undelivered(self, run, post, reason):
        to = {"send": post.send, "to": post.to, "event": post.event.name}
        self.log(run, "undelivered", **to, reason=reason)

    def finished(self, run, place, job, output, error=None, status="failed"):
        """The event that a finished job raises, if any."""
        name = place[0]
        state = self.state(run, name)
        joined = run.joins.setdefault(name, {})
        joined[job] = "failed" if error is not None else [output]
        if error is not None:
            data = {"status": status, "error": error, "output": output}
            fails = ("job", f"the job {job} failed: {error}")
            return self.event("failed", data, job, fails=fails, place=place)
        if "job" in state:
            return self.event("done", output, name, jobs_done=name, place=place)
        names = [each["job"] for each in state["jobs"]]
        if all(isinstance(joined.get(each), list) for each in names):
            data = {each: joined[each][0] for each in names}
            return self.event("done", data, name, jobs_done=name, place=place)

    def settle(self, run):
        mine = self.left_of(run)
        while run.status == "active":
            if mine.raised:
                self.offer(run, mine.raised.pop(0))
                continue
            due = [ev for ev in run.kept if not self.defers(run, ev) or self.rule(run, ev)[0]]
            if not due:
                break
            run.kept.remove(due[0])
            self.offer(run, due[0])
        self.agenda += [*mine.starts, *mine.sends]
        self.outbox += mine.keyed
        mine.update(starts=[], sends=[], keyed=[])
        if run.parent and run.status not in LIVE:
            self.agenda.append(("finished", run.id, None))

    def left_of(self, run):
        return self.mine.setdefault(run.id, Row(raised=[], starts=[], sends=[], keyed=[]))

    def places(self, run):
        return [(each[0], each[1]) for each in run.path]

    def defers(self, run, ev):
        plain = ev.kind == "plain" and ev.name not in ("done", "failed")
        return plain and any(
            ev.name in self.state(run, name).get("defer", []) for name, *_ in run.path
        )

    def rule(self, run, ev):
        """The state and rule that take `ev`, with the notes that looking for them makes."""
        notes = []
        for name, *_ in reversed(run.path):
            rules = self.state(run, name).get("on", {}).get(ev.name, [])
            if self.kind(run, name, ev.name) != ev.kind:
                continue
            for number, rule in enumerate(rules):
                if "when" not in rule:
                    return (name, rule), notes
                try:
                    holds = self.formula(run, name, ev, rule["when"])
                except Failed:
                    holds = "…"
                if holds is True:
                    return (name, rule), notes
                if holds is not False:
                    notes.append({"state": name, "event": ev.name, "transition": number})
        return None, notes

    def offer(self, run, ev):
        self.steps[run.id] = self.steps.get(run.id, 0) + 1
        if self.steps[run.id] > self.most_steps:
            return self.fail(run, "loop", "…")
        if ev.jobs_done:
            run.outputs[ev.jobs_done] = ev.data
        found, notes = self.rule(run, ev)
        for note in notes:
            self.log(run, "note", about="condition", **note, text="…")
        if found:
            return self.take(run, ev, *found)
        if ev.fails:
            return self.fail(run, *ev.fails)
        if self.defers(run, ev) and len(run.kept) < KEPT:
            seq = self.tell(run, "event_kept", ev)
            run.kept.append(Row(ev, again=seq, kept=True, key=None))
            return "kept"
        reason = "full" if self.defers(run, ev) else "not_deferred" if ev.kept else "no_rule"
        self.tell(run, "event_dropped", ev, reason=reason)
        return "dropped"

    def take(self, run, ev, name, rule):
        go = {"go": rule["go"]} if "go" in rule else {}
        self.tell(run, "event_accepted", ev, state=name, **go)
        self.step(run, ev, lambda: self.go(run, name, rule, ev))
        return "taken"

    def step(self, run, ev, do):
        """Do it, or undo all of it and let the run fail."""
        everything = ("runs", "tasks", "timers", "ledger", "tickets", "outbox", "mine")
        before = {name: copied(self.__dict__[name]) for name in everything if name != "ledger"}
        # A ledger grows, and its entries never change: a thousand steps copy no thousand of them.
        before["ledger"] = {run: list(entries) for run, entries in self.ledger.items()}
        try:
            do()
        except Failed as failed:
            for name in ("runs", "ledger", "mine"):  # in place: others hold on to these
                for each, row in before[name].items():
                    now = self.__dict__[name][each]
                    now.clear()
                    now.update(row) if isinstance(row, dict) else now.extend(row)
                for each in [e for e in self.__dict__[name] if e not in before[name]]:
                    del self.__dict__[name][each]
            for name in ("tasks", "timers", "tickets", "outbox"):
                self.__dict__[name] = before[name]
            self.fail(run, str(failed), "…")

    def go(self, run, name, rule, ev):
        if "go" not in rule:
            return self.send(run, name, rule.get("send", []), ev, {})
        chart = self.chart(run)
        target = [each for each, _ in self.way(chart, rule["go"])]
        source = [each for each, _ in self.way(chart, name)]
        if name in target[:-1]:
            stays = source
        else:
            stays = [each for each in source[:-1] if each in target[:-1]]
        entered = self.below(run, rule["go"], len(stays))
        while len(run.path) > len(stays):
            state, visit, _ = run.path[-1]
            self.send(run, state, self.state(run, state).get("exit", []), ev, entered)
            self.end_work(run, (state, visit), f"the parent left {state!r}")
            run.joins.pop(state, None)
            self.log(run, "left", state=state, visit=visit)
            run.path.pop()
            run.gone[state] = visit
        self.send(run, name, rule.get("send", []), ev, entered)
        self.enter(run, rule["go"], len(stays), ev)
        run.gone = {}

    def below(self, run, target, kept):
        """The states to enter, each with the visit that it will be."""
        names = [each for each, _ in self.way(self.chart(run), target)][kept:]
        while "initial" in self.state(run, names[-1]):
            names.append(self.state(run, names[-1])["initial"])
        return {each: run.visits.get(each, 0) + 1 for each in names}

    def enter(self, run, target, kept, ev):
        entered = self.below(run, target, kept)
        for name, visit in entered.items():
            state = self.state(run, name)
            run.visits[name] = visit
            run.path.append((name, visit, self.now))
            self.log(run, "entered", state=name, visit=visit)
            if "end" in state:
                return self.end_in(run, name, state, ev)
            for timer in state.get("timers", []):
                self.start_timer(run, name, visit, timer, ev)
            if "ticket" in state:
                value = self.ticket(run, name, visit, state["ticket"])
                ticket = Row(run=run.id, state=name, visit=visit, ticket=state["ticket"])
                self.tickets.append(Row(ticket, value=value, status="open"))
                told = {"ticket": state["ticket"], "state": name, "id": self.public(value)}
                self.log(run, "ticket_issued", **told)
            self.send(run, name, state.get("entry", []), ev, entered)
            for job, what in self.jobs(name, state).items():
                given = self.built(run, name, ev, what.get("input"))
                self.start_job(run, name, visit, job, what, given)
