"""`stateous compile`: from ``flow.py`` to the graph file (`docs/spec/authoring.md` 5)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from stateous.graph.diagram import diagram_text
from stateous.graph.document import GraphDocument
from stateous.graph.reading import read_graph
from stateous_compiler.checks import find_problems, find_warnings
from stateous_compiler.compilation import begin
from stateous_compiler.contract import contract_text
from stateous_compiler.errors import InvalidWorkflow
from stateous_compiler.files import write_whole
from stateous_compiler.flow import LoadedFlow, load_flow
from stateous_compiler.graph import build_graph, file_text
from stateous_compiler.problems import Problem


@dataclass(frozen=True, slots=True)
class Checked:
    """A workflow without problems. ``text`` is the graph file, ``contract`` its ``contract.py``."""

    document: GraphDocument
    text: str
    contract: str
    warnings: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A graph file that was written to ``graph``, and the diagram if one was asked for."""

    document: GraphDocument
    graph: Path
    diagram: Path | None
    warnings: tuple[Problem, ...]


def check_flow(flow: str | os.PathLike[str]) -> Checked:
    """Compile in memory.

    Raises:
        FlowImportError: the file does not give a workflow to compile.
        InvalidWorkflow: the workflow has problems; it carries all of them.
    """
    return check_loaded(load_flow(os.fspath(flow)))


def check_loaded(loaded: LoadedFlow) -> Checked:
    """Compile a workflow that is loaded already.

    Raises:
        InvalidWorkflow: the workflow has problems; it carries all of them.
    """
    compilation = begin(loaded)
    problems = find_problems(compilation)
    if problems:
        raise InvalidWorkflow(compilation.top.name, problems)
    models = compilation.models
    text = file_text(build_graph(compilation.flows, models.keys, models.schemas))
    # What was written is read as everything else will read it: no reader refuses our own file.
    document = read_graph(text.encode())
    warnings = find_warnings(compilation)
    return Checked(document, text, contract_text(document), tuple(warnings))


def compile_flow(
    flow: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    diagram: bool = False,
) -> Compiled:
    """Compile ``flow`` and write its graph file, without ``out`` to ``build/`` beside it.

    With ``diagram`` the workflow is also drawn, into a file beside the graph file (9.4).

    Raises:
        FlowImportError, InvalidWorkflow: as :func:`check_flow`; no file is written or removed.
        CompileError: a file cannot be written.
        GraphError: the workflow is too large for a diagram; no file is written.
    """
    checked = check_flow(flow)
    graph = Path(out) if out is not None else default_graph_path(flow, checked.document.workflow)
    picture = diagram_text(checked.document) if diagram else None
    write_whole(graph, checked.text)
    if picture is None:
        return Compiled(checked.document, graph, None, checked.warnings)
    drawn = diagram_path(graph)
    write_whole(drawn, picture)
    return Compiled(checked.document, graph, drawn, checked.warnings)


def default_graph_path(flow: str | os.PathLike[str], workflow: str) -> Path:
    """``<folder of flow.py>/build/<workflow>.json``."""
    return Path(flow).parent / "build" / f"{workflow}.json"


def diagram_path(graph: Path) -> Path:
    """``<graph file without .json>.mmd``."""
    return graph.with_name(f"{graph.name.removesuffix('.json')}.mmd")
