"""The database in memory: what several stores share, as control planes share a file."""

from __future__ import annotations

import threading

from stateous_controlplane.store.memory.tables import ControlPlane, Tables


class MemoryDatabase:
    """What several stores share: the tables, the lock of the hold, and that of transactions."""

    def __init__(self) -> None:
        self.tables = Tables(control_plane={1: ControlPlane()})
        self.held_by: object | None = None
        self.writing = threading.Lock()
