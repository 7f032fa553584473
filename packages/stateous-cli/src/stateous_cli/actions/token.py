"""`stateous token`: one call of the client each, and its answer as lines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final

from stateous_cli.answer import Answer
from stateous_cli.arguments import json_object
from stateous_cli.output.history import history_lines
from stateous_cli.output.tokens import token_line, token_lines
from stateous_cli.output.visible import visible
from stateous_client import Client

#: Tokens of one page, as the API has it.
MAX_PAGE: Final = 1000
DEFAULT_LIMIT: Final = 100


def start(url: str, token_id: str, context: str | None) -> Answer:
    """Start a token, or get the one that has this id."""
    wanted = json_object(context, "CONTEXT_JSON")
    with Client(url) as client:
        token = client.start(token_id, wanted)
    return Answer(token, [token_line(token)])


def fire(url: str, token_id: str, event: str, payload: str | None, *, key: str | None) -> Answer:
    """Fire an event; a used key changes nothing, and the answer says so."""
    wanted = json_object(payload, "PAYLOAD_JSON")
    with Client(url) as client:
        answer = client.fire(token_id, event, wanted, key=key)
    if "duplicate" not in answer:
        return Answer(answer, [token_line(answer)])
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
    lines += history_lines(history, today=datetime.now().astimezone().date())
    return Answer({"token": token, "children": children, "history": history}, lines)


def list_tokens(
    url: str, filters: Mapping[str, Any], *, limit: int | None, everything: bool
) -> Answer:
    """The tokens that the filters let through, the most recently moved first."""
    page = MAX_PAGE if everything else DEFAULT_LIMIT if limit is None else limit
    with Client(url) as client:
        found = client.iter_tokens(**filters, page=page)
        tokens = list(found if everything else islice(found, page))
        more = not everything and next(found, None) is not None
    asides = [f"there are more than these {page}: --all shows them all"] if more else []
    return Answer(tokens, token_lines(tokens), asides)
