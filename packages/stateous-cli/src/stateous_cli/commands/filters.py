"""The options that say which tokens a list shows, shared by `token show` and `token list`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Status = Annotated[
    str | None,
    typer.Option(
        "--status",
        metavar="STATUS",
        help="Only tokens that are active, paused, completed, failed or cancelled.",
    ),
]
State = Annotated[
    str | None, typer.Option("--state", metavar="STATE", help="Only tokens in this state.")
]
WorkflowName = Annotated[
    str | None,
    typer.Option("--workflow", metavar="WORKFLOW", help="Only tokens of this workflow."),
]
Parent = Annotated[
    str | None, typer.Option("--parent", metavar="ID", help="Only the children of this token.")
]
Prefix = Annotated[
    str | None,
    typer.Option("--prefix", metavar="TEXT", help="Only tokens whose ids begin with it."),
]
MovedAfter = Annotated[
    str | None,
    typer.Option(
        "--moved-after",
        metavar="MOMENT",
        help="Only tokens that entered their state later, e.g. 2027-03-01T09:00:00Z.",
    ),
]
MovedBefore = Annotated[
    str | None,
    typer.Option(
        "--moved-before", metavar="MOMENT", help="Only tokens that entered their state earlier."
    ),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", help="At most so many (1 to 1000; 100)."),
]
Everything = Annotated[bool, typer.Option("--all", help="All of them, however many.")]


def given(**filters: Any) -> dict[str, Any]:
    """The filters that were typed."""
    return {name: value for name, value in filters.items() if value is not None}


def refuse_limit_of_all(limit: int | None, everything: bool) -> None:
    """Raises BadParameter when both `--limit` and `--all` were typed."""
    if everything and limit is not None:
        raise typer.BadParameter("it does not go with --limit", param_hint="'--all'")
