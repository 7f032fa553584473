"""The error tree of Stateous: every error that a caller can meet has its place here.

::

    StateousError
    ├── DefinitionError          a wrong call while a workflow is declared (has a place)
    ├── GuardError               (ValueError) a guard that is not of the guard language
    ├── GraphError               (ValueError) a graph document that cannot be used
    │   └── InvalidDefinition    a statechart that breaks rules (has all its problems)
    ├── JsonError                (ValueError) bytes that are not strict JSON
    ├── OutcomeError             (ValueError) data that makes no occurrence of a state
    └── stateous_client.ClientError, stateous_compiler.CompileError, …   of the packages above

Each class carries a stable ``code``; ``docs/errors/<code>.md`` explains those that reach a user.
The refusals of the HTTP API are values, not exceptions: see :mod:`stateous.wire.problems`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from stateous.statechart.problems import Problem


class StateousError(Exception):
    """The root of the tree. Its text is one plain sentence for a person."""

    code: ClassVar[str] = "failed"


class DefinitionError(StateousError):
    """A wrong call while a workflow is declared (`docs/spec/authoring.md` 2.2).

    ``file`` and ``line`` tell where the call begins. Prints as ``<file name>:<line>: <sentence>``.
    """

    code = "invalid_workflow"

    def __init__(self, sentence: str, *, file: str, line: int) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.file = file
        self.line = line

    def __str__(self) -> str:
        return f"{PurePath(self.file).name}:{self.line}: {self.sentence}"


class GuardError(StateousError, ValueError):
    """A guard outside the guard language (`docs/spec/authoring.md` 3.2).

    The text begins with ``guard <repr of the text>: `` and names the reason.
    """

    code = "invalid_workflow"

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"guard {text!r}: {reason}")
        self.text = text
        self.reason = reason


class GraphError(StateousError, ValueError):
    """A graph document that cannot be used (`docs/spec/authoring.md` 6.4)."""

    code = "invalid_graph"


class InvalidDefinition(GraphError):
    """A statechart that breaks rules of `docs/spec/statechart.md` 1.5; ``problems`` has them all.

    ``name`` is the chart's, ``?`` when it has none.
    """

    code = "invalid_definition"

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        lines = "".join(f"\n  - {each.where or 'the chart'}: {each.text}" for each in problems)
        super().__init__(f"statechart {name!r} is not valid:{lines}")
        self.name = name
        self.problems = tuple(problems)


class JsonError(StateousError, ValueError):
    """Bytes that the strict reader refuses (`docs/spec/wire.md` 1.3).

    ``problem`` is the code that the HTTP API answers: ``bad_request`` for what is not strict JSON
    or nests too deep, ``invalid_body`` for U+0000 in a text.
    """

    code = "bad_request"

    def __init__(
        self, sentence: str, problem: Literal["bad_request", "invalid_body"] = "bad_request"
    ) -> None:
        super().__init__(sentence)
        self.problem = problem


class OutcomeError(StateousError, ValueError):
    """Data that makes no occurrence of a state's events (`docs/spec/authoring.md` 8.5)."""

    code = "invalid_outcome"
