"""Names of workflows, states, events and tokens (`docs/spec/authoring.md` 1)."""

from __future__ import annotations

import re
from typing import Final

START: Final = "__start__"
END: Final = "__end__"

STARTED: Final = "__started__"
TIMEOUT: Final = "timeout"
ERROR: Final = "error"
JOINED: Final = "joined"

#: What a claim names that takes script jobs.
SCRIPTS: Final = "scripts"

#: Events that only the engine fires. They are never declared.
OWN_EVENTS: Final = frozenset({STARTED, TIMEOUT, ERROR, JOINED})
#: The own events that a transition may name.
ROUTABLE_OWN_EVENTS: Final = frozenset({TIMEOUT, ERROR, JOINED})

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)
_TOKEN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)


def is_name(text: object) -> bool:
    """Whether ``text`` can name a workflow, a state or an event."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def is_token_id(text: str) -> bool:
    """Whether ``text`` can be the id of a token."""
    return _TOKEN_ID.fullmatch(text) is not None


def child_token_id(parent: str, state: str, visit: int, workflow: str) -> str:
    """The id of the child token that ``parent`` starts for ``workflow`` (seed 004)."""
    return f"{parent}.{state}.{visit}.{workflow}"


def job_queue(name: str) -> str:
    """The queue of the jobs that a claim names ``name``: `scripts`, or `<chart>/<routine>`.

    No queue of a workflow has a ``:``, so that neither kind of claim matches the other's tasks.
    """
    return f"job:{name}"


def python_name(name: str) -> str:
    """How ``name`` is written in generated Python: ``-`` becomes ``_``."""
    return name.replace("-", "_")
