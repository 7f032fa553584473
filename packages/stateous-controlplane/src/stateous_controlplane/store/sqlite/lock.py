"""The lock of the operating system on `<database file>.lock` (`docs/spec/wire.md` 6.1).

It belongs to the open file, so that it ends with the process however that dies, and two stores of
one process exclude each other as two processes do. The file itself stays: removing it would let
two processes lock two different files of one name.

The name stands for the database file, so that file must have no other: under a second one (a hard
link) another control plane would find another lock, and SQLite another log. Whoever serves looks for
that after it has the lock. A link that is made later is found by whoever starts under it.
"""

from __future__ import annotations

import os
import stat
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


def has_other_names(file: Path) -> bool:
    """Whether the file is there, and there under more than this name.

    Raises:
        OSError: it cannot be told.
    """
    try:
        status = file.stat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_nlink > 1


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
