"""`stateous run`: show, answer, send, list and steer runs (`docs/spec/statechart.md` 17)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final

from stateous.visible import visible
from stateous_cli.answer import Answer
from stateous_cli.arguments import json_value
from stateous_cli.failures import CommandError
from stateous_cli.output.history import history_lines
from stateous_cli.output.run_history import RUN_TEXTS
from stateous_cli.output.runs import (
    output_line,
    run_line,
    run_lines,
    ticket_lines,
    whole_run_lines,
)
from stateous_cli.patience import patiently
from stateous_cli.starters import VARIABLE, Starters
from stateous_client import Client, Run
from stateous_client.values import ENDED

#: Seconds that `--tickets` waits for the first one; with `--wait` it asks again and again.
_FOR_A_TICKET: Final = 10
_LONGEST_WAIT: Final = 60
_DEFAULT_LIMIT: Final = 100


class NoStarter(CommandError):
    """Nothing on this computer shows that its user started the run."""

    code = "not_starter"


def show(url: str, run_id: str) -> Answer:
    """One run in full."""
    starters = Starters.of(os.environ)
    with Client(url) as client:
        run = patiently(lambda: client.run(run_id, starter=starters.secret(run_id, url)))
        document = client.graph(run["graph"]) if run.get("jobs") else {}
    _ended(run, starters)
    return Answer(run, whole_run_lines(run, document))


def wait_for_end(url: str, run_id: str) -> Answer:
    """The run once it has ended: its output, or why it has none."""
    starters = Starters.of(os.environ)
    with Client(url) as client:
        run = patiently(lambda: client.wait_run(run_id, starter=starters.secret(run_id, url)))
    _ended(run, starters)
    if run["status"] == "completed":
        return Answer(run, [output_line(run)])
    lines = [] if run.get("output") is None else [output_line(run)]
    return Answer(run, lines, [f"error: {_how_it_ended(run)}"], exit_code=1)


def _how_it_ended(run: Run) -> str:
    error = run["error"]
    if error is None:
        return f"{visible(run['id'])} was cancelled"
    return f"{visible(run['id'])} failed: {visible(error['code'])}: {visible(error['message'])}"


def tickets(url: str, run_id: str, *, wait: bool) -> Answer:
    """The run's open tickets with their values, for who started it.

    Raises:
        NoStarter: this computer has no secret of the run for that control plane.
    """
    starters = Starters.of(os.environ)
    starter = starters.secret(run_id, url)
    with Client(url) as client:
        if starter is None:
            # One that does not exist is refused as such; of one that has ended the secret is gone.
            if patiently(lambda: client.run(run_id))["status"] in ENDED:
                return _no_ticket()
            raise NoStarter(
                f"not_starter: the tickets of {run_id!r} are shown to who started it, and no secret of it for "
                f"{client.url} is kept here{_kept_for(starters.place(run_id))}; "
                f"{VARIABLE} may hold it"
            )
        seconds = _LONGEST_WAIT if wait else _FOR_A_TICKET
        found = patiently(lambda: client.tickets(run_id, starter=starter, wait=seconds))
        while wait and not found and client.run(run_id)["status"] not in ENDED:
            found = client.tickets(run_id, starter=starter, wait=seconds)
    return Answer({"tickets": found}, ticket_lines(found)) if found else _no_ticket()


def _kept_for(place: str | None) -> str:
    return "" if place is None else f", only one for {visible(place)}"


def _no_ticket() -> Answer:
    return Answer({"tickets": []}, [], ["error: no open ticket"], exit_code=1)


def history(url: str, run_id: str) -> Answer:
    """The run's history."""
    starters = Starters.of(os.environ)
    with Client(url) as client:
        starter = starters.secret(run_id, url)
        entries = patiently(lambda: client.run_history(run_id, starter=starter))
    today = datetime.now().astimezone().date()
    return Answer(entries, history_lines(entries, today=today, texts=RUN_TEXTS))


def reply(url: str, run_id: str, ticket: str, answer: str) -> Answer:
    """Answer a ticket of the run."""
    value = json_value(answer, "JSON")
    with Client(url) as client:
        sent = patiently(lambda: client.reply(ticket, value, run=run_id))
    return Answer(sent, [visible(sent["result"])])


def send(url: str, run_id: str, event: str, data: str | None) -> Answer:
    """Send the run an event."""
    value = None if data is None else json_value(data, "DATA")
    with Client(url) as client:
        sent = patiently(lambda: client.send(run_id, event, value))
    return Answer(sent, [visible(sent["result"])])


def list_runs(url: str, filters: Mapping[str, Any], *, limit: int | None) -> Answer:
    """The runs that the filters let through, newest first."""
    page = _DEFAULT_LIMIT if limit is None else limit
    with Client(url) as client:
        # The iterator is made anew for each try: one that has raised is at its end.
        found = patiently(lambda: list(islice(client.iter_runs(**filters, page=page), page + 1)))
    runs, more = found[:page], len(found) > page
    asides = ["the list goes on: a larger --limit (up to 1000) shows more"] if more else []
    return Answer(runs, run_lines(runs), asides)


def pause(url: str, run_id: str) -> Answer:
    """Pause a run and its children."""
    with Client(url) as client:
        run = patiently(lambda: client.pause_run(run_id))
    return Answer(run, [run_line(run)])


def resume(url: str, run_id: str) -> Answer:
    """Resume a run and its children; the run as it is after the held events."""
    with Client(url) as client:
        run = patiently(lambda: client.resume_run(run_id))
    return Answer(run, [run_line(run)])


def cancel(url: str, run_id: str) -> Answer:
    """Cancel a run and its children."""
    with Client(url) as client:
        run = patiently(lambda: client.cancel_run(run_id))
    _ended(run, Starters.of(os.environ))
    return Answer(run, [run_line(run)])


def _ended(run: Run, starters: Starters) -> None:
    if run["status"] in ENDED:
        starters.forget(run["id"])
