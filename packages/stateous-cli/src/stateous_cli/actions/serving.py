"""`stateous serve`: a control plane, and with `--supervise` a supervisor beside it.

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


def serve_until_stopped(settings: ServeSettings, supervise: Path | None) -> int:
    """Serve until a signal or the end of the supervisor: the exit code.

    Raises:
        StateousError: a refusal at the start, or the database was taken by another.
    """
    return serve(settings, None if supervise is None else _companion(supervise))


def _companion(folder: Path) -> Companion:
    with needed("stateous-supervisor", by="serve --supervise"):
        from stateous_cli.companion import SupervisorCompanion
    return SupervisorCompanion(folder)
