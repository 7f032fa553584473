"""`stateous compile` of a statechart: what the compiler did, as lines and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stateous.visible import visible
from stateous_cli.answer import Answer
from stateous_cli.failures import ChartProblemsFound
from stateous_compiler.errors import InvalidChart
from stateous_compiler.statechart.compile import compile_chart
from stateous_compiler.statechart.problems import ChartProblem


def compile_statechart(chart: Path, out: Path | None, *, diagram: bool = False) -> Answer:
    """Check a chart and write its graph file, and with ``diagram`` its picture.

    Raises:
        ProblemsFound: the chart is not valid; no file was written or removed.
        CompileError: the chart cannot be read, or a file cannot be written.
    """
    try:
        compiled = compile_chart(chart, out=out, diagram=diagram)
    except InvalidChart as error:
        raise problems_of(error) from None
    wrote = [compiled.graph, *([compiled.diagram] if compiled.diagram else [])]
    return Answer(
        {
            "statechart": compiled.document.name,
            "graph": str(compiled.graph),
            "diagram": None if compiled.diagram is None else str(compiled.diagram),
            "checksum": compiled.document.checksum,
            "warnings": [_problem(warning) for warning in compiled.warnings],
        },
        [f"wrote {path}" for path in wrote],
        [f"warning: {visible(str(warning))}" for warning in compiled.warnings],
    )


def problems_of(error: InvalidChart) -> ChartProblemsFound:
    """The failure of a command that found the chart not valid."""
    return ChartProblemsFound(
        f"statechart {error.chart!r} is not valid:",
        [f"  - {problem}" for problem in error.problems],
        [_problem(problem) for problem in error.problems],
    )


def _problem(problem: ChartProblem) -> dict[str, Any]:
    return {
        "code": problem.code,
        "place": str(problem.place),
        "where": problem.where,
        "text": problem.text,
    }
