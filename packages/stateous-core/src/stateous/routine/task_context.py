"""What `ctx` has in common for states and for jobs: which task it is, notes and the memory."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from stateous.limits import MAX_NOTE
from stateous.routine.jsonable import fits_utf8
from stateous.routine.memory import Memory
from stateous.routine.sink import Sink


class TaskContext:
    """The task of a routine. ``visit`` is 1 at the first entry into the state; ``attempt`` is 1,
    then 2 after a retry.
    """

    def __init__(self, grant: Mapping[str, Any], sink: Sink) -> None:
        """``grant`` is what the control plane answered to the claim."""
        self.token: str = grant["token"]
        self.task: int = grant["task"]
        self.visit: int = grant["visit"]
        self.attempt: int = grant["attempt"]
        self._memory = Memory(grant["memory"], sink)
        self._sink = sink

    def note(self, text: str) -> None:
        """Put a note into the token's history, at once.

        Blanks at both ends are dropped; what is then empty is no note.

        Raises:
            ValueError: over 500 characters, or a character that cannot be sent.
        """
        if not isinstance(text, str):
            raise TypeError(f"a note is text, not {text!r:.100}")
        trimmed = text.strip()
        if len(trimmed) > MAX_NOTE:
            raise ValueError(f"a note has at most {MAX_NOTE} characters, not {len(trimmed)}")
        if not fits_utf8(trimmed):
            raise ValueError(
                f"a note cannot hold U+0000 or half a surrogate pair: {trimmed!r:.100}"
            )
        if trimmed:
            self._sink.note(trimmed)

    @property
    def memory(self) -> MutableMapping[str, Any]:
        """What routines of this token and state remember, over visits and attempts.

        It is deleted when the token ends. Keys have 1 to 128 characters; values are JSON, and
        not None. Each write and each delete is sent at once.
        """
        return self._memory
