"""Answers about runs, graphs and tickets as values (`docs/spec/statechart.md` 16)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from stateous_client.protocol.answers import Page, any_object, has, mismatch
from stateous_client.protocol.exchange import Answer
from stateous_client.values import Graph, GraphName, Run, Sent, TicketValue

T = TypeVar("T")


def run(answer: Answer) -> Run:
    """A run."""
    value = any_object(answer)
    if not _is_run(value):
        raise mismatch(answer, "a run")
    return cast("Run", value)


def runs(answer: Answer) -> Page[Run]:
    """One page of runs."""
    return cast("Page[Run]", _page(answer, "runs", _is_run))


def graph_name(answer: Answer) -> GraphName:
    """A document that is on record now."""
    value = any_object(answer)
    if not has(value, graph=str, machine=str):
        raise mismatch(answer, "the name of a graph")
    return cast("GraphName", value)


def graphs(answer: Answer) -> Page[Graph]:
    """One page of documents on record."""
    return cast("Page[Graph]", _page(answer, "graphs", _is_graph))


def tickets(answer: Answer) -> list[TicketValue]:
    """Open tickets with their values."""
    value = any_object(answer).get("tickets")
    if not isinstance(value, list) or not all(has(each, ticket=str, value=str) for each in value):
        raise mismatch(answer, "a list of tickets")
    return cast("list[TicketValue]", value)


def sent(answer: Answer) -> Sent:
    """What became of an event or answer."""
    value = any_object(answer)
    if not has(value, result=str):
        raise mismatch(answer, "the result of an event")
    return cast("Sent", value)


def _page(answer: Answer, name: str, is_one: Callable[[object], bool]) -> Page[Any]:
    value = any_object(answer)
    items, cursor = value.get(name), value.get("next")
    if not isinstance(items, list) or not all(map(is_one, items)):
        raise mismatch(answer, f"a list of {name}")
    return Page(items, cursor if isinstance(cursor, str) else None)


def _is_run(value: object) -> bool:
    return has(value, id=str, machine=str, graph=str, status=str, configuration=list)


def _is_graph(value: object) -> bool:
    return has(value, graph=str, kind=str, name=str)
