"""How runs end: in a final, or by a failure (`docs/spec/statechart.md` 3).

Failing runs no `exit` and leaves the path as it is. Kept events are dropped and recorded.
"""

from __future__ import annotations

from dataclasses import replace

from stateous.graph.machine import Ending
from stateous.json import Json, JsonText
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.leave import end_work
from stateous_controlplane.engine.rows import Failure, Status
from stateous_controlplane.engine.runs.events import drop_kept


def end_in(draft: Draft, run: str, state: str, ending: Ending, output: JsonText) -> None:
    """The run has entered the top-level final ``state``: ``output`` is its result."""
    row = draft.token(run)
    row.run = replace(row.run_part, output=output)
    if ending.done:
        _end(draft, run, Status.COMPLETED, "completed", output=output)
        return
    failure = ended_in(state)
    row.run = replace(row.run_part, error=failure)
    code, reason = failure
    _end(draft, run, Status.FAILED, "failed", code=code, reason=reason, output=output)


def fail_run(draft: Draft, run: str, failure: Failure) -> None:
    """The run fails where it is."""
    row = draft.token(run)
    row.run = replace(row.run_part, error=failure)
    end_work(draft, run, f"the parent failed: {failure.message}")
    _end(draft, run, Status.FAILED, "failed", code=failure.code, reason=failure.message)


def ended_in(state: str) -> Failure:
    """The failure of a run whose final ``state`` ends it, or the state around it, as failed."""
    return Failure("ended", f"ended in {state}")


def _end(draft: Draft, run: str, status: Status, kind: str, **told: Json | JsonText) -> None:
    drop_kept(draft, run)
    draft.record(run, kind, **told)
    draft.end(run, status)
