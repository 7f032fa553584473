"""`stateous token`: start, fire, show, list, watch and steer tokens (`docs/spec/wire.md` 8)."""

from __future__ import annotations

from typing import Annotated

import typer

from stateous_cli.commands import filters
from stateous_cli.commands.bare import Help, show_help_when_bare
from stateous_cli.commands.options import DEFAULT_URL, AsJson, Url
from stateous_cli.shell import follow, present

app = typer.Typer(rich_markup_mode=None, add_help_option=False)

TokenId = Annotated[str, typer.Argument(metavar="ID", help="The token's id.")]


@app.callback(invoke_without_command=True)
def token(context: typer.Context, show_help: Help = False) -> None:
    """Start tokens, fire events at them, see where they are, and steer them."""
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
    graph: Annotated[
        bool, typer.Option("--graph", help="Draw the served workflow, as Mermaid text.")
    ] = False,
    after: Annotated[
        int | None,
        typer.Option("--after", metavar="SEQ", min=0, help="Only the history behind this entry."),
    ] = None,
    status: filters.Status = None,
    state: filters.State = None,
    workflow: filters.WorkflowName = None,
    parent: filters.Parent = None,
    prefix: filters.Prefix = None,
    moved_after: filters.MovedAfter = None,
    moved_before: filters.MovedBefore = None,
    limit: filters.Limit = None,
    everything: filters.Everything = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show a token with its children and its history, list the tokens, or draw the workflow."""
    from stateous_cli.actions import token as tokens

    given = filters.given(
        status=status,
        state=state,
        workflow=workflow,
        parent=parent,
        prefix=prefix,
        moved_after=moved_after,
        moved_before=moved_before,
    )
    filtered = bool(given) or limit is not None or everything
    if graph:
        if token_id is not None or after is not None or filtered:
            raise typer.BadParameter(
                "it draws the workflow, and goes with no ID and no filter", param_hint="'--graph'"
            )
        present(lambda: tokens.diagram(url), as_json=as_json)
    elif token_id is not None:
        if filtered:
            raise typer.BadParameter("filters list tokens; one token is shown without them")
        present(lambda: tokens.show(url, token_id, after=after or 0), as_json=as_json)
    else:
        if after is not None:
            raise typer.BadParameter("it needs the ID of a token", param_hint="'--after'")
        filters.refuse_limit_of_all(limit, everything)
        present(
            lambda: tokens.list_tokens(url, given, limit=limit, everything=everything),
            as_json=as_json,
        )


@app.command("list")
def list_(
    status: filters.Status = None,
    state: filters.State = None,
    workflow: filters.WorkflowName = None,
    parent: filters.Parent = None,
    prefix: filters.Prefix = None,
    moved_after: filters.MovedAfter = None,
    moved_before: filters.MovedBefore = None,
    limit: filters.Limit = None,
    everything: filters.Everything = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """List the tokens, the most recently moved first."""
    from stateous_cli.actions import token as tokens

    given = filters.given(
        status=status,
        state=state,
        workflow=workflow,
        parent=parent,
        prefix=prefix,
        moved_after=moved_after,
        moved_before=moved_before,
    )
    filters.refuse_limit_of_all(limit, everything)
    present(
        lambda: tokens.list_tokens(url, given, limit=limit, everything=everything),
        as_json=as_json,
    )


@app.command()
def watch(token_id: TokenId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Show a token's history as it grows. Ends with the token: 0 completed, else 1."""
    from stateous_cli.actions import token as tokens

    follow(lambda: tokens.watch(url, token_id), as_json=as_json)


@app.command()
def pause(token_id: TokenId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Pause a token and its children: timers stand still, events are held."""
    from stateous_cli.actions import token as tokens

    present(lambda: tokens.pause(url, token_id), as_json=as_json)


@app.command()
def resume(token_id: TokenId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Resume a paused token and its children, and apply the events that were held."""
    from stateous_cli.actions import token as tokens

    present(lambda: tokens.resume(url, token_id), as_json=as_json)


@app.command()
def cancel(token_id: TokenId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Cancel a token and its children, for good."""
    from stateous_cli.actions import token as tokens

    present(lambda: tokens.cancel(url, token_id), as_json=as_json)


@app.command()
def tasks(
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="Only tasks that are queued, claimed, waiting, done, failed or cancelled.",
        ),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="Only tasks of this state; a child's is WORKFLOW/STATE.",
        ),
    ] = None,
    token_id: Annotated[
        str | None, typer.Option("--token", metavar="ID", help="Only tasks of this token.")
    ] = None,
    limit: filters.Limit = None,
    everything: filters.Everything = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """List the tasks, the oldest first."""
    from stateous_cli.actions import token as tokens

    filters.refuse_limit_of_all(limit, everything)
    given = filters.given(status=status, state=state, token=token_id)
    present(
        lambda: tokens.list_tasks(url, given, limit=limit, everything=everything), as_json=as_json
    )
