"""The serving hold: who this control plane is to its database.

One control plane serves a database. To take the hold is to write one's name, after an exclusive
lock has been had, into the one row of ``control_plane``. The lock keeps a second control plane on
the same machine out at once, and is freed by the system when a process dies. The row is the fence:
every commit looks whether the name in it is still its own, inside the same transaction, and commits
nothing when it is not. So a control plane that was suspended, and whose hold was taken meanwhile,
cannot write any more, however late it wakes up. The stores do the locking and fencing
(:mod:`stateous_controlplane.store.port`); the sequencer renews at each tick.
"""

from __future__ import annotations

import os
import secrets
import socket


def holder_name() -> str:
    """A name for this process's hold: ``<host>:<pid>:<8 hex digits>``, never the same twice."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
