"""Random charts in their normal form, with the expressions that stand in them as callables.

States nest up to four deep. Everything of the language occurs: jobs of each kind, tickets, timers of
each kind, deferral, sends to everyone, finals inside and outside.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import strategies as st

Document: TypeAlias = dict[str, Any]

EVENTS = ("x", "y", "z")
DEPTH = 4
KEYS = ("k1", "k2")

#: Conditions; what they do with data that they cannot read is CEL's and Python's alike.
CONDITIONS: dict[str, Any] = {
    "event.data > 1": lambda s: s.event["data"] > 1,
    "event.data.n > 1": lambda s: s.event["data"]["n"] > 1,
    "event.data == 2": lambda s: s.event["data"] == 2,
    "event.from == 'client'": lambda s: s.event["from"] == "client",
    "event.data": lambda s: s.event["data"],
    "input.n > 1": lambda s: s.input["n"] > 1,
    "run.key == null": lambda s: s.run["key"] is None,
}
#: Values, as texts or inside lists and maps.
VALUES: dict[str, Any] = {
    "${event.data}": lambda s: s.event["data"],
    "${event}": lambda s: s.event,
    "${event.data.n}": lambda s: s.event["data"]["n"],
    "${input.n}": lambda s: s.input["n"],
    "${run.id}": lambda s: s.run["id"],
    "${run.key}": lambda s: s.run["key"],
}
#: Times that an expression gives.
TIMES: dict[str, Any] = {
    "input.t": lambda s: s.input["t"],
    "event.data": lambda s: s.event["data"],
}


def formulas(document: Document) -> dict[str, Any]:
    """Every expression that can stand in ``document``, as a callable on a scope."""
    found = {**CONDITIONS, **VALUES, **TIMES}
    for chart in (document, *document["machines"].values()):
        for name, state in all_states(chart["states"]):
            found[f"${{states.{name}.output}}"] = lambda s, name=name: s.states(name)
            if "ticket" in state:
                ticket = state["ticket"]
                found[f"${{tickets.{ticket}}}"] = lambda s, ticket=ticket: s.tickets[ticket]
    return found


def all_states(states: Document) -> list[tuple[str, Document]]:
    """All states of a tree with their names."""
    found = []
    for name, state in states.items():
        found += [(name, state), *all_states(state.get("states", {}))]
    return found


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A chart with up to two machines, one of which the other may name."""
    machines: Document = {}
    for path in ("n.yaml", "m.yaml")[: draw(st.integers(0, 2))]:
        machines[path] = draw(charts(path[0], tuple(machines), size=4))
    top = draw(charts("top", tuple(machines), size=8))
    sources = {"s.js": "return 1"}
    return {"stateous": 1, **top, "scripts": sources, "machines": machines}


@st.composite
def charts(draw: st.DrawFn, name: str, machines: tuple[str, ...], size: int) -> Document:
    """One chart of about ``size`` states; those of a machine have its name in theirs."""
    names = [f"{name}_{number}" for number in range(draw(st.integers(2, size)))]
    tree: Document = {}
    outer: dict[str, list[str]] = {}
    for each in names:
        # Later states stand in the tree or inside earlier ones.
        inner = [each for each in outer if len(outer[each]) < DEPTH - 1]
        home = draw(st.sampled_from([None, None, *inner, *inner]))
        outer[each] = [] if home is None else [*outer[home], home]
        there = tree
        for step in outer[each]:
            there = there[step].setdefault("states", {})
        there[each] = {}
    declared = draw(st.integers(1, 4)) == 1
    maker = Maker(draw, dict(all_states(tree)), outer, machines, declared, name != "top")
    for each in names:
        maker.fill(each)
    events = {"events": {event: {} for event in (*EVENTS, *maker.tickets)}} if declared else {}
    return {"statechart": name, **events, "initial": draw(st.sampled_from([*tree])), "states": tree}


class Maker:
    """Fills the states of a tree."""

    def __init__(
        self,
        draw: Any,
        states: dict[str, Document],
        outer: dict[str, list[str]],
        machines: tuple[str, ...],
        declared: bool,
        inner: bool,
    ) -> None:
        self.draw, self.states, self.outer, self.machines = draw, states, outer, machines
        self.declared, self.inner = declared, inner
        inside = {home for homes in outer.values() for home in homes}
        leaves = [name for name in states if name not in inside]
        self.finals = {n for n in leaves if self.some(1, 3) and len(leaves) > 1}
        waiting = [name for name in states if name not in self.finals]
        if not waiting:
            self.finals.discard(leaves[0])
            waiting = [leaves[0]]
        self.tickets = {f"ask_{name}": name for name in waiting if self.some(1, 3)}
        self.jobs = {name: self.some_jobs(name) for name in waiting if name not in inside}
        self.timers = {name: self.some_timers(name, name in inside) for name in waiting}
        self.children = {
            job["job"]: name for name, jobs in self.jobs.items() for job in jobs if "machine" in job
        }

    def some(self, of: int, many: int) -> bool:
        return bool(self.draw(st.integers(1, many)) <= of)

    def one(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    # ── what the names are ──────────────────────────────────────────────

    def some_jobs(self, name: str) -> list[Document]:
        count = self.one(0, 0, 1, 1, 2, 3)
        jobs = []
        for number in range(count):
            kinds = [{"script": "s.js"}, {"script": "s.js"}, {"routine": "work"}]
            kinds += [{"machine": path} for path in self.machines for _ in range(2)]
            job = {"job": name if count == 1 else f"job_{name}_{number}", **self.one(*kinds)}
            if "machine" not in job:
                job |= self.one({}, {}, {"retries": 1}, {"timeout": "1m"}, {"retries": 2})
            jobs.append(job)
        return jobs

    def some_timers(self, name: str, inside: bool) -> list[Document]:
        # Leaves may have a timer of the same name, which means another thing in other states.
        names = [f"due_{name}", *([] if inside else ["late"])]
        times: list[Document] = [
            {"text": "30s", "after": 30},
            {"text": "5m", "after": 300},
            {"text": "18:00", "at": "18:00", "zone": "UTC"},
        ]
        if not self.inner:
            times.append({"text": "${input.t}", "from": "input.t"})
        if self.some(1, 20):
            times.append({"text": "${event.data}", "from": "event.data"})
        return [{"timer": each, **self.one(*times)} for each in names if self.some(1, 3)]

    # ── one state ───────────────────────────────────────────────────────

    def fill(self, name: str) -> None:
        state = self.states[name]
        if name in self.finals:
            state["end"] = self.one("done", "done", "failed")
            if self.some(2, 3):
                state["output"] = self.value(name)
            return
        if "states" in state:
            state["initial"] = self.one(*state["states"])
        jobs = self.jobs.get(name, [])
        for job in jobs:
            if self.some(1, 2):
                job["input"] = self.value(name)
        if len(jobs) == 1:
            state["job"] = {key: each for key, each in jobs[0].items() if key != "job"}
        elif jobs:
            state["jobs"] = jobs
        tickets = [ticket for ticket, home in self.tickets.items() if home == name]
        if tickets:
            state["ticket"] = tickets[0]
        if self.timers[name]:
            state["timers"] = self.timers[name]
        if self.some(1, 3):
            state["defer"] = sorted({self.one(*EVENTS), self.one(*EVENTS)})
        if self.some(1, 4):
            state["entry"] = self.sends(name, exit=False)
        if self.some(1, 4):
            state["exit"] = self.sends(name, exit=True)
        on = {event: self.rules(name) for event in self.heard(name)}
        if on:
            state["on"] = on

    def heard(self, name: str) -> list[str]:
        """The events that the state has rules for."""
        family = [each for each in self.states if name in (each, *self.outer[each])]
        family += self.outer[name]
        timers = {timer["timer"] for each in family for timer in self.timers.get(each, [])}
        likely = [*EVENTS, "failed", "done", "done"]
        likely += [t for t, home in self.tickets.items() if home in family]
        wanted = {event for event in [*likely, *sorted(timers)] if self.some(1, 2)}
        # Where no timer of that name can be heard it is an event like any other.
        return sorted(wanted | ({"late"} if not self.declared and self.some(1, 8) else set()))

    def rules(self, name: str) -> list[Document]:
        rules: list[Document] = []
        for _ in range(self.one(1, 1, 1, 2, 3)):
            rule: Document = {}
            if self.some(3, 4):
                rule["go"] = self.one(*self.states)
            if self.some(1, 3):
                rule["when"] = self.one(*CONDITIONS)
            if self.some(1, 4):
                rule["send"] = self.sends(name, exit=False)
            rules.append(rule)
        return rules

    def sends(self, name: str, *, exit: bool) -> list[Document]:
        return [self.a_send(name, exit) for _ in range(self.one(1, 1, 2))]

    def a_send(self, name: str, exit: bool) -> Document:
        children = [job for job, home in self.children.items() if not (exit and home == name)]
        receivers: list[Any] = ["parent", *children, *children]
        receivers += [{"key": key} for key in KEYS]
        receivers += [{"machine": path, "key": KEYS[1]} for path in self.machines[:1]]
        if self.some(1, 12):
            receivers.append({"key": "${event.data}"})
        made = {"to": self.one(*receivers), "event": self.one(*EVENTS)}
        return made | ({"data": self.value(name)} if self.some(2, 3) else {})

    def value(self, name: str) -> Any:
        tickets = [t for t, home in self.tickets.items() if home in (name, *self.outer[name])]
        texts = ["${event.data}", "${event}"] if self.some(5, 6) else [*VALUES]
        texts += [f"${{states.{self.one(*self.states)}.output}}"]
        texts += [f"${{tickets.{ticket}}}" for ticket in tickets]
        text = self.one(*texts)
        return self.one(text, text, [text, 1], {"n": text}, 2, "t", None)
