"""Text from outside, made harmless: no character of it can move the cursor or fake a line."""

from __future__ import annotations

import re
from typing import Final

#: Control characters (C0, DEL, C1), line and paragraph separators, bidirectional controls, and what
#: is left of bytes that were no UTF-8.
UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str) -> str:
    r"""``text`` on one line: unsafe characters as ``\n``, ``\x1b``, ``\u202e``."""
    return UNSAFE.sub(_escape, text)


def visible_lines(text: str) -> str:
    """Like :func:`visible`, but for a text of ours that has several lines: they stay lines."""
    return "\n".join(map(visible, text.split("\n")))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _SHORT.get(match[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
