"""The command `stateous-supervise`, for computers that have no `stateous` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.log import log_to_stderr
from stateous_supervisor.supervise import supervise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command: the exit code, 0 stopped, 1 refused or stopped at once, 2 for bad usage."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.folder is None and not given.scripts:
        parser.error("the following arguments are required: FOLDER (or --scripts)")
    log_to_stderr()
    try:
        return supervise(
            given.folder, url=given.url, tasks=given.tasks, name=given.name, scripts=given.scripts
        )
    except SupervisorError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 a command speaks
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stateous-supervise",
        description="Claim the tasks of a Stateous control plane and run their routines and scripts.",
        epilog="A flag wins over STATEOUS_URL, STATEOUS_TASKS and STATEOUS_NAME, these over the "
        "folder's stateous.yaml. SIGINT or SIGTERM finishes the running routines and stops; a "
        "second one cancels them.",
    )
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="FOLDER",
        help="stateous.yaml, contract.py and the routines; not needed with --scripts",
    )
    parser.add_argument(
        "--scripts",
        action="store_true",
        help="run the scripts of charts too, each in a process of its own that can only compute",
    )
    parser.add_argument("--url", help="the control plane, http:// or https://")
    parser.add_argument("--tasks", metavar="N", help="how many routines may run at once, 1 to 1000")
    parser.add_argument("--name", help="the supervisor's name in histories and claims")
    parser.add_argument(
        "--version",
        action="version",
        version=f"stateous-supervisor {version('stateous-supervisor')}",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
