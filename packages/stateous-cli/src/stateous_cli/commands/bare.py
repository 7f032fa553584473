"""A group of commands, called without any of them: with `--help`, or bare.

Groups have this `--help` in place of Typer's. Typer converts the absent value of its own with
pydantic whenever a command of the group runs, which triples the time of `token show --help`.
"""

from __future__ import annotations

from typing import Annotated

import typer


def _show_help(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        typer.echo(context.get_help())
        raise typer.Exit


Help = Annotated[
    bool,
    typer.Option(
        "--help", "-h", is_eager=True, callback=_show_help, help="Show this message and exit."
    ),
]


def show_help_when_bare(context: typer.Context) -> None:
    """End with the group's help on stdout and exit code 2 when no command was named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
