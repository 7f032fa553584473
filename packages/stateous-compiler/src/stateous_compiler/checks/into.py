"""B13 to B15: what ``into`` keeps has a key of the right type to be kept in."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from stateous.workflow import Branches, Event, State, Workflow
from stateous_compiler.compilation import Compilation
from stateous_compiler.models import Shape
from stateous_compiler.problems import Problem


def check(compilation: Compilation, flow: Workflow) -> Iterator[Problem]:
    """The problems of ``into`` in a workflow."""
    context = compilation.context_of(flow)
    for event in flow.events.values():
        if event.into is not None and event.payload is None:
            text = f"event {event.name!r} has into={event.into!r}, but carries no payload to keep"
            yield compilation.problem("into-without-payload", flow, event.place, text)
    if context is None:
        return
    for event in flow.events.values():
        yield from _kept(compilation, context, event, event.payload)
    for state in flow.states.values():
        yield from _kept(compilation, context, state, Branches)


def _kept(
    compilation: Compilation,
    context: Shape,
    source: Event | State,
    model: type[BaseModel] | None,
) -> Iterator[Problem]:
    key = source.into
    if key is None:
        return
    where = f"{type(source).__name__.lower()} {source.name!r}: into={key!r}"
    if why := context.lacks(key):
        text = f"{where}: {why}"
        yield compilation.problem("unknown-into-key", source.workflow, source.place, text)
    elif model is not None and not _is_typed(context, key, model):
        text = (
            f"{where}: the field of {context.name} must have the type {model.__name__}"
            f" or {model.__name__} | None"
        )
        yield compilation.problem("into-type", source.workflow, source.place, text)


def _is_typed(context: Shape, key: str, model: type[BaseModel]) -> bool:
    field = context.fields.get(key)
    if field is None:
        return False
    members = list(_members(field.annotation))
    return model in members and all(member in (model, NoneType) for member in members)


def _members(annotation: Any) -> Iterator[Any]:
    """The members of a union, or the type alone; what ``Annotated`` adds is left out."""
    if get_origin(annotation) is Annotated:
        yield from _members(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield NoneType if annotation is None else annotation
