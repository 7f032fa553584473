"""`stateous supervise`: a supervisor alone in its process."""

from __future__ import annotations

from pathlib import Path

from stateous_supervisor.log import log_to_stderr
from stateous_supervisor.supervise import supervise as run_supervisor


def supervise(
    folder: Path | None,
    *,
    url: str | None,
    tasks: str | None,
    name: str | None,
    scripts: bool = False,
) -> int:
    """Run the supervisor of ``folder``, of ``scripts`` or of both until a signal: the exit code.

    Raises:
        SupervisorError: it could not start.
    """
    log_to_stderr()
    return run_supervisor(folder, url=url, tasks=tasks, name=name, scripts=scripts)
