"""One request for each method of a client about runs (`docs/spec/statechart.md` 16)."""

from __future__ import annotations

from typing import Any, Final, Literal

from stateous.graph.hashes import checksum
from stateous.wire import headers
from stateous_client.errors import InvalidArgument
from stateous_client.protocol import answers, run_answers
from stateous_client.protocol.answers import Page
from stateous_client.protocol.arguments import body, digits, identity, segment, text, whole
from stateous_client.protocol.exchange import Request
from stateous_client.protocol.requests import (
    Headers,
    digits_if_given,
    given,
    read,
    text_if_given,
    write,
)
from stateous_client.values import Entry, Graph, GraphName, Run, Sent, TicketValue

_MIN_STARTER: Final = 32
_MAX_STARTER: Final = 256


def submit(
    graph: str | dict[str, Any],
    input: Any,
    *,
    key: str | None,
    id: str | None,
    idempotency_key: str | None,
    starter: str | None,
) -> Request[Run]:
    """``POST /runs``; repeatable with an id or an idempotency key."""
    if not isinstance(graph, dict):
        graph = identity("graph", graph)
    members = {"graph": graph, "input": input} | given(
        key=None if key is None else identity("key", key),
        id=None if id is None else identity("id", id),
    )
    return write(
        "/runs",
        run_answers.run,
        members,
        repeatable=id is not None,
        key=idempotency_key,
        more=_shown(starter),
    )


def run(
    run_id: str, *, held: int = 0, outputs: bool = False, starter: str | None = None
) -> Request[Run]:
    """``GET /runs/{id}``, answered after ``held`` seconds at the latest."""
    query = {"outputs": "true" if outputs else None}
    held = whole("wait", held)
    return read(_path(run_id), run_answers.run, query=query, held=held, more=_shown(starter))


def runs(
    *,
    status: str | None,
    machine: str | None,
    key: str | None,
    parent: str | None,
    limit: int | None,
) -> Request[Page[Run]]:
    """``GET /runs``: one page."""
    query = {
        "status": text_if_given("status", status),
        "machine": text_if_given("machine", machine),
        "key": text_if_given("key", key),
        "parent": text_if_given("parent", parent),
        "limit": digits_if_given("limit", limit),
    }
    return read("/runs", run_answers.runs, query=query)


def run_history(
    run_id: str, *, after: int, limit: int | None, starter: str | None
) -> Request[list[Entry]]:
    """``GET /runs/{id}/history``."""
    query = {
        "after": digits("after", after) if whole("after", after) else None,
        "limit": digits_if_given("limit", limit),
    }
    more = _shown(starter)
    return read(f"{_path(run_id)}/history", answers.entries, query=query, more=more)


def tickets(run_id: str, *, starter: str, held: int) -> Request[list[TicketValue]]:
    """``GET /runs/{id}/tickets``, answered after ``held`` seconds at the latest."""
    more = _shown(identity("starter", starter))
    held = whole("wait", held)
    return read(f"{_path(run_id)}/tickets", run_answers.tickets, held=held, more=more)


def reply(ticket: str, answer: Any, *, run: str | None, key: str | None) -> Request[Sent]:
    """``POST /tickets/{value}``; repeatable with a key."""
    path = f"/tickets/{segment('ticket', ticket)}"
    query = () if run is None else (("run", identity("run", run)),)
    return write(path, run_answers.sent, answer, query=query, key=key)


def send(run_id: str, event: str, data: Any, *, key: str | None) -> Request[Sent]:
    """``POST /runs/{id}/events/{event}``; repeatable with a key."""
    path = f"{_path(run_id)}/events/{segment('event', event)}"
    return write(path, run_answers.sent, given(data=data), key=key)


def steer(run_id: str, how: Literal["pause", "resume", "cancel"]) -> Request[Run]:
    """``POST /runs/{id}/pause``, ``/resume`` or ``/cancel``."""
    return Request("POST", f"{_path(run_id)}/{how}", run_answers.run)


def put_graph(document: dict[str, Any]) -> Request[GraphName]:
    """``PUT /graphs/{checksum}``, under the checksum that the document has."""
    if not isinstance(document, dict):
        raise InvalidArgument(f"document is {document!r:.60}, not a dict")
    body(document)  # what is no JSON has no checksum
    path = f"/graphs/{segment('checksum', checksum(document))}"
    return write(path, run_answers.graph_name, document, method="PUT", repeatable=True)


def graph(of_checksum: str) -> Request[dict[str, Any]]:
    """``GET /graphs/{checksum}``."""
    return read(f"/graphs/{segment('checksum', of_checksum)}", answers.any_object)


def graphs(*, limit: int | None) -> Request[Page[Graph]]:
    """``GET /graphs``: one page."""
    query = {"limit": digits_if_given("limit", limit)}
    return read("/graphs", run_answers.graphs, query=query)


def emits(
    task: int, supervisor: str, attempt: int, first: int, values: list[dict[str, Any]]
) -> Request[None]:
    """``POST /tasks/{id}/emits``: values numbered from ``first`` on; one seen before is skipped."""
    members = {
        "supervisor": identity("supervisor", supervisor),
        "attempt": whole("attempt", attempt),
        "first": whole("first", first),
        "values": values,
    }
    path = f"/tasks/{digits('task', task)}/emits"
    return write(path, answers.nothing, members, repeatable=True)


def _path(run_id: str) -> str:
    return f"/runs/{segment('run', run_id)}"


def _shown(starter: str | None) -> Headers:
    """The header that shows the starter's secret; it is never in an error's text."""
    if starter is None:
        return ()
    secret = text("starter", starter)
    fits = _MIN_STARTER <= len(secret) <= _MAX_STARTER
    if not fits or not all("!" <= char <= "~" for char in secret):
        raise InvalidArgument(
            f"starter is not {_MIN_STARTER} to {_MAX_STARTER} visible ASCII characters"
        )
    return ((headers.STARTER, secret.encode()),)
