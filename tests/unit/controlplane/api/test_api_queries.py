"""Query parameters of reads, and cursors."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from stateous.wire.problems import Refusal
from stateous_controlplane.api.cursors import (
    read_task_cursor,
    read_token_cursor,
    write_task_cursor,
    write_token_cursor,
)
from stateous_controlplane.api.queries import (
    HistoryPage,
    TaskPage,
    TokenPage,
    TokenWait,
    history_page,
    task_page,
    token_page,
    token_wait,
)
from stateous_controlplane.store.port import Place, TaskFilter, TokenFilter

Query = Callable[[bytes], Any]
tokens: Query = partial(token_page, served="ticket")
MOMENT = datetime(2027, 3, 1, 14, 51, 53, 873706, tzinfo=UTC)
PLACE = Place(MOMENT, "T-1")


@pytest.mark.parametrize(
    ("read", "query", "asked"),
    [
        (token_wait, b"", TokenWait(0, moved=False)),
        (token_wait, b"wait=60", TokenWait(60, moved=False)),
        (token_wait, b"until=moved&wait=007&other=%FF", TokenWait(7, moved=True)),
        (token_wait, b"wait=99&wait=1", TokenWait(1, moved=False)),
        (token_wait, b"wait=0&until=ended", TokenWait(0, moved=False)),
        (history_page, b"", HistoryPage(0, None, 0)),
        (history_page, b"after=12&limit=10000&wait=1", HistoryPage(12, 10_000, 1)),
        (history_page, b"after=" + b"9" * 5000, HistoryPage(2**63 - 1, None, 0)),
        (tokens, b"", TokenPage(TokenFilter(), None, 100)),
        (tokens, b"limit=0003&&x", TokenPage(TokenFilter(), None, 3)),
        (tokens, b"status=paused", TokenPage(TokenFilter(status="paused"), None, 100)),
        (
            tokens,
            b"workflow=ticket&state=a%2Fb&parent=" + b"p" * 128,
            TokenPage(
                TokenFilter(workflow="ticket", top_only=True, state="a/b", parent="p" * 128),
                None,
                100,
            ),
        ),
        (tokens, b"workflow=child", TokenPage(TokenFilter(workflow="child"), None, 100)),
        (tokens, b"prefix=a+b%C3%A9", TokenPage(TokenFilter(prefix="a bé"), None, 100)),
        *(
            (tokens, b"moved_after=" + text, TokenPage(TokenFilter(moved_after=MOMENT), None, 100))
            for text in (
                b"2027-03-01T14:51:53.873706Z",
                b"2027-03-01T16:51:53.873706%2B02:00",
                b"2027-03-01T16:51:53.873706+02:00",
                b"2027-03-01T12:51:53.873706-02:00",
            )
        ),
        (
            tokens,
            b"moved_before=2027-03-01T14:51:53.873706Z&cursor="
            + write_token_cursor(PLACE).encode(),
            TokenPage(TokenFilter(moved_before=MOMENT), PLACE, 100),
        ),
        (task_page, b"", TaskPage(TaskFilter(), 0, 100)),
        (
            task_page,
            b"status=waiting&state="
            + b"s" * 129
            + b"&token=T&limit=1000&cursor="
            # base64url of "task 7"
            + b"dGFzayA3",
            TaskPage(TaskFilter("waiting", "s" * 129, "T"), 7, 1000),
        ),
    ],
)
def test_what_a_query_asks_for(read: Query, query: bytes, asked: object) -> None:
    assert read(query) == asked


@pytest.mark.parametrize(
    ("read", "query"),
    [
        *(
            (token_wait, b"wait=" + text)
            for text in (b"", b"-1", b"61", b"1.0", b"x", b"%2B1", b"1_0", b"+1", b"9" * 5000)
        ),
        (token_wait, "wait=١".encode()),
        (token_wait, b"until=never"),
        (token_wait, b"until="),
        (token_wait, b"wait=1&wait=61"),
        (history_page, b"after=-1"),
        (history_page, b"after="),
        (history_page, b"limit=0"),
        (history_page, b"limit=10001"),
        (history_page, b"wait=61"),
        *((tokens, b"status=" + text) for text in (b"", b"Active", b"bogus", b"queued")),
        *((tokens, b"limit=" + text) for text in (b"0", b"1001", b"", b"abc", b"1.0", b"1" * 22)),
        *((tokens, name + b"=") for name in (b"state", b"workflow", b"parent", b"prefix")),
        (tokens, b"state=" + b"s" * 65),
        (tokens, b"workflow=" + b"s" * 65),
        (tokens, b"parent=" + b"s" * 129),
        (tokens, b"prefix=a%00"),
        (tokens, b"prefix=%FF"),
        (tokens, b"prefix=\xff"),
        (tokens, b"prefix=%ED%A0%80"),
        *(
            (tokens, b"moved_after=" + text)
            for text in (
                b"yesterday",
                b"",
                b"2027-03-01",
                b"2027-03-01T14:51:53",
                b"2027-13-01T14:51:53Z",
                b"0001-01-01T00:00:00%2B23:00",
            )
        ),
        *((tokens, b"cursor=" + text) for text in (b"", b"zzz", b"dGFzayA3", b"%00", b"%FF")),
        (task_page, b"status=active"),
        (task_page, b"state=" + b"s" * 130),
        (task_page, b"token="),
        (task_page, b"cursor=" + write_token_cursor(PLACE).encode()),
    ],
)
def test_queries_that_are_refused(read: Query, query: bytes) -> None:
    refusal = read(query)
    assert isinstance(refusal, Refusal), refusal
    assert refusal.code == "invalid_argument"
    # Whatever came in, the sentence can be sent.
    assert len(refusal.body()) < 1000


@pytest.mark.parametrize(
    "place",
    [
        PLACE,
        Place(datetime(1, 1, 1, tzinfo=UTC), "x" * 128),
        Place(datetime(2027, 1, 1, 0, 0, 0, tzinfo=UTC), "a.b_c-D"),
    ],
)
def test_a_token_cursor_is_opaque_and_names_its_place(place: Place) -> None:
    cursor = write_token_cursor(place)
    assert re.fullmatch(r"[A-Za-z0-9_-]+", cursor)
    assert read_token_cursor(cursor) == place


@pytest.mark.parametrize("task", [1, 10**18, 2**63 - 1])
def test_a_task_cursor_names_its_task(task: int) -> None:
    assert read_task_cursor(write_task_cursor(task)) == task


@pytest.mark.parametrize(
    "cursor",
    [
        "dGFzayA3=",
        "dGFzayA3\n",
        " dGFzayA3",
        "dGFzayA4AA",
        "dGFzayA",
        "dGFzayB3x",
        "é",
        "dGFzayAtMQ",
        "AAAA",
        "a",
    ],
)
def test_a_cursor_that_is_none_of_ours(cursor: str) -> None:
    assert read_task_cursor(cursor) is None
    assert read_token_cursor(cursor) is None
