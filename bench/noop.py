"""A supervisor's folder whose routines do nothing, made as an author makes one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final, Literal

from bench.graphs import TICKET

_ROUTINES: Final = """\
\"\"\"Routines that do nothing.\"\"\"

from contract import Tests, TicketContext, events, states

from stateous import on_state

_PASSED = events.passed(Tests(passed=41, failed=0))
_DONE = events.done()


@on_state(states.coding)
{define} coding(ctx: TicketContext) -> events.done:
    return _DONE


@on_state(states.testing)
{define} testing(ctx: TicketContext) -> events.passed:
    return _PASSED
"""


def noop_supervisor(folder: Path, define: Literal["async def", "def"]) -> Path:
    """The folder, below ``folder``: the contract as `stateous init supervisor` writes it."""
    made = folder / "noop"
    graph = TICKET.write(folder)
    subprocess.run(
        [sys.executable, "-m", "stateous_cli", "init", "supervisor", str(graph), str(made)],
        check=True,
        capture_output=True,
    )
    (made / "testing.py").unlink()
    (made / "coding.py").write_text(_ROUTINES.format(define=define), "utf-8")
    return made
