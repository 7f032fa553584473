"""The supervisor of `stateous serve` with `--supervise`, `--scripts` or both.

It is on a thread and event loops of its own. Whatever it runs it claims over HTTP, as any other
supervisor does: with `--scripts` script jobs too, each of which has a process of its own.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stateous.errors import StateousError
from stateous_cli.failures import failure_text
from stateous_supervisor.supervise import Supervisor

#: How many scripts run at once without a folder (`docs/spec/statechart.md` 17).
SCRIPTS_AT_ONCE: Final = 4

_log = logging.getLogger("stateous.cli")


class SupervisorCompanion:
    """A supervisor in the process of a control plane, working against that control plane.

    It runs the routines of ``folder``, scripts, or both: then they share the folder's ``tasks``. The
    ``url`` of its folder must be valid, and is not used. Making it reads the folder's files.

    Raises:
        SupervisorError: the settings or the contract cannot be used, or scripts cannot be run here.
    """

    def __init__(self, folder: Path | None, *, scripts: bool) -> None:
        tasks = SCRIPTS_AT_ONCE if folder is None else None
        self._supervisor = Supervisor(folder, tasks=tasks, scripts=scripts)

    def start(self, url: str, ended: Callable[[int], None]) -> None:
        """Begin, against the control plane at ``url``.

        ``ended`` gets the exit code, on the supervisor's thread.
        """
        # A daemon: a routine that does not end must not keep the process after a second signal.
        threading.Thread(
            target=self._run, args=(url, ended), name="supervisor", daemon=True
        ).start()

    def stop(self) -> None:
        """Finish what runs; the second time, cancel it."""
        self._supervisor.stop()

    def _run(self, url: str, ended: Callable[[int], None]) -> None:
        code = 1
        try:
            code = self._supervisor.run(at=url)
        except StateousError as error:
            print(failure_text(error), file=sys.stderr, flush=True)  # noqa: T201 - a command speaks
        except Exception:
            _log.exception("the supervisor met a defect of its own and stopped")
        finally:
            ended(code)
