"""JSON for a terminal: on one line, and no character of it can move the cursor or fake a line."""

from __future__ import annotations

from typing import Any

from stateous.json import write_json
from stateous.visible import UNSAFE


def json_text(value: Any) -> str:
    r"""``value`` as compact JSON on one line, with unsafe characters as ``\u....`` escapes."""
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", write_json(value))
