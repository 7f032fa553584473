"""Problems and warnings, and the order in which they are told (`docs/spec/authoring.md` 5.3, 5.4).

The order is: the codes over the tree (A), then workflow by workflow those of one workflow (B), then
again the tree (C). Inside a code the order of the declarations counts, which is the order in which
the checks find them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

#: A1 and A2: the tree.
TREE_CODES: Final = ("self-nesting", "workflow-name-twice")

#: B3 to B21: one workflow.
FLOW_CODES: Final = (
    "no-states",
    "no-start",
    "no-end",
    "unreachable-state",
    "unmarked-fallback",
    "guards-overlap",
    "guards-unproven",
    "unknown-context-key",
    "unknown-payload-field",
    "unknown-branch-field",
    "in-not-list",
    "into-without-payload",
    "unknown-into-key",
    "into-type",
    "unknown-input",
    "missing-input",
    "no-joined",
    "error-on-parallel",
    "unknown-count",
    "start-without-fallback",
)

#: C22 to C25: the tree again.
NAME_CODES: Final = ("child-id-too-long", "model-name-twice", "model-schema", "contract-name")

#: The warnings, for one workflow.
WARNING_CODES: Final = ("uncovered", "never-true", "dead-end", "unused-event", "no-timeout")

#: Codes that share the number of another one.
_SAME_NUMBER: Final = {"guards-unproven": "guards-overlap"}


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem or warning. ``place`` is ``<file>:<line>``, ``workflow`` whose place it is.

    Prints as ``<place>: <text>``.
    """

    code: str
    place: str
    workflow: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


def in_order(problems: Iterable[Problem], codes: tuple[str, ...]) -> list[Problem]:
    """``problems`` by their place in ``codes``; those of one number stay in their order."""
    return sorted(
        problems, key=lambda problem: codes.index(_SAME_NUMBER.get(problem.code, problem.code))
    )
