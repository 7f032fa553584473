"""The files that a chart names, by their paths from the chart's folder on."""

from __future__ import annotations

import posixpath
from pathlib import Path

from stateous.limits import MAX_CHART_BYTES, MAX_SCRIPT_BYTES
from stateous.statechart.reading import is_absolute


class CannotRead(Exception):
    """A file that gives no text; ``code`` is the problem that it makes."""

    def __init__(self, code: str, what: str, reason: str) -> None:
        super().__init__(f"{what!r} {reason}")
        self.code = code
        self.reason = reason


class Sources:
    """Reads the files of one chart, whose own path is ``chart``."""

    def __init__(self, chart: Path) -> None:
        self._folder = chart.parent.resolve()

    def path_of(self, named: str, naming: str) -> str:
        """The path, from the chart's folder on, of what the file ``naming`` calls ``named``.

        One file has one path, also where the name leads out of the folder and back into it.

        Raises:
            CannotRead: the name is an absolute path.
        """
        if is_absolute(named):
            raise CannotRead("file-not-found", named, "is an absolute path")
        folder = self._folder.as_posix()
        whole = posixpath.join(folder, posixpath.dirname(naming), named)
        return posixpath.relpath(whole, folder)

    def chart(self, path: str) -> str:
        """The text of a chart's file.

        Raises:
            CannotRead: there is no such file, or it is too large or no UTF-8.
        """
        data = self._bytes(path, MAX_CHART_BYTES)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise CannotRead("yaml", path, "is not UTF-8") from None

    def script(self, path: str) -> str:
        """The source of a script, its lines ended by LF.

        Raises:
            CannotRead: as :meth:`chart`.
        """
        data = self._bytes(path, MAX_SCRIPT_BYTES)
        try:
            source = data.decode("utf-8")
        except UnicodeDecodeError:
            raise CannotRead("file-not-found", path, "cannot be read: it is not UTF-8") from None
        # JavaScript itself knows no difference between the line ends.
        return source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")

    def _bytes(self, path: str, most: int) -> bytes:
        file = self._folder / path
        try:
            # What is no file, such as a pipe, might never end.
            if file.exists() and not file.is_file():
                raise CannotRead("file-not-found", path, "cannot be read: it is no file")
            with file.open("rb") as opened:
                data = opened.read(most + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise CannotRead("file-not-found", path, f"cannot be read: {why}") from None
        if len(data) > most:
            raise CannotRead("too-large", path, f"has over {most} bytes")
        return data
