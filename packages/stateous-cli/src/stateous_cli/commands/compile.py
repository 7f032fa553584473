"""`stateous compile` (`docs/spec/authoring.md` 5, `docs/spec/statechart.md` 17)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stateous_cli.answer import Answer
from stateous_cli.commands.options import AsJson
from stateous_cli.optional import needed
from stateous_cli.shell import present


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("compile")(compile_source)


def compile_source(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="A workflow, e.g. orders/flow.py, or a chart, e.g. review.yaml."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="Where the graph file goes. [default: build/<name>.json beside SOURCE]",
        ),
    ] = None,
    diagram: Annotated[
        bool,
        typer.Option(
            "--diagram", help="Also draw it: a Mermaid file (.mmd) beside the graph file."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a workflow or a statechart, and write its graph file."""

    def action() -> Answer:
        # A chart needs no prover, a workflow no YAML: each loads its own.
        with needed("stateous-compiler", by="compile"):
            from stateous_compiler.front_end import is_chart
        if is_chart(source):
            from stateous_cli.actions import charting

            return charting.compile_statechart(source, out, diagram=diagram)
        from stateous_cli.actions import authoring

        return authoring.compile_flow(source, out, diagram=diagram)

    present(action, as_json=as_json)
