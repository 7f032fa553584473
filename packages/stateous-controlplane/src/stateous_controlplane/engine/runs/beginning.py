"""New runs: of a submit, of a parent's job, of a send to a key (`docs/spec/statechart.md` 3).

A run is there with its `started` entry before it enters its initial state, which is a step like
others and can fail.
"""

from __future__ import annotations

from typing import Final

from stateous.graph.machine import Child, Flow, Job
from stateous.json import Json, JsonText
from stateous.limits import MAX_CHILD_RUNS_DEEP, MAX_RUNS_BEGUN
from stateous.statechart.fields import PARENT, START
from stateous.statechart.inputs import BadInput
from stateous.statechart.run_ids import child_id
from stateous_controlplane.engine.conduct import AttemptFailure
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.rows import Active, Run, Sent, Status, Token
from stateous_controlplane.engine.runs.course import Begin, Happen
from stateous_controlplane.engine.runs.jobs import job_failed
from stateous_controlplane.engine.runs.occurrence import Occurrence
from stateous_controlplane.engine.runs.values import NULL

_EMPTY: Final = JsonText("{}")


def fit_input(flow: Flow, given: JsonText) -> JsonText | BadInput:
    """``given`` as the input of a run of ``flow``."""
    if flow.input is None:
        return given
    fitted = flow.input.fit(given.value)
    if isinstance(fitted, BadInput):
        return BadInput(f"{flow.name}: {fitted.reason}")
    return given if fitted is given.value else JsonText.of(fitted)


def passed_input(flow: Flow, given: JsonText) -> JsonText | BadInput:
    """What another run passes as an input: null is none of the names that ``flow`` declares."""
    if flow.input is not None and given == NULL:
        return fit_input(flow, _EMPTY)
    return fit_input(flow, given)


def begin_run(
    draft: Draft,
    run: str,
    graph: str,
    path: str,
    part: Run,
    by: str,
    parent: Token | None = None,
    sent: Sent | None = None,
) -> Begin:
    """A new run of the machine at ``path``; its next step is to enter the initial state."""
    flow = draft.situation.machines[graph].flow(path)
    row = Token(
        token=run,
        top=run if parent is None else parent.top,
        graph=graph,
        status=Status.ACTIVE,
        context=_EMPTY,
        entered_by=_EMPTY,
        started_at=draft.now,
        entered_at=draft.now,
        at=draft.now,
        workflow=path,
        run=part,
    )
    told: dict[str, Json | JsonText] = {"input": part.input, "graph": graph, "machine": flow.name}
    if part.key is not None:
        told["key"] = part.key
    told["by"] = by
    if parent is not None:
        row.parent, row.parent_state, row.parent_visit = parent.token, parent.state, parent.visit
        told |= {"parent": parent.token, "job": part.job}
    if sent is not None:
        told |= {"sender": sent.token, "send": sent.seq}
    draft.add_token(row)
    draft.record(run, "started", **told)
    event = Occurrence(START, part.input, by)
    return Begin(run, event)


def begin_child(draft: Draft, parent: Token, job: Job, given: JsonText) -> Begin | Happen:
    """Start the child run that does ``job`` of the innermost state, or let the job fail."""
    begun = _begin_child(draft, parent, job, given)
    if isinstance(begun, Begin):
        return begun
    failure = AttemptFailure(begun.reason)
    failed = job_failed(draft, parent.token, parent.state, job.name, failure)
    return Happen(parent.token, failed, Active(parent.state, parent.visit))


def _begin_child(draft: Draft, parent: Token, job: Job, given: JsonText) -> Begin | BadInput:
    assert isinstance(job.does, Child)
    run = child_id(parent.token, parent.state, parent.visit, job.name)
    flow = draft.situation.machines[parent.graph].flow(job.does.machine)
    fitted = passed_input(flow, given)
    if _depth(draft, parent) >= MAX_CHILD_RUNS_DEEP:
        return BadInput(f"child runs nest at most {MAX_CHILD_RUNS_DEEP} levels deep")
    if len(draft.effects.created) >= MAX_RUNS_BEGUN:
        return BadInput(f"one command starts at most {MAX_RUNS_BEGUN} runs")
    if isinstance(fitted, BadInput):
        return fitted
    if draft.is_taken(run):
        return BadInput(f"the id {run!r} is taken")
    draft.record(
        parent.token,
        "branch_started",
        run=run,
        machine=flow.name,
        job=job.name,
        state=parent.state,
        visit=parent.visit,
    )
    part = Run(fitted, job=job.name)
    return begin_run(draft, run, parent.graph, job.does.machine, part, PARENT, parent)


def _depth(draft: Draft, token: Token) -> int:
    """How many runs are above it."""
    depth = 0
    while token.parent is not None:
        token = draft.seen(token.parent)
        depth += 1
    return depth
