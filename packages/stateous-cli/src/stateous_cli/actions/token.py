"""`stateous token`: one call of the client each, and its answer as lines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from itertools import islice
from typing import Any, Final, TypeVar

from stateous.errors import GraphError
from stateous.graph.diagram import diagram_text
from stateous.graph.reading import check_graph
from stateous.visible import visible
from stateous_cli.actions.watching import patiently
from stateous_cli.answer import Answer, Aside
from stateous_cli.arguments import json_object
from stateous_cli.failures import CommandError
from stateous_cli.output.history import history_lines
from stateous_cli.output.tasks import task_lines
from stateous_cli.output.tokens import token_line, token_lines
from stateous_client import Client, Token

T = TypeVar("T")

#: Items of one page, as the API has it.
MAX_PAGE: Final = 1000
DEFAULT_LIMIT: Final = 100

#: The entries that end a token otherwise than by completing it.
_ENDED_BADLY: Final = frozenset({"failed", "cancelled"})


def start(url: str, token_id: str, context: str | None) -> Answer:
    """Start a token, or get the one that has this id."""
    wanted = json_object(context, "CONTEXT_JSON")
    with Client(url) as client:
        return _moved(client.start(token_id, wanted))


def fire(url: str, token_id: str, event: str, payload: str | None, *, key: str | None) -> Answer:
    """Fire an event; a used key changes nothing, and the answer says so."""
    wanted = json_object(payload, "PAYLOAD_JSON")
    with Client(url) as client:
        answer = client.fire(token_id, event, wanted, key=key)
    if "duplicate" not in answer:
        return _moved(answer)
    asides = []
    if answer.get("matches") is False:
        asides.append(
            f"warning: the key '{visible(key or '')}' was used before, for another event or "
            "payload; nothing was done"
        )
    return Answer(answer, [f"duplicate: {token_line(answer['token'])}"], asides)


def show(url: str, token_id: str, *, after: int) -> Answer:
    """One token, its children and its history behind ``after``."""
    with Client(url) as client:
        token = client.get(token_id)
        children = list(islice(client.iter_tokens(parent=token_id, page=MAX_PAGE), MAX_PAGE + 1))
        history = client.history(token_id, after=after)
    more, children = len(children) > MAX_PAGE, children[:MAX_PAGE]
    lines = [token_line(token), *(f"  child {token_line(child)}" for child in children)]
    if more:
        lines.append(f"  and more children: stateous token show --all --parent {visible(token_id)}")
    lines += history_lines(history, today=_today())
    return Answer({"token": token, "children": children, "history": history}, lines)


def list_tokens(
    url: str, filters: Mapping[str, Any], *, limit: int | None, everything: bool
) -> Answer:
    """The tokens that the filters let through, the most recently moved first."""
    page = _page(limit, everything)
    with Client(url) as client:
        found = client.iter_tokens(**filters, page=page)
        tokens, asides = _first(found, page, everything)
    return Answer(tokens, token_lines(tokens), asides)


def list_tasks(
    url: str, filters: Mapping[str, Any], *, limit: int | None, everything: bool
) -> Answer:
    """The tasks that the filters let through, by number."""
    page = _page(limit, everything)
    with Client(url) as client:
        found = client.iter_tasks(**filters, page=page)
        tasks, asides = _first(found, page, everything)
    return Answer(tasks, task_lines(tasks), asides)


def diagram(url: str) -> Answer:
    """The served workflow as Mermaid text.

    Raises:
        CommandError: what is served there is no graph document that can be drawn.
    """
    with Client(url) as client:
        document = client.workflow()
        try:
            text = diagram_text(check_graph(document))
        except GraphError as error:
            raise CommandError(f"cannot draw the workflow of {client.url}: {error}") from None
    return Answer({"mermaid": text}, text.splitlines())


def watch(url: str, token_id: str) -> Iterator[Answer | Aside]:
    """The history of a token, an answer for each entry as it comes; it ends with the token.

    A control plane that is away for a while is waited for, once it has answered.
    """
    with Client(url) as client:
        for entry in patiently(lambda after: client.watch(token_id, after=after), time.sleep):
            if isinstance(entry, Aside):
                yield entry
                continue
            lines = history_lines([entry], today=_today())
            yield Answer(entry, lines, exit_code=int(entry["kind"] in _ENDED_BADLY))


def pause(url: str, token_id: str) -> Answer:
    """Pause a token and its children."""
    with Client(url) as client:
        return _moved(client.pause(token_id))


def resume(url: str, token_id: str) -> Answer:
    """Resume a token and its children; the token as it is after the held events."""
    with Client(url) as client:
        return _moved(client.resume(token_id))


def cancel(url: str, token_id: str) -> Answer:
    """Cancel a token and its children."""
    with Client(url) as client:
        return _moved(client.cancel(token_id))


def _moved(token: Token) -> Answer:
    return Answer(token, [token_line(token)])


def _page(limit: int | None, everything: bool) -> int:
    return MAX_PAGE if everything else DEFAULT_LIMIT if limit is None else limit


def _first(found: Iterator[T], page: int, everything: bool) -> tuple[list[T], list[str]]:
    # One page of what is found, or everything; and what stderr says when there is more.
    if everything:
        return list(found), []
    first = list(islice(found, page))
    more = next(found, None) is not None
    return first, ["the list goes on: --all shows it whole"] if more else []


def _today() -> date:
    return datetime.now().astimezone().date()
