"""How the schemas of a document refer to one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stateous.graph.positions import every_schema, reference_key, subschemas
from stateous.json import Json
from stateous.limits import MAX_JSON_DEPTH


def references_in(schema: Json) -> list[str]:
    """The keys that ``schema`` refers to, also inside itself; sorted, each once."""
    found = (_key(part["$ref"]) for part in every_schema(schema) if "$ref" in part)
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
    return frozenset(
        key
        for component in _components(references)
        if _is_circle(component, references)
        for key in component
    )


def levels_of(schemas: Mapping[str, Json]) -> int:
    """How many schemas a validator can have on its stack at once, at most.

    A circle of references is run through at most once per level of the JSON that is checked.
    """
    references = _references(schemas)
    deepest: dict[str, int] = {}
    for component in _components(references):
        own = sum(_levels(schemas[key]) for key in component)
        if _is_circle(component, references):
            own *= MAX_JSON_DEPTH
        below = max(
            (deepest[other] for key in component for other in references[key] if other in deepest),
            default=0,
        )
        deepest.update(dict.fromkeys(component, own + below))
    return max(deepest.values(), default=0)


def _key(reference: Json) -> str | None:
    # A reference to a schema inside another one still leads through that one's key.
    whole = reference_key(reference)
    if whole is None and isinstance(reference, str):
        return reference_key("/".join(reference.split("/")[:3]))
    return whole


def _levels(schema: Json) -> int:
    deepest = 0
    stack = [(schema, 1)]
    while stack:
        item, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((inner, level + 1) for inner in subschemas(item))
    return deepest


def _references(schemas: Mapping[str, Json]) -> dict[str, list[str]]:
    return {
        key: [other for other in references_in(schema) if other in schemas]
        for key, schema in schemas.items()
    }


def _is_circle(component: list[str], references: Mapping[str, list[str]]) -> bool:
    return len(component) > 1 or component[0] in references[component[0]]


def _components(references: Mapping[str, list[str]]) -> list[list[str]]:
    """The keys in groups that refer to one another in circles, each behind what it refers to."""
    backwards: dict[str, list[str]] = {key: [] for key in references}
    for key, others in references.items():
        for other in others:
            backwards[other].append(key)
    met: set[str] = set()
    order = reversed(_post_order(references, sorted(references)))
    components = [_post_order(backwards, [key], met) for key in order]
    return [component for component in reversed(components) if component]


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
