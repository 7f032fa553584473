"""`stateous init`: a new workflow, a new supervisor (`docs/spec/authoring.md` 7.5, 7.6)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stateous_cli.answer import Answer
from stateous_cli.commands.bare import Help, show_help_when_bare
from stateous_cli.commands.options import AsJson, FindLinks
from stateous_cli.optional import needed
from stateous_cli.shell import present

app = typer.Typer(rich_markup_mode=None, add_help_option=False)


@app.callback(invoke_without_command=True)
def init(context: typer.Context, show_help: Help = False) -> None:
    """Write the files of a new workflow, or of a supervisor for one."""
    show_help_when_bare(context)


@app.command()
def workflow(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The workflow's name, and that of its folder.")
    ],
    find_links: FindLinks = None,
    as_json: AsJson = False,
) -> None:
    """Write a starter workflow into the folder NAME, and compile it."""

    def action() -> Answer:
        with needed("stateous-compiler", by="init workflow"):
            from stateous_cli.actions import authoring
        return authoring.init_workflow(name, find_links)

    present(action, as_json=as_json)


@app.command()
def supervisor(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A flow.py, a chart, a graph file, or the URL of a control plane.",
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The supervisor's folder.")],
    find_links: FindLinks = None,
    as_json: AsJson = False,
) -> None:
    """Write contract.py and a stub per state into FOLDER; for a chart, a stub per routine.

    Run it again after the workflow has changed: the contract is written again, stubs that exist stay.
    """

    def action() -> Answer:
        with needed("stateous-compiler", by="init supervisor"):
            from stateous_cli.actions import authoring
        return authoring.init_supervisor(source, folder, find_links)

    present(action, as_json=as_json)
