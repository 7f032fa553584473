"""`stateous compile` of a chart: from ``review.yaml`` to the graph file (`docs/spec/statechart.md` 2)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from stateous.graph.document import FORMAT
from stateous.json import Json
from stateous.statechart.diagram import diagram_text
from stateous.statechart.document import KIND, ChartDocument
from stateous.statechart.facts import Finding
from stateous.statechart.reading import examine
from stateous_compiler.errors import CompileError, InvalidChart
from stateous_compiler.files import write_whole
from stateous_compiler.statechart.gathering import Gathering
from stateous_compiler.statechart.lower import Lowering
from stateous_compiler.statechart.nodes import (
    Leaf,
    Member,
    Members,
    Node,
    Place,
    place_of,
    plain,
    text_of,
)
from stateous_compiler.statechart.problems import ChartProblem, in_order
from stateous_compiler.statechart.scripts import syntax_problem
from stateous_compiler.statechart.sources import CannotRead
from stateous_compiler.statechart.warnings import find_warnings


@dataclass(frozen=True, slots=True)
class CheckedChart:
    """A chart without problems; ``text`` is its graph file."""

    document: ChartDocument
    text: str
    warnings: tuple[ChartProblem, ...]


@dataclass(frozen=True, slots=True)
class CompiledChart:
    """A graph file that was written to ``graph``, and the diagram if one was asked for."""

    document: ChartDocument
    graph: Path
    diagram: Path | None
    warnings: tuple[ChartProblem, ...]


def check_chart(chart: str | os.PathLike[str]) -> CheckedChart:
    """Compile in memory, with every file that the chart names.

    Raises:
        CompileError: the file itself cannot be read.
        InvalidChart: the chart has problems; it carries all of them.
    """
    path = Path(chart)
    gathering = Gathering(path)
    try:
        source = gathering.chart()
    except CannotRead as error:
        if error.code == "file-not-found":
            raise CompileError(f"{path} {error.reason}") from None
        problem = ChartProblem(error.code, Place(path.name, 1), "", str(error))
        raise InvalidChart(path.name, [problem]) from None
    if source is None:
        raise InvalidChart(path.name, in_order(gathering.problems))
    return check_tree(source, gathering)


def check_tree(source: Members, gathering: Gathering) -> CheckedChart:
    """Compile a chart whose own file is read already.

    Raises:
        InvalidChart: the chart has problems; it carries all of them.
    """
    tree = _lower(source, gathering)
    raw = plain(tree)
    examined = examine(raw)
    found = [_placed(finding, tree, raw) for finding in _untold(examined.findings, gathering)]
    problems = [*gathering.told(raw), *found, *_syntax(gathering.scripts.values())]
    if problems or examined.chart is None:
        name = text_of(tree.get(KIND)) or gathering.file
        raise InvalidChart(name, in_order(problems))
    warnings = [_placed(finding, tree, raw) for finding in find_warnings(examined.chart)]
    return CheckedChart(examined.chart, file_text(raw), in_order(warnings))


def compile_chart(
    chart: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    diagram: bool = False,
) -> CompiledChart:
    """Compile ``chart`` and write its graph file, without ``out`` to ``build/`` beside it.

    With ``diagram`` the chart is also drawn, into a file beside the graph file.

    Raises:
        CompileError, InvalidChart: as :func:`check_chart`, or a file cannot be written.
        GraphError: the chart is too large for a diagram. No file is written then.
    """
    checked = check_chart(chart)
    default = Path(chart).parent / "build" / f"{checked.document.name}.json"
    graph = default if out is None else Path(out)
    picture = diagram_text(checked.document) if diagram else None
    write_whole(graph, checked.text)
    if picture is None:
        return CompiledChart(checked.document, graph, None, checked.warnings)
    drawn = graph.with_name(f"{graph.name.removesuffix('.json')}.mmd")
    write_whole(drawn, picture)
    return CompiledChart(checked.document, graph, drawn, checked.warnings)


def file_text(raw: Json) -> str:
    """The text of a graph file."""
    return json.dumps(raw, indent=2, allow_nan=False) + "\n"


def _lower(source: Members, gathering: Gathering) -> Members:
    """The whole document in normal form: the chart, then the machines as they are met."""
    chart = Lowering(gathering, gathering.file).chart(source, ())
    while (waiting := gathering.next()) is not None:
        path = ("machines", waiting.path)
        lowered = Lowering(gathering, waiting.file).chart(waiting.source, path)
        gathering.lowered(waiting.path, lowered)
    return Members(
        source.place,
        {
            "stateous": Member(source.place, Leaf(source.place, FORMAT)),
            **chart.members,
            "scripts": _by_path(gathering.scripts, source.place),
            "machines": _by_path(gathering.machines, source.place),
        },
    )


def _by_path(files: Mapping[str, Node], place: Place) -> Member:
    members = {path: Member(node.place, node) for path, node in files.items()}
    return Member(place, Members(place, members))


def _untold(findings: Iterable[Finding], gathering: Gathering) -> Iterator[Finding]:
    """The findings without those of files whose absence was told where it was noticed."""
    for finding in findings:
        if not (finding.code == "file-not-found" and finding.path in gathering.missing):
            yield finding


def _placed(finding: Finding, tree: Node, raw: Json) -> ChartProblem:
    code, where, text = finding.problem(raw)
    return ChartProblem(code, place_of(tree, finding.path), where, text)


def _syntax(scripts: Iterable[Leaf]) -> Iterator[ChartProblem]:
    for script in scripts:
        found = syntax_problem(str(script.value))
        if found is not None:
            line, text = found
            place = Place(script.place.file, line)
            yield ChartProblem("script-syntax", place, "", text)
