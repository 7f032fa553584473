"""How jobs come out: the `done` or `failed` that a finished job raises (`docs/spec/statechart.md` 10).

A state with one job is done when that is. One with several is done when all of them are, with the
output of each by its name; each failure raises a `failed` of its own, and then no `done` comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stateous.graph.machine import JobsWork
from stateous.json import JsonText, write_json
from stateous.statechart.fields import DONE, FAILED
from stateous_controlplane.engine.conduct import AttemptFailure
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.leave import flow_of
from stateous_controlplane.engine.rows import Failure
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.values import NULL


def job_done(draft: Draft, run: str, state: str, job: str, output: JsonText) -> Occurrence | None:
    """The `done` of the state, when that is done with this job; the job's state is active."""
    work = flow_of(draft, run).states[state].work
    assert isinstance(work, JobsWork)
    if work.named:
        finished = _note(draft, run, state, job, output)
        joined = _joined(work, finished)
        if joined is None:
            return None
        output = joined
    return Occurrence(DONE, output, state, output_of=state)


def job_failed(draft: Draft, run: str, state: str, job: str, failure: AttemptFailure) -> Occurrence:
    """The `failed` of the job, whose state is active."""
    work = flow_of(draft, run).states[state].work
    assert isinstance(work, JobsWork)
    if work.named:
        _note(draft, run, state, job, None)
    return failed_event(
        job,
        JsonText.fields(status=failure.status, error=failure.error, output=failure.output or NULL),
    )


def failed_event(job: str, data: JsonText) -> Occurrence:
    """The `failed` of a job, with its data."""
    error = data.value["error"]
    return Occurrence(FAILED, data, job, failure=Failure("job", f"the job {job} failed: {error}"))


def _note(
    draft: Draft, run: str, state: str, job: str, output: JsonText | None
) -> Mapping[str, JsonText | None]:
    row = draft.token(run)
    finished = {**row.run_part.finished.get(state, {}), job: output}
    row.run = replace(row.run_part, finished={**row.run_part.finished, state: finished})
    return finished


def _joined(work: JobsWork, finished: Mapping[str, JsonText | None]) -> JsonText | None:
    outputs = [(name, finished.get(name)) for name in work.jobs]
    members = [f"{write_json(name)}:{each.text}" for name, each in outputs if each is not None]
    return JsonText("{" + ",".join(members) + "}") if len(members) == len(outputs) else None
