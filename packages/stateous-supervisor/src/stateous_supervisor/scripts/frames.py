"""What goes over the socket between the runner and a script's process, both ways.

A frame is its kind, one byte; the length of its payload, four bytes, the greatest first; and the
payload, UTF-8. The runner sends one ``JOB``. The process answers with any number of ``EMITTED`` and
then one ``DONE`` or ``FAILED``; when it ends without either, it has been ended.
"""

from __future__ import annotations

import os
import struct
from typing import Final

#: ``{"source", "input", "timeout", "memory", "value", "emitted"}``: ``input`` is JSON in a text.
JOB: Final = b"J"
#: ``[name, value]``.
EMITTED: Final = b"E"
#: The output.
DONE: Final = b"D"
#: ``{"status", "line", "message"}``; the line is null where nobody knows it.
FAILED: Final = b"F"

HEAD: Final = struct.Struct(">cI")


def write_frame(descriptor: int, kind: bytes, payload: bytes) -> None:
    """Write one frame to a blocking descriptor.

    Raises:
        OSError: nobody reads it any more.
    """
    left = memoryview(HEAD.pack(kind, len(payload)) + payload)
    while left:
        left = left[os.write(descriptor, left) :]


def read_frame(descriptor: int) -> tuple[bytes, bytes] | None:
    """The kind and payload of the next frame of a blocking descriptor; None at its end."""
    head = _read(descriptor, HEAD.size)
    if head is None:
        return None
    kind, length = HEAD.unpack(head)
    payload = _read(descriptor, length)
    return None if payload is None else (kind, payload)


def _read(descriptor: int, length: int) -> bytes | None:
    parts: list[bytes] = []
    while length:
        part = os.read(descriptor, min(length, 1 << 20))
        if not part:
            return None
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
