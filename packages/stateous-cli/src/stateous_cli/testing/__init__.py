"""A testing kit for authors: a workflow and its routines in one process, with a clock of your own.

No server, no database file, no sleep: the real compiler, the real engine over a store in memory,
the real client, and the rules by which a supervisor runs routines. What differs is time, which
passes when the test says so, and the order of things, which is always the same::

    from stateous_cli.testing import Rehearsal

    with Rehearsal("examples/sdlc/flow.py", "examples/sdlc-supervisor") as play:
        ticket = play.start("T-1", {"title": "Export to CSV"})
        play.run()
        assert ticket.status == "completed"

It needs the packages that do the work: the extra ``stateous-cli[dev]``. `docs/howto/
test-a-workflow.md` shows its use.
"""

from __future__ import annotations

from stateous_cli.testing.needed import require

require("stateous_compiler", "stateous_controlplane", "stateous_supervisor")

from stateous_cli.testing.errors import RehearsalError  # noqa: E402 - after what they need
from stateous_cli.testing.rehearsal import Rehearsal  # noqa: E402
from stateous_cli.testing.token import Token  # noqa: E402

__all__ = ["Rehearsal", "RehearsalError", "Token"]
