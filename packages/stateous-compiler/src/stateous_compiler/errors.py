"""The failures of compiling and scaffolding; each prints what stands behind ``error: ``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stateous.errors import StateousError
from stateous_compiler.problems import Problem

if TYPE_CHECKING:
    from stateous_compiler.statechart.problems import ChartProblem


class CompileError(StateousError):
    """A compile or an ``init`` that did not succeed; nothing half-done is left behind.

    The subclasses carry the codes of `docs/spec/authoring.md` 9.2.
    """


class FlowImportError(CompileError):
    """``flow.py`` gave no workflow to compile: a failure of `docs/spec/authoring.md` 5.1."""

    code = "does_not_import"


class InvalidWorkflow(CompileError):
    """The workflow has problems; ``problems`` holds all of them in the order of 5.3."""

    code = "invalid_workflow"

    def __init__(self, workflow: str, problems: Sequence[Problem]) -> None:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"workflow {workflow!r} is not valid:{lines}")
        self.workflow = workflow
        self.problems = tuple(problems)


class InvalidChart(CompileError):
    """A statechart has problems; ``problems`` holds all of them, in the order of the files."""

    code = "invalid_definition"

    def __init__(self, chart: str, problems: Sequence[ChartProblem]) -> None:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        super().__init__(f"statechart {chart!r} is not valid:{lines}")
        self.chart = chart
        self.problems = tuple(problems)
