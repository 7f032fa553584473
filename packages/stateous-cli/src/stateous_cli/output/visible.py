"""JSON for a terminal: on one line, and no character of it can move the cursor or fake a line."""

from __future__ import annotations

from typing import Any

from stateous.json import roomy_json, write_json
from stateous.visible import UNSAFE


def json_text(value: Any) -> str:
    r"""``value`` as compact JSON on one line, with unsafe characters as ``\u....`` escapes."""
    return _escaped(write_json(value))


def roomy_json_text(value: Any) -> str:
    """As :func:`json_text`, with a blank behind each comma and colon, as people type it."""
    return _escaped(roomy_json(value))


def _escaped(text: str) -> str:
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
