"""Which work a grant is for, and what claims ask for (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal


@dataclass(frozen=True, slots=True, order=True)
class Queue:
    """Where tasks wait: a state of a workflow, or a job of charts (`docs/spec/statechart.md` 10.4).

    ``name`` is as a claim has it. A state and a job of one name have nothing to do with one another.
    """

    kind: Literal["state", "job"]
    name: str


#: All script jobs, of whatever chart.
SCRIPTS: Final = Queue("job", "scripts")


def state(name: str) -> Queue:
    """The queue of a state, ``<state>`` or ``<workflow>/<state>``."""
    return Queue("state", name)


def job(name: str) -> Queue:
    """The queue of a routine's jobs, ``<machine>/<routine>``."""
    return Queue("job", name)


def queue_of(grant: Mapping[str, Any]) -> Queue:
    """The queue that the task of a grant waited in."""
    if "script" in grant:
        return SCRIPTS
    if "routine" in grant:
        # By its name in the chart, or as it was claimed; no name has a slash in it.
        routine = str(grant["routine"])
        return job(routine if "/" in routine else f"{grant['machine']}/{routine}")
    return state(grant["state"])


def title_of(grant: Mapping[str, Any]) -> str:
    """What the log calls the work of a grant: its state, its routine, or its script."""
    script = grant.get("script")
    return queue_of(grant).name if script is None else str(script["path"])


def names_of(queues: Iterable[Queue], kind: Literal["state", "job"]) -> tuple[str, ...]:
    """The names of those queues that are of this kind, as a claim lists them."""
    return tuple(queue.name for queue in queues if queue.kind == kind)
