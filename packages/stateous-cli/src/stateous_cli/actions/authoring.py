"""`stateous compile` and `stateous init`: what the compiler did, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stateous.json import write_json
from stateous.visible import visible
from stateous_cli.answer import Answer
from stateous_cli.failures import CommandError, ProblemsFound
from stateous_client import Client, Unreachable
from stateous_compiler import compile as compiler
from stateous_compiler import scaffold
from stateous_compiler.errors import InvalidChart, InvalidWorkflow
from stateous_compiler.problems import Problem


def compile_flow(flow: Path, out: Path | None, *, diagram: bool = False) -> Answer:
    """Check a workflow and write its graph file, and with ``diagram`` its picture.

    Raises:
        ProblemsFound: the workflow is not valid; no file was written or removed.
        CompileError: the source is no workflow, or a file cannot be written.
        GraphError: the workflow is too large to be drawn.
    """
    with _problems_as_lines():
        compiled = compiler.compile_flow(flow, out=out, diagram=diagram)
    document = compiled.document
    wrote = [compiled.graph, *([compiled.diagram] if compiled.diagram else [])]
    return Answer(
        {
            "workflow": document.workflow,
            "graph": str(compiled.graph),
            "diagram": None if compiled.diagram is None else str(compiled.diagram),
            "checksum": document.checksum,
            "structure": document.structure,
            "contract": document.contract,
            "warnings": [_problem(warning) for warning in compiled.warnings],
        },
        [f"wrote {path}" for path in wrote],
        [f"warning: {visible(str(warning))}" for warning in compiled.warnings],
    )


def init_workflow(name: str, find_links: Path | None) -> Answer:
    """Write a starter workflow, and compile it.

    Raises:
        ProblemsFound, CompileError: it could not be written or compiled.
    """
    with _problems_as_lines():
        made = scaffold.init_workflow(name, find_links=find_links)
    steps = ["", "Next steps:", *(f"  {command}" for command in made.next)]
    return _made(made, steps)


def init_supervisor(source: str, folder: Path, find_links: Path | None) -> Answer:
    """Write the folder of a supervisor, or renew its contract.

    Raises:
        ProblemsFound, CompileError: the source gives no workflow, or a file cannot be written.
    """
    with _problems_as_lines():
        made = scaffold.init_supervisor(source, folder, fetch=_fetch, find_links=find_links)
    stubs = [file for file in made.files if file.action == "wrote" and _is_stub(file.path)]
    step = ["", f"Write the routines, then run: {made.next[0]}"] if stubs else []
    return _made(made, step)


def _is_stub(path: Path) -> bool:
    return path.suffix == ".py" and path.name != "contract.py"


def _fetch(url: str) -> bytes:
    try:
        with Client(url) as client:
            return write_json(client.workflow()).encode()
    except Unreachable as error:
        if not error.refused:
            raise
        step = "start one with `stateous serve`, or name a graph file in place of the URL"
        raise CommandError(f"{error}; {step}") from None


def _made(made: scaffold.Scaffold, steps: list[str]) -> Answer:
    files = [
        {"action": file.action, "path": str(file.path), "note": file.note} for file in made.files
    ]
    document = {"files": files, "next": list(made.next)}
    return Answer(document, [*(str(file) for file in made.files), *steps])


@contextmanager
def _problems_as_lines() -> Iterator[None]:
    try:
        yield
    except InvalidWorkflow as error:
        raise ProblemsFound(
            f"workflow {error.workflow!r} is not valid:",
            [f"  - {problem}" for problem in error.problems],
            [_problem(problem) for problem in error.problems],
        ) from None
    except InvalidChart as error:
        from stateous_cli.actions.charting import problems_of

        raise problems_of(error) from None


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "code": problem.code,
        "place": problem.place,
        "workflow": problem.workflow,
        "text": problem.text,
    }
