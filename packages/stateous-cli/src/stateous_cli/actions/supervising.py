"""`stateous supervise`: a supervisor alone in its process."""

from __future__ import annotations

from pathlib import Path

from stateous_supervisor.log import log_to_stderr
from stateous_supervisor.supervise import supervise as run_supervisor


def supervise(folder: Path, *, url: str | None, tasks: str | None, name: str | None) -> int:
    """Run the supervisor of ``folder`` until a signal ends it: the exit code.

    Raises:
        SupervisorError: it could not start.
    """
    log_to_stderr()
    return run_supervisor(folder, url=url, tasks=tasks, name=name)
