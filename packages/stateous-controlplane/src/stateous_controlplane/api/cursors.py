"""Cursors: where a page of a list ended, as the opaque text of `Stateous-Next` or `next`."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

from stateous.limits import MAX_ID
from stateous.names import is_token_id
from stateous.wire.moments import read_moment, write_moment
from stateous_controlplane.store.port import Place
from stateous_controlplane.store.run_views import NewestPlace


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


#: What a cursor of a list that begins with the newest is of.
RUNS: Final = "run"
GRAPHS: Final = "graph"


def write_newest_cursor(kind: str, place: NewestPlace) -> str:
    """The cursor of a page of runs or documents that ended with ``place``."""
    return _write(f"{kind} {write_moment(place.moment)} {place.name}")


def read_newest_cursor(kind: str, cursor: str) -> NewestPlace | None:
    """The place that a cursor names, None when it is none of ours."""
    match _read(cursor).split(" "):
        case [found, moment, name] if found == kind:
            try:
                return NewestPlace(read_moment(moment), name)
            except ValueError:
                return None
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
