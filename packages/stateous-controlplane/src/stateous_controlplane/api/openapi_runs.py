"""The operations of runs, tickets and documents in the OpenAPI document (`docs/spec/statechart.md` 16)."""

from __future__ import annotations

from typing import Final

from stateous.limits import MAX_NAME, MAX_READ_WAIT, MAX_RUN_KEY, MAX_TOKEN_ID
from stateous.wire.headers import STARTER
from stateous_controlplane.api.openapi_parts import (
    EVENT,
    KEY,
    TASK,
    operation_of,
    query,
    success,
)
from stateous_controlplane.api.queries import DEFAULT_PAGE, MAX_HISTORY, MAX_PAGE
from stateous_controlplane.api.schema_parts import OBJECT, Schema, list_of, ref, text, whole
from stateous_controlplane.engine.rows import Status

_RUN: Final = {"name": "id", "in": "path", "required": True, "schema": text(1)}
_CHECKSUM: Final = {"name": "checksum", "in": "path", "required": True, "schema": text(1)}
_VALUE: Final = {"name": "value", "in": "path", "required": True, "schema": text(1)}
_SHOWN: Final = {
    "name": STARTER,
    "in": "header",
    "description": "The secret of who started the run: it opens tickets, and nothing is masked.",
    "schema": text(),
}
_BROUGHT: Final = {
    "name": STARTER,
    "in": "header",
    "description": "A secret of the caller's own; without it the answer has one.",
    "schema": text(32, 256, pattern="^[!-~]*$"),
}
_WAIT: Final = query("wait", whole(0, MAX_READ_WAIT, default=0))
_PAGE: Final = (
    query("limit", whole(1, MAX_PAGE, default=DEFAULT_PAGE)),
    query("cursor", text(1, description="what 'next' said, with the same filters")),
)
_STEERING: Final = {
    "pause": "Pause a run with all its child runs",
    "resume": "Let a paused run go on, and apply the events that were held",
    "cancel": "Cancel a run with all its child runs",
}


def run_paths() -> Schema:
    """Each path with its operations."""
    return _graph_paths() | _paths_of_runs() | _answers() | _emits()


def _graph_paths() -> Schema:
    return {
        "/graphs": {
            "get": operation_of(
                "list_graphs",
                "The documents on record, newest first",
                {200: success("A page.", ref("Graphs"))},
                parameters=_PAGE,
            )
        },
        "/graphs/{checksum}": {
            "get": operation_of(
                "get_graph",
                "One document",
                {200: success("The document.", OBJECT)},
                parameters=(_CHECKSUM,),
            ),
            "put": operation_of(
                "put_graph",
                "Put a document on record",
                {
                    200: success("It was there.", ref("GraphPut")),
                    201: success("New.", ref("GraphPut")),
                },
                body="Document",
                parameters=(_CHECKSUM,),
            ),
        },
    }


def _paths_of_runs() -> Schema:
    return {
        "/runs": {
            "get": operation_of(
                "list_runs",
                "The runs that fit the filters, newest first",
                {200: success("A page.", ref("Runs"))},
                parameters=(
                    query("status", {"enum": [status.value for status in Status]}),
                    query("machine", text(1, MAX_NAME)),
                    query("key", text(1, MAX_RUN_KEY)),
                    query("parent", text(1, MAX_TOKEN_ID)),
                    *_PAGE,
                ),
            ),
            "post": operation_of(
                "submit_run",
                "Start a run of a chart",
                {
                    200: success("It was submitted before.", ref("Run")),
                    201: success("New.", ref("Run")),
                },
                body="Submit",
                parameters=(KEY, _BROUGHT),
                refusals=(409,),
            ),
        },
        "/runs/{id}": {
            "get": operation_of(
                "get_run",
                "One run in full; with wait, as soon as it has ended",
                {200: success("The run.", ref("RunInFull"))},
                parameters=(
                    _RUN,
                    _WAIT,
                    query("outputs", {"enum": ["true", "false"], "default": "false"}),
                    _SHOWN,
                ),
            )
        },
        "/runs/{id}/history": {
            "get": operation_of(
                "get_run_history",
                "What happened to a run, oldest first",
                {200: success("The entries.", list_of(ref("Entry")))},
                parameters=(
                    _RUN,
                    query("after", whole(0, default=0)),
                    query("limit", whole(1, MAX_HISTORY)),
                    _SHOWN,
                ),
            )
        },
        "/runs/{id}/tickets": {
            "get": operation_of(
                "get_tickets",
                "The open tickets of a run with their values, for who started it",
                {200: success("The tickets.", ref("Tickets"))},
                parameters=(_RUN, _WAIT, _SHOWN),
            )
        },
        "/runs/{id}/events/{event}": {
            "post": operation_of(
                "send_event",
                "An event for a run",
                {200: success("What became of it.", ref("Taken"))},
                body="Event",
                needs_body=False,
                parameters=(_RUN, EVENT, KEY),
                refusals=(409,),
            )
        },
        **{
            f"/runs/{{id}}/{verb}": {
                "post": operation_of(
                    f"{verb}_run",
                    summary,
                    {200: success("The run.", ref("Run"))},
                    parameters=(_RUN,),
                    refusals=(409, 415),
                )
            }
            for verb, summary in _STEERING.items()
        },
    }


def _answers() -> Schema:
    return {
        "/tickets/{value}": {
            "post": operation_of(
                "answer_ticket",
                "Answer a ticket, once",
                {200: success("It was taken.", ref("Taken"))},
                body="Answer",
                needs_body=False,
                parameters=(_VALUE, query("run", text(1, MAX_TOKEN_ID)), KEY),
                refusals=(409,),
            )
        }
    }


def _emits() -> Schema:
    return {
        "/tasks/{task}/emits": {
            "post": operation_of(
                "emit_values",
                "Values that a job emits, each of which raises an event",
                {204: {"description": "Done."}},
                body="Emits",
                parameters=(TASK,),
                refusals=(409,),
            )
        }
    }
