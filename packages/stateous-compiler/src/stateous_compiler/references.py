"""How the schemas of a document refer to one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stateous.graph.positions import every_schema, reference_key
from stateous.json import Json


def references_in(schema: Json) -> list[str]:
    """The keys that ``schema`` itself refers to, sorted, each once."""
    found = (reference_key(part["$ref"]) for part in every_schema(schema) if "$ref" in part)
    return sorted({key for key in found if key is not None})


def keys_below(schemas: Mapping[str, Json], key: str) -> tuple[str, ...]:
    """``key`` and all keys that its schema refers to, directly or not."""
    return tuple(_post_order(_references(schemas), [key]))


def in_definition_order(schemas: Mapping[str, Json]) -> list[str]:
    """All keys, sorted, but each after those that it refers to."""
    return _post_order(_references(schemas), sorted(schemas))


def in_circles(schemas: Mapping[str, Json]) -> frozenset[str]:
    """The keys from which references lead back to themselves."""
    references = _references(schemas)
    backwards: dict[str, list[str]] = {key: [] for key in schemas}
    for key, others in references.items():
        for other in others:
            backwards[other].append(key)
    # What is reached backwards, from the last key of an order to the first, is one circle.
    found = {key for key, others in references.items() if key in others}
    met: set[str] = set()
    for key in reversed(_post_order(references, sorted(schemas))):
        if key not in met:
            circle = _post_order(backwards, [key], met)
            if len(circle) > 1:
                found.update(circle)
    return frozenset(found)


def _references(schemas: Mapping[str, Json]) -> dict[str, list[str]]:
    return {
        key: [other for other in references_in(schema) if other in schemas]
        for key, schema in schemas.items()
    }


def _post_order(
    edges: Mapping[str, Iterable[str]], starts: Iterable[str], met: set[str] | None = None
) -> list[str]:
    """What can be reached from ``starts``, each behind what it leads to; ``met`` is left out."""
    met = set() if met is None else met
    order = []
    for start in starts:
        if start in met:
            continue
        met.add(start)
        stack = [(start, iter(edges[start]))]
        while stack:
            key, rest = stack[-1]
            unmet = next((other for other in rest if other not in met), None)
            if unmet is None:
                stack.pop()
                order.append(key)
            else:
                met.add(unmet)
                stack.append((unmet, iter(edges[unmet])))
    return order
