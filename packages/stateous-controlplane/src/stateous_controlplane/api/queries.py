"""Query parameters of reads (`docs/spec/wire.md` 2.2, 2.6). Pure; what is wrong is a refusal.

Unknown parameters are ignored; of one that is given twice the last counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl

from stateous.limits import MAX_ID, MAX_NAME, MAX_QUEUE_NAME, MAX_READ_WAIT, MAX_TOKEN_ID
from stateous.wire.moments import read_moment
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.api.cursors import read_task_cursor, read_token_cursor
from stateous_controlplane.api.shapes import shown
from stateous_controlplane.engine.rows import Status, TaskStatus
from stateous_controlplane.store.port import Place, TaskFilter, TokenFilter

MAX_PAGE: Final = 1000
DEFAULT_PAGE: Final = 100
MAX_HISTORY: Final = 10_000

_DIGITS = re.compile(r"[0-9]+", re.ASCII)
# A lone surrogate stands for a byte that is not UTF-8.
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")

Query: TypeAlias = Mapping[str, str]


class Bad(Exception):
    """A parameter that cannot be used; carries the refusal. Never leaves who parses."""

    def __init__(self, name: str, wanted: str, value: str) -> None:
        super().__init__(name)
        self.refusal = Refusal(
            Code.INVALID_ARGUMENT, f"the parameter '{name}' must be {wanted}, not {shown(value)}"
        )


class TokenWait(NamedTuple):
    """How long a read of a token waits, in seconds, and for what."""

    wait: int
    moved: bool


class HistoryPage(NamedTuple):
    """Which entries of a history are asked for, and how long to wait for one."""

    after: int
    limit: int | None
    wait: int


class TokenPage(NamedTuple):
    """Which page of the tokens is asked for."""

    where: TokenFilter
    behind: Place | None
    limit: int


class TaskPage(NamedTuple):
    """Which page of the tasks is asked for."""

    where: TaskFilter
    behind: int
    limit: int


def token_wait(query: bytes) -> TokenWait | Refusal:
    """`GET /tokens/{token}`."""
    if not query:
        return TokenWait(0, moved=False)
    given = parse(query)
    try:
        wait = number_in(given, "wait", 0, MAX_READ_WAIT) or 0
        until = one_of_in(given, "until", ("ended", "moved"))
    except Bad as bad:
        return bad.refusal
    return TokenWait(wait, moved=until == "moved")


def history_page(query: bytes) -> HistoryPage | Refusal:
    """`GET /tokens/{token}/history`."""
    if not query:
        return HistoryPage(0, None, 0)
    given = parse(query)
    try:
        return HistoryPage(
            after=number_in(given, "after", 0, None) or 0,
            limit=number_in(given, "limit", 1, MAX_HISTORY),
            wait=number_in(given, "wait", 0, MAX_READ_WAIT) or 0,
        )
    except Bad as bad:
        return bad.refusal


def token_page(query: bytes, *, served: str | None) -> TokenPage | Refusal:
    """`GET /tokens`. ``served`` is the name of the served workflow, that of top tokens."""
    given = parse(query)
    try:
        workflow = text_in(given, "workflow", MAX_NAME)
        where = TokenFilter(
            status=one_of_in(given, "status", tuple(Status)),
            state=text_in(given, "state", MAX_NAME),
            workflow=workflow,
            top_only=workflow is not None and workflow == served,
            parent=text_in(given, "parent", MAX_TOKEN_ID),
            prefix=text_in(given, "prefix", MAX_TOKEN_ID),
            moved_after=_moment(given, "moved_after"),
            moved_before=_moment(given, "moved_before"),
        )
        limit = number_in(given, "limit", 1, MAX_PAGE) or DEFAULT_PAGE
        behind = None
        if "cursor" in given:
            behind = read_token_cursor(given["cursor"])
            if behind is None:
                raise Bad("cursor", "what an answer's Stateous-Next said", given["cursor"])
    except Bad as bad:
        return bad.refusal
    return TokenPage(where, behind, limit)


def task_page(query: bytes) -> TaskPage | Refusal:
    """`GET /tasks`."""
    given = parse(query)
    try:
        where = TaskFilter(
            status=one_of_in(given, "status", tuple(TaskStatus)),
            state=text_in(given, "state", MAX_QUEUE_NAME),
            token=text_in(given, "token", MAX_TOKEN_ID),
        )
        limit = number_in(given, "limit", 1, MAX_PAGE) or DEFAULT_PAGE
        behind = 0
        if "cursor" in given:
            found = read_task_cursor(given["cursor"])
            if found is None:
                raise Bad("cursor", "what an answer's Stateous-Next said", given["cursor"])
            behind = found
    except Bad as bad:
        return bad.refusal
    return TaskPage(where, behind, limit)


def parse(query: bytes) -> Query:
    """The parameters; of one that is given twice the last."""
    text = query.decode("utf-8", "surrogateescape")
    return dict(parse_qsl(text, keep_blank_values=True, errors="surrogateescape"))


def text_in(query: Query, name: str, longest: int) -> str | None:
    """A text of 1 to ``longest`` characters.

    Raises:
        Bad: it is none.
    """
    value = query.get(name)
    if value is not None and (not 1 <= len(value) <= longest or _UNUSABLE.search(value)):
        raise Bad(name, f"a text of 1 to {longest} characters", _clean(value))
    return value


def one_of_in(query: Query, name: str, words: tuple[str, ...]) -> str | None:
    """One of ``words``.

    Raises:
        Bad: it is none.
    """
    value = query.get(name)
    if value is not None and value not in words:
        raise Bad(name, "one of " + ", ".join(f"'{word}'" for word in words), _clean(value))
    return value


def number_in(query: Query, name: str, least: int, most: int | None) -> int | None:
    """A whole number; without ``most`` one beyond every id counts as the largest id.

    Raises:
        Bad: it is none, or out of reach.
    """
    value = query.get(name)
    if value is None:
        return None
    if _DIGITS.fullmatch(value):
        significant = value.lstrip("0") or "0"
        number = MAX_ID if len(significant) >= len(str(MAX_ID)) else int(significant)
        if number >= least and (most is None or number <= most):
            return number
    reach = f"from {least} to {most}" if most is not None else f"from {least}"
    raise Bad(name, f"a whole number {reach}", _clean(value))


def _moment(query: Query, name: str) -> datetime | None:
    value = query.get(name)
    if value is None:
        return None
    try:
        # The plus of an offset that was not percent-encoded has become a space.
        return read_moment(value.replace(" ", "+") if "T" in value else value)
    except ValueError:
        raise Bad(
            name, "a moment with Z or an offset, as 2027-03-01T14:51:53Z", _clean(value)
        ) from None


def _clean(value: str) -> str:
    return _UNUSABLE.sub("\ufffd", value)
