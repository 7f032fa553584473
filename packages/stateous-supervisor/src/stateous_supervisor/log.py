"""The log of a supervisor, on stderr (`docs/spec/authoring.md` 8.7)."""

from __future__ import annotations

import logging
from typing import Final

#: `<asctime> <logger>: <message>`, with asctime as in `2027-03-01 09:12:13,435`.
FORMAT: Final = "%(asctime)s %(name)s: %(message)s"

_AT_INFO: Final = ("stateous.supervisor", "stateous.cli", "stateous.serve", "stateous.store")


def log_to_stderr() -> None:
    """Send the log there: our own loggers from INFO on, all others from WARNING on."""
    logging.basicConfig(format=FORMAT, level=logging.WARNING)
    for name in _AT_INFO:
        logging.getLogger(name).setLevel(logging.INFO)
