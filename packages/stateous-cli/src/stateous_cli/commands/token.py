"""`stateous token`: start, fire and show (`docs/spec/wire.md` 8)."""

from __future__ import annotations

from typing import Annotated

import typer

from stateous_cli.commands.bare import show_help_when_bare
from stateous_cli.commands.options import DEFAULT_URL, AsJson, Url
from stateous_cli.shell import present

app = typer.Typer(rich_markup_mode=None)

TokenId = Annotated[str, typer.Argument(metavar="ID", help="The token's id.")]


@app.callback(invoke_without_command=True)
def token(context: typer.Context) -> None:
    """Start tokens, fire events at them, and see where they are."""
    show_help_when_bare(context)


@app.command()
def start(
    token_id: TokenId,
    context: Annotated[
        str | None,
        typer.Argument(
            metavar="CONTEXT_JSON", help="""The token's context, e.g. '{"title": "May"}'."""
        ),
    ] = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Start a token. One that exists is shown, and stays as it is."""
    from stateous_cli.actions import token as tokens

    present(lambda: tokens.start(url, token_id, context), as_json=as_json)


@app.command()
def fire(
    token_id: TokenId,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The name of the event.")],
    payload: Annotated[
        str | None,
        typer.Argument(
            metavar="PAYLOAD_JSON", help="""The event's payload, e.g. '{"approved": true}'."""
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            help="An idempotency key: an event with a key that the token knows is not applied again.",
        ),
    ] = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Fire an event at a token."""
    from stateous_cli.actions import token as tokens

    present(lambda: tokens.fire(url, token_id, event, payload, key=key), as_json=as_json)


@app.command()
def show(
    token_id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="The token's id. Without it, the tokens are listed."),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option("--after", metavar="SEQ", min=0, help="Only the history behind this entry."),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="Only tokens that are active, paused, completed, failed or cancelled.",
        ),
    ] = None,
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE", help="Only tokens in this state.")
    ] = None,
    workflow: Annotated[
        str | None,
        typer.Option("--workflow", metavar="WORKFLOW", help="Only tokens of this workflow."),
    ] = None,
    parent: Annotated[
        str | None, typer.Option("--parent", metavar="ID", help="Only the children of this token.")
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option("--prefix", metavar="TEXT", help="Only tokens whose ids begin with it."),
    ] = None,
    moved_after: Annotated[
        str | None,
        typer.Option(
            "--moved-after",
            metavar="MOMENT",
            help="Only tokens that entered their state later, e.g. 2027-03-01T09:00:00Z.",
        ),
    ] = None,
    moved_before: Annotated[
        str | None,
        typer.Option(
            "--moved-before", metavar="MOMENT", help="Only tokens that entered their state earlier."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", help="At most so many tokens (1 to 1000; 100)."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All tokens, however many.")] = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show a token with its children and its history, or list the tokens."""
    from stateous_cli.actions import token as tokens

    filters = {
        "status": status,
        "state": state,
        "workflow": workflow,
        "parent": parent,
        "prefix": prefix,
        "moved_after": moved_after,
        "moved_before": moved_before,
    }
    given = {name: value for name, value in filters.items() if value is not None}
    if token_id is None:
        if after is not None:
            raise typer.BadParameter("it needs the ID of a token", param_hint="'--after'")
        if everything and limit is not None:
            raise typer.BadParameter("it does not go with --limit", param_hint="'--all'")
        present(
            lambda: tokens.list_tokens(url, given, limit=limit, everything=everything),
            as_json=as_json,
        )
        return
    if given or limit is not None or everything:
        raise typer.BadParameter("filters list tokens; one token is shown without them")
    present(lambda: tokens.show(url, token_id, after=after or 0), as_json=as_json)
