"""Query parameters of runs, their tickets and documents (`docs/spec/statechart.md` 16). Pure."""

from __future__ import annotations

from typing import NamedTuple

from stateous.limits import MAX_NAME, MAX_READ_WAIT, MAX_RUN_KEY, MAX_TOKEN_ID
from stateous.wire.problems import Refusal
from stateous_controlplane.api.cursors import GRAPHS, RUNS, read_newest_cursor
from stateous_controlplane.api.queries import (
    DEFAULT_PAGE,
    MAX_PAGE,
    Bad,
    Query,
    number_in,
    one_of_in,
    parse,
    text_in,
)
from stateous_controlplane.engine.rows import Status
from stateous_controlplane.store.run_views import NewestPlace, RunFilter


class RunWait(NamedTuple):
    """How long a read of a run waits, in seconds, and whether it shows the outputs of states."""

    wait: int
    outputs: bool


class RunPage(NamedTuple):
    """Which page of the runs is asked for."""

    where: RunFilter
    behind: NewestPlace | None
    limit: int


class GraphPage(NamedTuple):
    """Which page of the documents is asked for."""

    behind: NewestPlace | None
    limit: int


def run_wait(query: bytes) -> RunWait | Refusal:
    """`GET /runs/{id}`."""
    given = parse(query)
    try:
        outputs = one_of_in(given, "outputs", ("true", "false"))
        return RunWait(_wait(given), outputs == "true")
    except Bad as bad:
        return bad.refusal


def wait_of(query: bytes) -> int | Refusal:
    """`GET /runs/{id}/tickets`: how long to wait for one, in seconds."""
    try:
        return _wait(parse(query))
    except Bad as bad:
        return bad.refusal


def answered_run(query: bytes) -> str | Refusal | None:
    """`POST /tickets/{value}`: the run that the ticket must belong to."""
    try:
        return text_in(parse(query), "run", MAX_TOKEN_ID)
    except Bad as bad:
        return bad.refusal


def run_page(query: bytes) -> RunPage | Refusal:
    """`GET /runs`."""
    given = parse(query)
    try:
        where = RunFilter(
            status=one_of_in(given, "status", tuple(Status)),
            machine=text_in(given, "machine", MAX_NAME),
            key=text_in(given, "key", MAX_RUN_KEY),
            parent=text_in(given, "parent", MAX_TOKEN_ID),
        )
        return RunPage(where, _behind(given, RUNS), _limit(given))
    except Bad as bad:
        return bad.refusal


def graph_page(query: bytes) -> GraphPage | Refusal:
    """`GET /graphs`."""
    given = parse(query)
    try:
        return GraphPage(_behind(given, GRAPHS), _limit(given))
    except Bad as bad:
        return bad.refusal


def _wait(given: Query) -> int:
    return number_in(given, "wait", 0, MAX_READ_WAIT) or 0


def _limit(given: Query) -> int:
    return number_in(given, "limit", 1, MAX_PAGE) or DEFAULT_PAGE


def _behind(given: Query, kind: str) -> NewestPlace | None:
    if "cursor" not in given:
        return None
    place = read_newest_cursor(kind, given["cursor"])
    if place is None:
        raise Bad("cursor", "what an answer's 'next' said", given["cursor"])
    return place
