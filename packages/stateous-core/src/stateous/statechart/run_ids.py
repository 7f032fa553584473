"""Ids of runs that the service makes (`docs/spec/statechart.md` 3).

Each is made from what the run comes from, so that a repeated command makes the same run, and the
engine needs no randomness.
"""

from __future__ import annotations

from base64 import b32encode
from hashlib import sha256

_BYTES = 10


def random_id(fresh: bytes) -> str:
    """The id of a run that was submitted without a key; ``fresh`` are at least ten random bytes."""
    return _id(fresh)


def submitted_id(key: str) -> str:
    """The id of a run that was submitted with that ``Idempotency-Key``."""
    return _of(f"submit\n{key}")


def child_id(parent: str, state: str, visit: int, job: str) -> str:
    """The id of the run that a machine job starts; a state's sole job has the state's name."""
    return _of(f"child\n{parent}\n{state}\n{visit}\n{job}")


def sent_id(sender: str, seq: int) -> str:
    """The id of the run that a send to a key starts; ``seq`` is that of its ``sent`` entry."""
    return _of(f"key\n{sender}\n{seq}")


def _of(text: str) -> str:
    return _id(sha256(text.encode()).digest())


def _id(data: bytes) -> str:
    return "run-" + b32encode(data[:_BYTES]).decode().lower()
