"""Log lines on stderr, as text or as JSON (`docs/spec/wire.md` 6.3).

Contexts, payloads, memory, keys and tickets are never in them: whoever logs names ids.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Literal

from stateous.json import write_json
from stateous.visible import visible_lines
from stateous.wire.moments import write_moment

LogFormat = Literal["text", "json"]


class _TextLines(logging.Formatter):
    """What routines say stands in the log, too, with `serve --supervise`: it passes for no line.

    Control characters are made visible, and every line but the first is indented.
    """

    def format(self, record: logging.LogRecord) -> str:
        return visible_lines(super().format(record)).replace("\n", "\n    ")


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": write_moment(datetime.fromtimestamp(record.created, UTC)),
            "logger": record.name,
            "level": record.levelname.lower(),
            "text": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return write_json(line)


def set_up_logs(form: LogFormat) -> None:
    """Send the product's loggers at INFO, all others at WARNING, to stderr."""
    to_stderr = logging.StreamHandler()
    if form == "json":
        to_stderr.setFormatter(_JsonLines())
    else:
        to_stderr.setFormatter(_TextLines("%(asctime)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [to_stderr]
    root.setLevel(logging.WARNING)
    logging.getLogger("stateous").setLevel(logging.INFO)
