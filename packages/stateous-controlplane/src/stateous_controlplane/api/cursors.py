"""Cursors: where a page of a list ended, as the opaque text of `Stateous-Next`."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode

from stateous.limits import MAX_ID
from stateous.names import is_token_id
from stateous.wire.moments import read_moment, write_moment
from stateous_controlplane.store.port import Place


def write_token_cursor(place: Place) -> str:
    """The cursor of a page of tokens that ended with ``place``."""
    return _write(f"token {write_moment(place.entered_at)} {place.token}")


def read_token_cursor(cursor: str) -> Place | None:
    """The place that a cursor names, None when it is none of ours."""
    match _read(cursor).split(" "):
        case ["token", moment, token] if is_token_id(token):
            try:
                return Place(read_moment(moment), token)
            except ValueError:
                return None
        case _:
            return None


def write_task_cursor(task: int) -> str:
    """The cursor of a page of tasks that ended with ``task``."""
    return _write(f"task {task}")


def read_task_cursor(cursor: str) -> int | None:
    """The task that a cursor names, None when it is none of ours."""
    match _read(cursor).split(" "):
        case ["task", digits] if digits.isascii() and digits.isdigit() and len(digits) < 20:
            return min(int(digits), MAX_ID)
        case _:
            return None


def _write(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(cursor: str) -> str:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        text = urlsafe_b64decode(padded).decode("ascii")
    except (UnicodeError, binascii.Error):
        return ""
    return text if _write(text) == cursor else ""
