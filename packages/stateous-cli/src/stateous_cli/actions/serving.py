"""`stateous serve`: a control plane, and with `--supervise` or `--scripts` a supervisor beside it.

This is the one place where control plane and supervisor meet. The control plane takes the signals
and owns the process; whatever runs beside it is its companion. With a supervisor a signal goes to
that one first, and the control plane stops when it is done (`docs/spec/authoring.md` 8.7).
"""

from __future__ import annotations

from pathlib import Path

from stateous_cli.optional import needed
from stateous_controlplane.serve import serve
from stateous_controlplane.serving import Companion
from stateous_controlplane.settings import ServeSettings


def serve_until_stopped(
    settings: ServeSettings, supervise: Path | None = None, *, scripts: bool = False
) -> int:
    """Serve until a signal or the end of the supervisor: the exit code.

    Raises:
        StateousError: a refusal at the start, or the database was taken by another.
    """
    alone = supervise is None and not scripts
    return serve(settings, None if alone else _companion(supervise, scripts=scripts))


def _companion(folder: Path | None, *, scripts: bool) -> Companion:
    option = "--supervise" if folder is not None else "--scripts"
    with needed("stateous-supervisor", by=f"serve {option}"):
        from stateous_cli.companion import SupervisorCompanion
    return SupervisorCompanion(folder, scripts=scripts)
