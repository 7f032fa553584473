"""The life of a process that runs one script: forked, it waits for its job, runs it, and ends."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

from stateous_supervisor.scripts import confinement, frames
from stateous_supervisor.scripts.engine import Bounds, run

#: Events that only the control plane makes (`docs/spec/statechart.md` 5.1).
RESERVED: Final = frozenset({"start", "done", "failed", "timer"})

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
# Its end of the socket, and by then all that it has open.
_RUNNER: Final = 0


def live(descriptor: int, parent: int, prelude: str) -> NoReturn:
    """Run the one script that comes over ``descriptor``, and end this process.

    ``parent`` is the fork server. Nothing of it is left to clean up: the process ends without.
    """
    code = 1
    try:
        confinement.leave_everything(descriptor, parent)
        frame = frames.read_frame(_RUNNER)
        if frame is not None:
            _work(json.loads(frame[1]), prelude)
        code = 0
    finally:
        os._exit(code)


def _work(job: dict[str, Any], prelude: str) -> None:
    bounds = Bounds(job["memory"], job["value"], job["emitted"])
    answers = WrittenAnswers(bounds, _say)
    confinement.limit(bounds.memory, job["timeout"])
    confinement.filter_calls()
    try:
        run(job["source"], job["input"], bounds, prelude, answers)
    except MemoryError:
        answers.failed("out of memory", None)


def _say(kind: bytes, payload: bytes) -> None:
    try:
        frames.write_frame(_RUNNER, kind, payload)
    except OSError:  # the runner has no use for it any more
        os._exit(0)
    if kind in (frames.DONE, frames.FAILED):
        os._exit(0)


class WrittenAnswers:
    """Answers as frames. ``say`` takes a kind and a payload, and ends the process after the last."""

    def __init__(self, bounds: Bounds, say: Callable[[bytes, bytes], None]) -> None:
        self._bounds = bounds
        self._say = say
        self._emitted = 0

    def emitted(self, name: str, value: str) -> str | None:
        """Write a value; a name that no event of a script can have is refused."""
        text = json.loads(name)
        if text in RESERVED:
            return f"emit: the event {text!r} is reserved"
        if _NAME.fullmatch(text) is None:
            return (
                f"emit: {text!r:.80} cannot name an event: a name is a letter and at most 63 more "
                "letters, digits, '-' and '_'"
            )
        payload = value.encode()
        # The script's side has looked at both already, as far as it can count.
        if len(payload) > self._bounds.value:
            self.failed(f"an emitted value has more than {self._bounds.value} bytes as JSON", None)
        if self._emitted >= self._bounds.emitted:
            self.failed(f"more than {self._bounds.emitted} values were emitted", None)
        self._emitted += 1
        self._say(frames.EMITTED, b"[%s,%s]" % (name.encode(), payload))
        return None

    def failed(self, message: str, line: int | None, status: str = "failed") -> None:
        """Write how the script failed."""
        shown = message.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
        told = {"status": status, "line": line, "message": shown}
        self._say(frames.FAILED, json.dumps(told).encode())

    def done(self, output: str) -> None:
        """Write the output, unless it is too long."""
        payload = output.encode()
        if len(payload) > self._bounds.value:
            self.failed(f"the output has more than {self._bounds.value} bytes as JSON", None)
        self._say(frames.DONE, payload)
