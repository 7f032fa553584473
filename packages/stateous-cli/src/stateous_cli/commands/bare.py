"""A group of commands that is called without any: its help on stdout, and exit code 2."""

from __future__ import annotations

import typer


def show_help_when_bare(context: typer.Context) -> None:
    """End with the group's help when no command was named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
