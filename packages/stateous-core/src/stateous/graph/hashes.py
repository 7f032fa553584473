"""The three hashes of a graph document (`docs/spec/authoring.md` 6.3).

============= =====================================================================
``checksum``  of the whole document: which graph a token is pinned to
``structure`` without timeouts, retries, descriptions and examples: whether a control
              plane with live tokens may serve the document
``contract``  of what a supervisor sees (its *contract view*): whether a contract fits
============= =====================================================================

All of them take a document that :func:`stateous.graph.reading.check_graph` has let through.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

from stateous.graph.positions import without_keywords
from stateous.json import canonical_json

_PROSE: Final = frozenset({"description", "examples"})
_PROSE_AND_TITLES: Final = _PROSE | {"title"}
_PACE: Final = frozenset({"timeout", "retries"})


def digest(value: Any) -> str:
    """``sha256:`` and 64 hex digits, of the canonical text of ``value``."""
    return "sha256:" + sha256(canonical_json(value).encode("utf-8")).hexdigest()


def checksum(document: dict[str, Any]) -> str:
    """The hash of the whole document."""
    return digest(document)


def structure(document: dict[str, Any]) -> str:
    """The hash of what live tokens depend on."""
    kept = _unpaced(document)
    if "workflows" in document:
        kept["workflows"] = {name: _unpaced(child) for name, child in document["workflows"].items()}
    kept["schemas"] = {
        key: without_keywords(schema, _PROSE) for key, schema in document["schemas"].items()
    }
    return digest(kept)


def contract(document: dict[str, Any]) -> str:
    """The hash of the contract view."""
    return digest(contract_view(document))


def contract_view(document: dict[str, Any]) -> dict[str, Any]:
    """What a supervisor sees of the document."""
    return {
        "workflow": document["workflow"],
        **_seen(document),
        "workflows": {name: _seen(child) for name, child in document.get("workflows", {}).items()},
        "schemas": {
            key: without_keywords(schema, _PROSE_AND_TITLES)
            for key, schema in document["schemas"].items()
        },
    }


def _unpaced(flow: dict[str, Any]) -> dict[str, Any]:
    states = {
        name: {key: value for key, value in state.items() if key not in _PACE}
        for name, state in flow["states"].items()
    }
    return {**flow, "states": states}


def _seen(flow: dict[str, Any]) -> dict[str, Any]:
    seen: dict[str, Any] = {"context": flow["context"]} if "context" in flow else {}
    seen["states"] = {
        name: sorted(state.get("emits", []))
        for name, state in flow["states"].items()
        if state.get("parallel") is None
    }
    seen["events"] = {name: event.get("payload") for name, event in flow["events"].items()}
    return seen
