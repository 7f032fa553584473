"""Runs, their tickets and documents as answers (`docs/spec/statechart.md` 16).

Values of tickets that a chart has put somewhere are masked in each answer, unless whoever asks has
shown the starter's secret. Grants alone are not masked: a job gets its input as it is.
"""

from __future__ import annotations

from stateous.graph.machine import Child, Machine, Script
from stateous.json import write_json
from stateous.statechart.tickets import id_of_digest
from stateous.wire.moments import write_moment
from stateous_controlplane.engine.replies import GrantReply
from stateous_controlplane.engine.rows import Token
from stateous_controlplane.store.run_views import (
    GraphView,
    JobView,
    RunInFull,
    RunView,
    Step,
    TicketView,
)


def view_of_run(token: Token, machine: Machine) -> RunView:
    """What lists show of a run's row."""
    run = token.run_part
    steps = zip(token.configuration, run.entered, strict=True)
    return RunView(
        run=token.token,
        machine=machine.flow(token.workflow).name,
        graph=token.graph,
        key=run.key,
        parent=token.parent,
        job=run.job,
        status=token.status.value,
        configuration=tuple(Step(state, visit, entered) for (state, visit), entered in steps),
        error=run.error,
        started_at=token.started_at,
        ended_at=token.ended_at,
    )


def run_json(view: RunView) -> str:
    """A run as lists show it."""
    return "{" + _members(view) + "}"


def run_in_full_json(full: RunInFull, *, outputs: bool) -> str:
    """A run with all that belongs to it; ``outputs``: also each state's last output."""
    more = {
        "jobs": [_job(each) for each in full.jobs],
        "timers": [
            {
                "timer": each.timer,
                "state": each.state,
                "text": each.text,
                "due_at": write_moment(each.due_at),
            }
            for each in full.timers
        ],
        "tickets": [
            {
                "ticket": each.ticket,
                "state": each.state,
                "id": id_of_digest(each.digest),
                "issued_at": write_moment(each.issued_at),
            }
            for each in full.tickets
        ],
        "kept": [
            {"event": each.event, "from": each.source, "at": write_moment(each.at)}
            for each in full.kept
        ],
    }
    last = f',"outputs":{full.outputs}' if outputs else ""
    return (
        f'{{{_members(full.view)},"input":{full.input},"output":{full.output or "null"},'
        f"{write_json(more)[1:-1]}{last}}}"
    )


def ticket_json(ticket: TicketView, value: str) -> str:
    """An open ticket with its value, for who started its run."""
    return write_json(
        {
            "ticket": ticket.ticket,
            "state": ticket.state,
            "visit": ticket.visit,
            "id": id_of_digest(ticket.digest),
            "issued_at": write_moment(ticket.issued_at),
            "value": value,
        }
    )


def job_grant_json(grant: GrantReply, memory: str) -> str:
    """A grant of a job (10.4); ``memory`` is an object's text."""
    task, job = grant.task, grant.job
    part = task.job
    assert job is not None, task.id
    assert part is not None, task.id
    assert not isinstance(job.does, Child), "a child run is no task"
    if isinstance(job.does, Script):
        does = f'"script":{write_json({"path": job.does.path, "source": job.does.source})}'
    else:
        does = f'"routine":{write_json(job.does.name)}'
    return (
        f'{{"task":{task.id},"token":"{task.token}","machine":"{grant.machine}",'
        f'"state":"{task.state}","job":"{part.job}","visit":{task.visit},'
        f'"attempt":{task.attempt},"input":{part.input.text},'
        f'"timeout":{int(job.timeout.total_seconds())},"memory":{memory},{does}}}'
    )


def graph_view_json(view: GraphView) -> str:
    """A document on record as a list shows it."""
    return write_json(
        {
            "graph": view.graph,
            "kind": view.kind,
            "name": view.name,
            "machines": list(view.machines),
            "added_at": write_moment(view.added_at),
            "live": view.live,
        }
    )


def _members(view: RunView) -> str:
    shown = {
        "id": view.run,
        "machine": view.machine,
        "graph": view.graph,
        "key": view.key,
        "parent": view.parent,
        "job": view.job,
        "status": view.status,
        "configuration": [
            {
                "state": step.state,
                "visit": step.visit,
                "entered_at": write_moment(step.entered_at),
            }
            for step in view.configuration
        ],
        "error": None if view.error is None else view.error._asdict(),
        "started_at": write_moment(view.started_at),
        "ended_at": None if view.ended_at is None else write_moment(view.ended_at),
    }
    return write_json(shown)[1:-1]


def _job(view: JobView) -> dict[str, str | int]:
    shown: dict[str, str | int] = {
        "job": view.job,
        "state": view.state,
        "kind": view.kind,
        "status": view.status,
    }
    more = {"attempt": view.attempt, "task": view.task, "run": view.run}
    return shown | {name: value for name, value in more.items() if value is not None}
