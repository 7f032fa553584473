"""What an action says when it succeeded: one value, printed as text or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a command.

    ``document`` is what ``--json`` prints, ``lines`` is the text on stdout without it. ``asides``
    are lines for stderr (warnings, and that a list goes on), printed both ways and first.
    ``exit_code`` is the command's; of several answers the highest counts.
    """

    document: Any
    lines: Sequence[str]
    asides: Sequence[str] = ()
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Aside:
    """A line for stderr between two answers."""

    line: str
