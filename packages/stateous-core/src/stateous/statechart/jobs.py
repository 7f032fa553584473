"""Jobs of a chart in their normal form, read (`docs/spec/statechart.md` 1.3)."""

from __future__ import annotations

from typing import Final, assert_never

from stateous.json import Json, JsonObject
from stateous.statechart.document import Child, JobSpec, Path, Routine, Script
from stateous.statechart.facts import Facts, Findings, Job, JobKind, Value
from stateous.statechart.fields import (
    JOB,
    NO_GRANT,
    WHAT_JOBS_DO,
    mapping,
    part_name,
    shown,
    unknown_fields,
)
from stateous.statechart.templates import has_expression
from stateous.statechart.times import BadTime, Length, read_time

#: Of one attempt, in seconds.
DEFAULT_TIMEOUT: Final = 300


def read_job(
    value: Json, path: Path, name: str, state: Path, facts: Facts, findings: Findings
) -> JobSpec | None:
    """The only job of a state, which is called ``name`` as the state is."""
    raw = mapping(value, path, "a job", findings)
    if raw is None:
        return None
    unknown_fields(raw, JOB, path, "a job", findings)
    return _Job(raw, path, facts, findings).read(name, state, alone=True)


def read_named_job(
    value: Json, path: Path, state: Path, facts: Facts, findings: Findings
) -> JobSpec | None:
    """One of the ``jobs`` of a state."""
    raw = mapping(value, path, "a job", findings)
    if raw is None:
        return None
    unknown_fields(raw, ("job", *JOB), path, "a job", findings)
    name = part_name(raw.get("job"), path, "a job", findings)
    return _Job(raw, path, facts, findings).read(name, state, alone=False)


class _Job:
    def __init__(self, raw: JsonObject, path: Path, facts: Facts, findings: Findings) -> None:
        self._raw = raw
        self._path = path
        self._facts = facts
        self._findings = findings

    def read(self, name: str | None, state: Path, *, alone: bool) -> JobSpec | None:
        raw = self._raw
        if "input" in raw:
            self._facts.values.append(Value(raw["input"], (*self._path, "input"), state))
        kind = self._kind()
        retries, timeout = self._retries(kind), self._timeout(kind)
        self._allow(kind)
        does = None if kind is None else self._does(kind)
        if name is not None and kind is not None:
            script = does.path if isinstance(does, Script) else None
            machine = does.machine if isinstance(does, Child) else None
            self._facts.jobs.append(Job(name, self._path, state, alone, kind, script, machine))
        if name is None or does is None:
            return None
        return JobSpec(name, self._path, does, raw.get("input"), retries, timeout)

    def _kind(self) -> JobKind | None:
        kinds = [kind for kind in WHAT_JOBS_DO if kind in self._raw]
        if len(kinds) == 1:
            return kinds[0]
        found = "has " + " and ".join(map(repr, kinds)) if kinds else "has none of them"
        self._wrong((), f"a job has one of 'script', 'machine' and 'routine'; this one {found}")
        return None

    def _does(self, kind: JobKind) -> Script | Child | Routine | None:
        named = self._raw[kind]
        if not isinstance(named, str) or not named:
            self._wrong((kind,), f"the {kind} of a job must be a text, not {shown(named)}")
            return None
        if has_expression(named):
            self._wrong((kind,), f"the {kind} of a job is fixed, not {shown(named)}")
            return None
        match kind:
            case "script":
                return Script(named)
            case "machine":
                return Child(named)
            case "routine":
                part_name(named, (*self._path, kind), "a routine", self._findings)
                return Routine(named)
            case _:
                assert_never(kind)

    def _retries(self, kind: JobKind | None) -> int:
        if "retries" not in self._raw:
            return 0
        retries = self._raw["retries"]
        if kind == "machine":
            self._wrong(("retries",), "a machine is not tried again: it has no 'retries'")
        elif type(retries) is not int or retries < 0:
            self._wrong(("retries",), f"'retries' must be 0 or more, not {shown(retries)}")
        else:
            return retries
        return 0

    def _timeout(self, kind: JobKind | None) -> int:
        if "timeout" not in self._raw:
            return DEFAULT_TIMEOUT
        timeout = self._raw["timeout"]
        if kind == "machine":
            self._wrong(("timeout",), "a machine has no 'timeout': give the state a timer")
        elif not isinstance(timeout, str):
            self._wrong(("timeout",), f"'timeout' must be a length as '5m', not {shown(timeout)}")
        else:
            try:
                length = read_time(timeout)
            except BadTime as error:
                self._wrong(("timeout",), str(error))
            else:
                if isinstance(length, Length):
                    return length.seconds
                self._wrong(
                    ("timeout",), f"'timeout' must be a length as '5m', not {shown(timeout)}"
                )
        return DEFAULT_TIMEOUT

    def _allow(self, kind: JobKind | None) -> None:
        if "allow" not in self._raw:
            return
        grants = self._raw["allow"]
        if kind not in ("script", None):
            self._wrong(("allow",), f"only a script has 'allow', not a {kind}")
        elif not isinstance(grants, list) or not grants:
            self._wrong(("allow",), f"'allow' must be a list of grants, not {shown(grants)}")
        else:
            for at, grant in enumerate(grants):
                if grant != NO_GRANT:
                    self._findings.add(
                        "unsupported-grant",
                        (*self._path, "allow", at),
                        f"the grant {shown(grant)} is not supported yet",
                    )

    def _wrong(self, steps: Path, sentence: str) -> None:
        self._findings.add("bad-job", (*self._path, *steps), sentence)
