"""The words between the runner and the fork server (:mod:`stateous_supervisor.scripts.fork_server`)."""

from __future__ import annotations

import struct
from typing import Final

COMMAND: Final = struct.Struct(">cI")
FORK: Final = b"F"
KILL: Final = b"K"

RECORD: Final = struct.Struct(">cII")
STARTED: Final = b"S"
EXITED: Final = b"X"
