"""The API that routines are written against (`docs/spec/authoring.md` 8.3 to 8.5).

Those of jobs are in `docs/spec/statechart.md` 10.3.
"""

from stateous.errors import OutcomeError
from stateous.routine.context import Context, EnteredBy, Schedule
from stateous.routine.job_context import JobContext
from stateous.routine.marks import job_of, on_job, on_state, state_of
from stateous.routine.occurrence import Occurrence
from stateous.routine.outcome import reported_payload
from stateous.routine.payload import payload_of
from stateous.routine.sink import JobSink, Sink
from stateous.routine.state_ref import StateRef

__all__ = [
    "Context",
    "EnteredBy",
    "JobContext",
    "JobSink",
    "Occurrence",
    "OutcomeError",
    "Schedule",
    "Sink",
    "StateRef",
    "job_of",
    "on_job",
    "on_state",
    "payload_of",
    "reported_payload",
    "state_of",
]
