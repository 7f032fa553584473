"""The log of a supervisor, on stderr (`docs/spec/authoring.md` 8.7)."""

from __future__ import annotations

import logging
from typing import Final

from stateous.visible import visible_lines

#: `<asctime> <logger>: <message>`, with asctime as in `2027-03-01 09:12:13,435`.
FORMAT: Final = "%(asctime)s %(name)s: %(message)s"

_AT_INFO: Final = ("stateous.supervisor", "stateous.cli", "stateous.serve", "stateous.store")


class HarmlessLines(logging.Formatter):
    """What routines say stands in the log, and must not move the cursor or pass for a line of it.

    Control characters are made visible, and every line but the first is indented.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One record as text."""
        return visible_lines(super().format(record)).replace("\n", "\n    ")


def log_to_stderr() -> None:
    """Send the log there: our own loggers from INFO on, all others from WARNING on."""
    to_stderr = logging.StreamHandler()
    to_stderr.setFormatter(HarmlessLines(FORMAT))
    logging.basicConfig(handlers=[to_stderr], level=logging.WARNING)
    for name in _AT_INFO:
        logging.getLogger(name).setLevel(logging.INFO)
