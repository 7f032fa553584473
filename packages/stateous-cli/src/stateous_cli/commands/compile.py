"""`stateous compile` (`docs/spec/authoring.md` 5)."""

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
    app.command("compile")(compile_flow)


def compile_flow(
    flow: Annotated[
        Path, typer.Argument(metavar="FLOW", help="The workflow, e.g. orders/flow.py.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="PATH",
            help="Where the graph file goes. [default: build/<workflow>.json beside FLOW]",
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
    """Check a workflow, and write its graph file."""

    def action() -> Answer:
        with needed("stateous-compiler", by="compile"):
            from stateous_cli.actions import authoring
        return authoring.compile_flow(flow, out, diagram=diagram)

    present(action, as_json=as_json)
