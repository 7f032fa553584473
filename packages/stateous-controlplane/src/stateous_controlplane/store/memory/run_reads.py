"""Reads of runs and documents of the store in memory."""

from __future__ import annotations

from dataclasses import replace

from stateous.json import JsonText, write_json
from stateous.names import SCRIPTS, job_queue
from stateous_controlplane.engine.rows import Run, Ticket, TicketStatus, Token
from stateous_controlplane.store.memory.tables import Tables
from stateous_controlplane.store.paging import page_of
from stateous_controlplane.store.run_rows import CHILD, kept_view
from stateous_controlplane.store.run_views import (
    GraphView,
    JobView,
    NewestPlace,
    RunFilter,
    RunInFull,
    RunState,
    RunView,
    Step,
    TicketView,
    TimerView,
)


def run_state(tables: Tables, run: str) -> RunState | None:
    """How it is with one run."""
    found = _found(tables, run)
    if found is None:
        return None
    token, part = found
    tickets = any(each.status is TicketStatus.OPEN for each in _tickets(tables, run))
    return RunState(token.status.value, part.starter, tickets)


def run_in_full(tables: Tables, run: str) -> RunInFull | None:
    """One run."""
    found = _found(tables, run)
    if found is None:
        return None
    token, part = found
    full = RunInFull(
        view=_view(tables, token, part),
        input=part.input.text,
        output=None if part.output is None else part.output.text,
        outputs=write_json({state: output.value for state, output in part.outputs.items()}),
        starter=part.starter,
    )
    return _with_belongings(tables, token, full) if token.status.live else full


def _with_belongings(tables: Tables, token: Token, full: RunInFull) -> RunInFull:
    run = token.token
    place = {step.state: at for at, step in enumerate(token.configuration)}
    opened = [each for each in _tickets(tables, run) if each.status is TicketStatus.OPEN]
    kept = sorted(at for at, each in tables.deferred.items() if each and each.token == run)
    return replace(
        full,
        jobs=_jobs(tables, token),
        timers=tuple(
            TimerView(timer.event, timer.state, timer.text or "", timer.due_at)
            for _, timer in sorted(tables.timers.items())
            if timer.token == run and timer.pending
        ),
        tickets=tuple(
            TicketView(each.ticket, each.state, each.visit, each.digest, each.issued_at)
            for each in sorted(opened, key=lambda each: place[each.state])
        ),
        kept=tuple(
            kept_view(JsonText(entry.data.text).value, entry.at)
            for entry in map(tables.ledger.__getitem__, kept)
        ),
    )


def runs_page(
    tables: Tables, where: RunFilter, *, behind: NewestPlace | None, limit: int
) -> tuple[list[RunView], bool]:
    """A page of runs."""
    views = [
        _view(tables, token, token.run) for token in tables.tokens.values() if token.run is not None
    ]
    views = [each for each in views if _fits(each, where)]
    views.sort(key=lambda view: view.run)
    views.sort(key=lambda view: view.started_at, reverse=True)
    places = [NewestPlace(view.started_at, view.run) for view in views]
    return page_of(
        [view for view, at in zip(views, places, strict=True) if _is_behind(at, behind)],
        limit=limit,
    )


def graphs_page(
    tables: Tables, *, behind: NewestPlace | None, limit: int
) -> tuple[list[GraphView], bool]:
    """A page of documents."""
    views = [
        GraphView(
            graph=new.record.checksum,
            kind=new.record.kind,
            name=new.record.name,
            machines=tuple(
                name for path, name in sorted(new.record.machines.items()) if path != "."
            ),
            added_at=new.added_at,
            live=sum(
                token.graph == new.record.checksum and token.status.live
                for token in tables.tokens.values()
            ),
        )
        for new in tables.graphs.values()
    ]
    views.sort(key=lambda view: view.graph)
    views.sort(key=lambda view: view.added_at, reverse=True)
    return page_of(
        [view for view in views if _is_behind(NewestPlace(view.added_at, view.graph), behind)],
        limit=limit,
    )


def _is_behind(at: NewestPlace, behind: NewestPlace | None) -> bool:
    return (
        behind is None
        or at.moment < behind.moment
        or (at.moment == behind.moment and at.name > behind.name)
    )


def _fits(view: RunView, where: RunFilter) -> bool:
    return (
        where.status in (None, view.status)
        and where.machine in (None, view.machine)
        and where.key in (None, view.key)
        and where.parent in (None, view.parent)
    )


def _found(tables: Tables, run: str) -> tuple[Token, Run] | None:
    token = tables.tokens.get(run)
    return None if token is None or token.run is None else (token, token.run)


def _tickets(tables: Tables, run: str) -> list[Ticket]:
    return [each for each in tables.tickets.values() if each.token == run]


def _view(tables: Tables, token: Token, run: Run) -> RunView:
    steps = zip(token.configuration, run.entered, strict=True)
    return RunView(
        run=token.token,
        machine=tables.graphs[token.graph].record.machines[token.workflow or ""],
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


def _jobs(tables: Tables, token: Token) -> tuple[JobView, ...]:
    ledger = [entry for place, entry in sorted(tables.ledger.items()) if place[0] == token.token]
    entered = max((entry.seq for entry in ledger if entry.kind == "entered"), default=0)
    jobs: list[JobView] = []
    for entry in ledger[entered:]:
        data = entry.data.value
        if entry.kind == "task_queued":
            task = tables.tasks[data["task"]]
            kind = "script" if task.queue == job_queue(SCRIPTS) else "routine"
            jobs.append(
                JobView(
                    data["job"], data["state"], kind, task.status.value, task.attempt, task=task.id
                )
            )
        if entry.kind == "branch_started":
            status = CHILD[tables.tokens[data["run"]].status.value]
            jobs.append(JobView(data["job"], data["state"], "machine", status, run=data["run"]))
    return tuple(jobs)
