"""`stateous run`: submit charts, and see, answer and steer their runs (`docs/spec/statechart.md` 17)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stateous_cli.answer import Answer
from stateous_cli.commands import filters
from stateous_cli.commands.bare import Help, show_help_when_bare
from stateous_cli.commands.options import DEFAULT_URL, AsJson, Url
from stateous_cli.shell import present

app = typer.Typer(rich_markup_mode=None, add_help_option=False)

RunId = Annotated[str, typer.Argument(metavar="ID", help="The run's id.")]


@app.callback(invoke_without_command=True)
def run(context: typer.Context, show_help: Help = False) -> None:
    """Submit statecharts, see how their runs are, answer their tickets, and steer them."""
    show_help_when_bare(context)


@app.command()
def submit(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The chart, e.g. review.yaml, or a compiled document."),
    ],
    input_json: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="JSON", help="""The run's input, e.g. '{"document": "the plan"}'."""
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="The run's key: one live run has it."),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The run's id, else one is made.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the end, as `run show --wait` does.")
    ] = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Start a run of a chart, and print its id."""
    from stateous_cli.actions import run as runs
    from stateous_cli.actions.submitting import submit as submit_run

    def action() -> Answer:
        submitted = submit_run(url, file, input_json, key=key, run_id=run_id)
        if not wait:
            return submitted
        if not as_json:
            typer.echo(submitted.lines[0])
        return runs.wait_for_end(url, submitted.document["id"])

    present(action, as_json=as_json)


@app.command()
def show(
    run_id: RunId,
    tickets: Annotated[
        bool, typer.Option("--tickets", help="Print the open tickets with their values.")
    ] = False,
    history: Annotated[bool, typer.Option("--history", help="Print the run's history.")] = False,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait for the end; with --tickets for the first ticket."),
    ] = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show a run: where it is, what it waits for, what came of it."""
    from stateous_cli.actions import run as runs

    if history and (tickets or wait):
        raise typer.BadParameter("it goes with no other of them", param_hint="'--history'")
    if tickets:
        present(lambda: runs.tickets(url, run_id, wait=wait), as_json=as_json)
    elif history:
        present(lambda: runs.history(url, run_id), as_json=as_json)
    elif wait:
        present(lambda: runs.wait_for_end(url, run_id), as_json=as_json)
    else:
        present(lambda: runs.show(url, run_id), as_json=as_json)


@app.command()
def reply(
    run_id: RunId,
    ticket: Annotated[str, typer.Argument(metavar="TICKET", help="The ticket's value.")],
    answer: Annotated[
        str, typer.Argument(metavar="JSON", help="""The answer, e.g. '{"ok": true}'.""")
    ],
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Answer a ticket of a run, once."""
    from stateous_cli.actions import run as runs

    present(lambda: runs.reply(url, run_id, ticket, answer), as_json=as_json)


@app.command()
def send(
    run_id: RunId,
    event: Annotated[str, typer.Argument(metavar="EVENT", help="The name of the event.")],
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="The event's data, any JSON.")
    ] = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Send a run an event: taken, kept, dropped or held."""
    from stateous_cli.actions import run as runs

    present(lambda: runs.send(url, run_id, event, data), as_json=as_json)


@app.command("list")
def list_(
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="Only runs that are active, paused, completed, failed or cancelled.",
        ),
    ] = None,
    machine: Annotated[
        str | None, typer.Option("--machine", metavar="NAME", help="Only runs of this chart.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Only runs with this key.")
    ] = None,
    limit: filters.Limit = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """List the runs, newest first."""
    from stateous_cli.actions import run as runs

    given = filters.given(status=status, machine=machine, key=key)
    present(lambda: runs.list_runs(url, given, limit=limit), as_json=as_json)


@app.command()
def pause(run_id: RunId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Pause a run and its children: no job is claimed, events are held."""
    from stateous_cli.actions import run as runs

    present(lambda: runs.pause(url, run_id), as_json=as_json)


@app.command()
def resume(run_id: RunId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Resume a paused run and its children, and apply the events that were held."""
    from stateous_cli.actions import run as runs

    present(lambda: runs.resume(url, run_id), as_json=as_json)


@app.command()
def cancel(run_id: RunId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Cancel a run and its children, for good."""
    from stateous_cli.actions import run as runs

    present(lambda: runs.cancel(url, run_id), as_json=as_json)
