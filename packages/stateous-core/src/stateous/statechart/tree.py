"""One chart in its normal form, read: its head and the tree of its states.

`docs/spec/statechart.md` 1.1, 1.2 and 2. What has the wrong form is found here; the facts that the
other rules are about are noted on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from stateous.json import Json, JsonObject
from stateous.limits import MAX_NESTED_STATES
from stateous.statechart.document import (
    KIND,
    ChartState,
    End,
    FinalSpec,
    InputSpec,
    InputType,
    Inside,
    JobSpec,
    MachineSpec,
    NamedJobs,
    OneJob,
    Path,
    StateSpec,
    TransitionSpec,
    Waits,
    Work,
)
from stateous.statechart.facts import Facts, Findings, Named, Value
from stateous.statechart.fields import (
    ENDS,
    FINAL,
    INPUT_TYPES,
    NO_RULE,
    STATE,
    WORK,
    chart_name,
    event_name,
    filled_list,
    mapping,
    near,
    part_name,
    shown,
    text,
    unknown_fields,
)
from stateous.statechart.jobs import read_job, read_named_job
from stateous.statechart.schemas import schema_problem
from stateous.statechart.sends import Sends
from stateous.statechart.timers import read_timer


class ChartReader:
    """The reader of one chart; ``facts`` are complete once it has read."""

    def __init__(self, path: Path, findings: Findings) -> None:
        self.facts = Facts(path)
        self._findings = findings

    def read(self, raw: JsonObject, machine: str) -> MachineSpec | None:
        """The chart with the path ``machine``; None when it cannot be used."""
        path = self.facts.path
        name = None
        if KIND not in raw:
            self._findings.add("bad-value", path, f"a chart needs {KIND!r}, its name")
        else:
            name = chart_name(raw[KIND], (*path, KIND), self._findings)
        declared = self._input(raw["input"]) if "input" in raw else None
        events = self._events(raw["events"]) if "events" in raw else None
        inside = self._inside(raw, path, "a chart")
        if name is None or inside is None:
            return None
        return MachineSpec(machine, name, declared, events, inside.initial, inside.states)

    def _input(self, value: Json) -> Mapping[str, InputSpec]:
        path = (*self.facts.path, "input")
        raw = mapping(value, path, "'input'", self._findings)
        if raw is None:
            return {}
        self.facts.input = frozenset(raw)
        read = {name: self._input_type(name, each, (*path, name)) for name, each in raw.items()}
        return {name: each for name, each in read.items() if each is not None}

    def _input_type(self, name: str, value: Json, path: Path) -> InputSpec | None:
        word = value.removesuffix("?") if isinstance(value, str) else value
        if word in INPUT_TYPES:
            return InputSpec(name, cast(InputType, word), optional=word != value)
        known = f"{', '.join(INPUT_TYPES[:-1])} and {INPUT_TYPES[-1]}"
        self._findings.add(
            "bad-type", path, f"{shown(value)} is no type of an input; those are {known}"
        )
        return None

    def _events(self, value: Json) -> Mapping[str, dict[str, Json] | bool]:
        path = (*self.facts.path, "events")
        raw = mapping(value, path, "'events'", self._findings)
        if raw is None:
            return {}
        self.facts.events = frozenset(raw)
        for name, schema in raw.items():
            event_name(name, (*path, name), "a declared event", self._findings)
            self.facts.event_entries.append(Named(name, (*path, name), self.facts.path))
            wrong = schema_problem(schema)
            if wrong is not None:
                self._findings.add("bad-type", (*path, name), wrong)
        # Empty means anything, in whichever way it is written.
        schemas = {name: True if schema is None else schema for name, schema in raw.items()}
        return {name: each for name, each in schemas.items() if isinstance(each, dict | bool)}

    def _inside(self, raw: JsonObject, path: Path, what: str) -> Inside | None:
        """``states`` and ``initial`` of a chart, or of a state with states."""
        value = raw.get("states")
        if value is None or value == {}:
            self._findings.add("no-states", path, f"{what} needs 'states', at least one")
            return None
        states_path = (*path, "states")
        states = mapping(value, states_path, "'states'", self._findings)
        if states is None:
            return None
        if (len(states_path) - len(self.facts.path) + 1) // 2 == MAX_NESTED_STATES + 1:
            self._findings.add(
                "too-large", states_path, f"states nest at most {MAX_NESTED_STATES} levels deep"
            )
        initial = self._initial(raw, states, path, what)
        read = {
            name: self._state(name, each, (*states_path, name)) for name, each in states.items()
        }
        usable = {name: state for name, state in read.items() if state is not None}
        return None if initial is None else Inside(initial, usable)

    def _initial(self, raw: JsonObject, states: JsonObject, path: Path, what: str) -> str | None:
        if "initial" not in raw:
            self._findings.add(
                "missing-initial",
                path,
                f"{what} with states needs 'initial', the state that is entered first",
            )
            return None
        place = (*path, "initial")
        initial = text(raw["initial"], place, "'initial'", self._findings)
        if initial is not None and initial not in states:
            self._findings.add(
                "unknown-initial",
                place,
                f"{shown(initial)} is no state directly inside{near(initial, states)}",
            )
        return initial

    def _state(self, name: str, value: Json, path: Path) -> ChartState | None:
        part_name(name, path, "a state", self._findings)
        self.facts.states.append(Named(name, path, path))
        raw = mapping(value, path, f"the state {shown(name)}", self._findings)
        if raw is None:
            return None
        unknown_fields(raw, (*STATE, *FINAL), path, "a state", self._findings)
        if "output" in raw:
            self.facts.values.append(Value(raw["output"], (*path, "output"), path))
        if "end" in raw:
            return self._final(name, raw, path)
        if "output" in raw:
            self._findings.add(
                "final-fields", (*path, "output"), "only a final, a state with 'end', has 'output'"
            )
        return self._going_on(name, raw, path)

    def _final(self, name: str, raw: JsonObject, path: Path) -> FinalSpec | None:
        more = [key for key in raw if key in STATE]
        if more:
            self._findings.add(
                "final-fields",
                (*path, more[0]),
                f"a final has 'end' and 'output' only, not {', '.join(map(repr, more))}",
            )
        end = raw["end"]
        if end not in ENDS:
            self._findings.add(
                "bad-end", (*path, "end"), f"'end' must be 'done' or 'failed', not {shown(end)}"
            )
            return None
        return FinalSpec(name, path, cast(End, end), raw.get("output"))

    def _going_on(self, name: str, raw: JsonObject, path: Path) -> StateSpec:
        sends = Sends(path, self.facts, self._findings)
        return StateSpec(
            name=name,
            path=path,
            ticket=self._ticket(raw, path),
            timers=tuple(
                timer
                for at, each in enumerate(self._listed(raw, path, "timers"))
                if (
                    timer := read_timer(
                        each, (*path, "timers", at), path, self.facts, self._findings
                    )
                )
                is not None
            ),
            defer=self._defer(raw, path),
            entry=sends.sends(raw["entry"], (*path, "entry")) if "entry" in raw else (),
            exit=sends.sends(raw["exit"], (*path, "exit"), on_exit=True) if "exit" in raw else (),
            on=self._on(raw, path, sends),
            work=self._work(name, raw, path),
        )

    def _work(self, name: str, raw: JsonObject, path: Path) -> Work:
        several = [key for key in WORK if key in raw]
        if len(several) > 1:
            self._findings.add(
                "bad-combination",
                path,
                f"a state has one of 'job', 'jobs' and 'states', not {' and '.join(several)}",
            )
        if "initial" in raw and "states" not in raw:
            self._findings.add(
                "bad-combination", (*path, "initial"), "'initial' goes with 'states', and not alone"
            )
        job = self._job(name, raw["job"], path) if "job" in raw else None
        jobs = self._jobs(raw["jobs"], path) if "jobs" in raw else ()
        inside = self._inside(raw, path, f"the state {shown(name)}") if "states" in raw else None
        if job is not None:
            return OneJob(job)
        return NamedJobs(jobs) if jobs else inside or Waits()

    def _job(self, name: str, value: Json, path: Path) -> JobSpec | None:
        return read_job(value, (*path, "job"), name, path, self.facts, self._findings)

    def _jobs(self, value: Json, path: Path) -> tuple[JobSpec, ...]:
        place = (*path, "jobs")
        if value == []:
            self._findings.add("empty-jobs", place, "'jobs' needs at least one job")
            return ()
        read = [
            read_named_job(each, (*place, at), path, self.facts, self._findings)
            for at, each in enumerate(filled_list(value, place, "'jobs'", self._findings))
        ]
        return tuple(job for job in read if job is not None)

    def _ticket(self, raw: JsonObject, path: Path) -> str | None:
        if "ticket" not in raw:
            return None
        place = (*path, "ticket")
        ticket = event_name(raw["ticket"], place, "a ticket", self._findings)
        if ticket is not None:
            self.facts.tickets.append(Named(ticket, place, path))
        return ticket

    def _listed(self, raw: JsonObject, path: Path, field: str) -> list[Json]:
        if field not in raw:
            return []
        return filled_list(raw[field], (*path, field), f"'{field}'", self._findings)

    def _defer(self, raw: JsonObject, path: Path) -> tuple[str, ...]:
        names = []
        for at, each in enumerate(self._listed(raw, path, "defer")):
            place = (*path, "defer", at)
            name = event_name(each, place, "a deferred event", self._findings)
            if name is not None:
                names.append(name)
                self.facts.deferred.append(Named(name, place, path))
        return tuple(names)

    def _on(
        self, raw: JsonObject, path: Path, sends: Sends
    ) -> Mapping[str, tuple[TransitionSpec, ...]]:
        if "on" not in raw:
            return {}
        rules = mapping(raw["on"], (*path, "on"), "'on'", self._findings)
        if rules == {}:
            self._findings.add("bad-value", (*path, "on"), "'on' has no event")
        on = {}
        for event, value in (rules or {}).items():
            place = (*path, "on", event)
            part_name(event, place, "an event", self._findings)
            if event in NO_RULE:
                self._findings.add("reserved-event", place, f"no rule can be for {event!r}")
            self.facts.rules.append(Named(event, place, path))
            on[event] = sends.transitions(value, place)
        return on
