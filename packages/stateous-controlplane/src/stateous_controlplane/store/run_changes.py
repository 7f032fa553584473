"""The net changes of a batch, parted: what runs need more columns for, and the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stateous_controlplane.engine.rows import Task, Token
from stateous_controlplane.store.port import Changes


@dataclass(frozen=True, slots=True)
class RunChanges:
    """Runs, and tasks that are jobs: new ones and those that changed."""

    new_runs: list[Token]
    runs: list[Token]
    new_jobs: list[Task]
    jobs: list[Task]


def parted(changes: Changes) -> tuple[Changes, RunChanges | None]:
    """``changes`` without runs and jobs, and these; ``changes`` as it is when it has none."""
    new_runs = [token for token in changes.new_tokens if token.run is not None]
    runs = [token for token in changes.tokens if token.run is not None]
    runs += [token for token in changes.moves if token.run is not None]
    new_jobs = [task for task in changes.new_tasks if task.job is not None]
    jobs = [task for task in changes.tasks if task.job is not None]
    if not (new_runs or runs or new_jobs or jobs or changes.of_runs):
        return changes, None
    plain = replace(
        changes,
        new_tokens=[token for token in changes.new_tokens if token.run is None],
        tokens=[token for token in changes.tokens if token.run is None],
        moves=[token for token in changes.moves if token.run is None],
        new_tasks=[task for task in changes.new_tasks if task.job is None],
        tasks=[task for task in changes.tasks if task.job is None],
    )
    return plain, RunChanges(new_runs, runs, new_jobs, jobs)
