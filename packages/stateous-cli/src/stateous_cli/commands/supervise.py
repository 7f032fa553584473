"""`stateous supervise` (`docs/spec/authoring.md` 8, `docs/spec/statechart.md` 17)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stateous_cli.optional import needed
from stateous_cli.shell import run


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command()(supervise)


def supervise(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help="The supervisor's folder: contract.py, stateous.yaml, routines. Not needed with "
            "--scripts.",
        ),
    ] = None,
    scripts: Annotated[
        bool,
        typer.Option(
            "--scripts",
            help="Run the scripts of charts too, each in a process of its own that can only compute.",
        ),
    ] = False,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="The address of the control plane. [env var: STATEOUS_URL; then stateous.yaml]",
        ),
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(
            "--tasks",
            metavar="N",
            help="How many routines run at once. [env var: STATEOUS_TASKS; then stateous.yaml]",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="The name in histories. [env var: STATEOUS_NAME; then stateous.yaml; then the "
            "computer's name]",
        ),
    ] = None,
) -> None:
    """Run the routines of a folder, scripts, or both, until Ctrl-C. The first lets them finish."""
    if folder is None and not scripts:
        raise typer.BadParameter("it is needed without --scripts", param_hint="'FOLDER'")

    def process() -> int:
        with needed("stateous-supervisor", by="supervise"):
            from stateous_cli.actions import supervising
        return supervising.supervise(folder, url=url, tasks=tasks, name=name, scripts=scripts)

    run(process)
