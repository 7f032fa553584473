"""A naive model of runs, what a chart says: a second reading of `docs/spec/statechart.md`.

It shares no code with the engine, and works on plain dicts. Expressions are callables that stand
beside their texts.
"""

import hmac
from base64 import b32encode, urlsafe_b64encode
from hashlib import sha256


class Row(dict):
    """A dict whose members can be written with a dot."""

    __setattr__ = dict.__setitem__

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(name)


class Failed(Exception):
    """An expression or a time of a step has failed."""


def run_id(*parts):
    digest = sha256("\n".join(map(str, parts)).encode()).digest()
    return "run-" + b32encode(digest[:10]).decode().lower()


class Charts:
    """What the charts of a document say, and what their expressions give."""

    def chart(self, run):
        path = run["machine"]
        return self.document if path == "." else self.document["machines"][path]

    def way(self, chart, name, states=None):
        """The path to a state, as (name, state) pairs from the outside in."""
        for each, state in (chart["states"] if states is None else states).items():
            if each == name:
                return [(each, state)]
            below = self.way(chart, name, state.get("states", {}))
            if below:
                return [(each, state), *below]
        return []

    def all_states(self, states):
        for name, state in states.items():
            yield name, state
            yield from self.all_states(state.get("states", {}))

    def state(self, run, name):
        return self.way(self.chart(run), name)[-1][1]

    def jobs(self, name, state):
        if "job" in state:
            return {name: state["job"]}
        return {job["job"]: job for job in state.get("jobs", [])}

    def kind(self, run, name, event):
        """Whose rule it is that stands under `event` in the state `name`."""
        chart = self.chart(run)
        states = dict(self.all_states(chart["states"]))
        if event in [state.get("ticket") for state in states.values()]:
            return "ticket"
        near = [each for each, _ in self.way(chart, name)]
        near += [each for each in states if name in [n for n, _ in self.way(chart, each)]]
        timers = [t["timer"] for each in near for t in states[each].get("timers", [])]
        return "timer" if event in timers else "plain"

    # ── expressions ─────────────────────────────────────────────────────

    def value(self, run, place, ev, given, own=True):
        """What a value with expressions is, read in the state `place`."""
        if isinstance(given, dict):
            return {k: self.value(run, place, ev, each, own) for k, each in given.items()}
        if isinstance(given, list):
            return [self.value(run, place, ev, each, own) for each in given]
        return self.formula(run, place, ev, given, own) if given in self.formulas else given

    def built(self, run, place, ev, given):
        """A value that goes into a send, a job or an output: 64 levels deep at most."""
        value = self.value(run, place, ev, given)
        level, levels = [value], 0
        while level:
            level = [each for each in level if isinstance(each, list | dict)]
            levels += bool(level)
            level = [m for e in level for m in (e.values() if isinstance(e, dict) else e)]
        if levels > 64:
            raise Failed("too_large")
        return value

    def formula(self, run, place, ev, text, own=True):
        way = self.way(self.chart(run), place)
        visits = run.entering | {each[0]: each[1] for each in run.path}
        names = [(n, s["ticket"]) for n, s in (way if own else way[:-1]) if "ticket" in s]
        scope = Row(
            input=run.input,
            run={"id": run.id, "key": run.key},
            states=lambda name: run.outputs.get(name),
            tickets={t: self.ticket(run, n, visits[n], t) for n, t in names},
            event={"name": ev.name, "data": ev.data, "from": ev["from"]},
        )
        try:
            return self.formulas[text](scope)
        except (KeyError, TypeError) as error:
            raise Failed("expression") from error

    def ticket(self, run, state, visit, ticket):
        told = f"ticket\n{run.id}\n{state}\n{visit}\n{ticket}".encode()
        code = hmac.new(self.key, told, "sha256").digest()
        return "tk_" + urlsafe_b64encode(code).decode().rstrip("=")

    def public(self, value):
        return "tid_" + sha256(value.encode()).hexdigest()[:16]
