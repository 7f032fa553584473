"""Failures that are to be expected: what stderr says of them, and what ``--json`` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stateous.errors import StateousError
from stateous.visible import visible

#: Codes of failures that no control plane need answer (`docs/spec/authoring.md` 9.2).
_OWN_CODES = frozenset({"does_not_import", "invalid_workflow", "invalid_definition", "not_starter"})


class CommandError(StateousError):
    """A command that cannot be done as it was typed; the text says what to type instead."""


class ProblemsFound(StateousError):
    """A workflow that is not valid: one sentence, then a line for each problem.

    ``problems`` are the same as objects: ``code``, ``place``, ``workflow``, ``text``.
    """

    code = "invalid_workflow"

    def __init__(
        self, sentence: str, lines: Sequence[str], problems: Sequence[dict[str, Any]]
    ) -> None:
        super().__init__(sentence)
        self.lines = tuple(lines)
        self.problems = tuple(problems)


class ChartProblemsFound(ProblemsFound):
    """A statechart that is not valid; ``problems`` have ``code``, ``place``, ``where``, ``text``."""

    code = "invalid_definition"


def failure_text(error: StateousError) -> str:
    """What stderr says: `error: <sentence>`, and of a definition a line per problem."""
    lines = error.lines if isinstance(error, ProblemsFound) else ()
    return "\n".join([f"error: {visible(_sentence(error))}", *map(visible, lines)])


def failure_document(error: StateousError) -> dict[str, Any]:
    """What ``--json`` prints: ``{"error": {"code", "message"}}``; of a definition its problems too."""
    document: dict[str, Any] = {"error": {"code": _code(error), "message": _sentence(error)}}
    if isinstance(error, ProblemsFound):
        document["problems"] = list(error.problems)
    return document


def _sentence(error: StateousError) -> str:
    """What went wrong; where nobody listens, also what to type next."""
    if error.code != "unreachable":  # the client takes long to import
        return str(error)
    from stateous_client.errors import Unreachable

    if isinstance(error, Unreachable) and error.refused:
        return f"{error}; start one with `stateous serve`, or name another with --url"
    return str(error)


def _code(error: StateousError) -> str:
    from stateous_client.errors import Refused

    if isinstance(error, Refused):
        return error.code or "failed"
    return error.code if error.code in _OWN_CODES else "failed"
