"""Tokens as lines: `<id>: <state>[ (visit N)], <status>` (`docs/spec/authoring.md` 9.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stateous.names import END, START
from stateous.visible import visible

_SHOWN_STATES = {START: "START", END: "END"}


def state_text(state: str) -> str:
    """The state's name; START and END without their underscores."""
    return _SHOWN_STATES.get(state) or visible(state)


def visit_text(state: str, visit: int) -> str:
    """The state, and from its second visit on which one it is."""
    return state_text(state) if visit == 1 else f"{state_text(state)} (visit {visit})"


def token_line(token: Mapping[str, Any]) -> str:
    """One token on one line."""
    where = visit_text(token["state"], token["visit"])
    return f"{visible(token['token'])}: {where}, {visible(token['status'])}"


def token_lines(tokens: Iterable[Mapping[str, Any]]) -> list[str]:
    """A list of tokens; an empty one says so."""
    return [token_line(token) for token in tokens] or ["no tokens"]
