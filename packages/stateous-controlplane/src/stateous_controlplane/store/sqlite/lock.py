"""The lock of the operating system on `<database file>.lock` (`docs/spec/wire.md` 6.1).

It belongs to the open file, so that it ends with the process however that dies, and two stores of
one process exclude each other as two processes do. The file itself stays: removing it would let
two processes lock two different files of one name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _try(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class FileLock:
    """An exclusive lock, which never waits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Try to take the lock; whether it is ours now.

        Raises:
            OSError: the file cannot be opened or locked.
        """
        if self._descriptor is not None:
            return True
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            taken = _try(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        if taken:
            self._descriptor = descriptor
        else:
            os.close(descriptor)
        return taken

    def free(self) -> None:
        """Free the lock when it is ours."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
