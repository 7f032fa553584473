"""The door for a document of either front-end: a workflow's or a chart's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stateous.errors import GraphError, JsonError
from stateous.graph.document import GraphDocument
from stateous.graph.reading import check_graph
from stateous.json import Json, read_json
from stateous.limits import MAX_GRAPH_DEPTH

if TYPE_CHECKING:
    from stateous.statechart.document import ChartDocument

#: The key that only a chart's document has.
_CHART = "statechart"


def read_document(data: bytes) -> GraphDocument | ChartDocument:
    """The document that ``data`` holds.

    Raises:
        InvalidDefinition: it is a chart that breaks a rule; it has every problem.
        GraphError: it is no document, or a workflow's that cannot be used.
    """
    try:
        value = read_json(data, max_depth=MAX_GRAPH_DEPTH)
    except JsonError as error:
        raise GraphError(str(error).removeprefix("the body is ")) from None
    return check_document(value)


def check_document(value: Json) -> GraphDocument | ChartDocument:
    """The document that ``value`` is, which must come out of strict JSON.

    Raises:
        InvalidDefinition, GraphError: as :func:`read_document`.
    """
    if isinstance(value, dict) and _CHART in value:
        # Charts need more than workflows do: CEL and zone data are loaded for them only.
        from stateous.statechart.reading import read_chart

        return read_chart(value)
    return check_graph(value)
