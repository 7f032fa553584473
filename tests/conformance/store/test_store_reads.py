"""The store port: reads, and pages with all filters against a naive model."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateous.json import JsonText
from stateous_controlplane.engine.rows import Active, Entry, Status, Task, TaskStatus, Token
from stateous_controlplane.store.port import (
    Changes,
    Place,
    Reads,
    Store,
    TaskFilter,
    TaskView,
    TokenFilter,
    TokenView,
)
from tests.support.databases import Database
from tests.support.stores import HOLDER, after, child, claimed, entry, task, timer, token, write

NO_LIMIT = 1 << 24


def view(row: Token) -> TokenView:
    return TokenView(
        row.token, row.state, row.status, row.visit, row.context.text, row.entered_at, row.parent
    )


# ── one token, its history ──────────────────────────────────────────────


def test_a_token_is_read_by_its_exact_id(store: Store, reads: Reads) -> None:
    row = token(
        configuration=(Active("outer", 1), Active("inner", 3)),
        status=Status.FAILED,
        entered_at=after(2),
        context=JsonText('{"n":1.0}'),
    )
    parent = token("P")
    write(store, new_tokens=[row, parent, child(parent, "left")])
    assert reads.token("T-1") == view(row)
    assert reads.token("P.coding.1.left") == view(child(parent, "left"))
    assert reads.token("t-1") is None
    assert reads.token("T-2") is None


@pytest.mark.parametrize(
    ("behind", "limit", "seqs"),
    [
        (0, None, [1, 2, 3, 4, 5]),
        (0, 2, [1, 2]),
        (2, 2, [3, 4]),
        (4, None, [5]),
        (5, None, []),
        (2**63 - 1, 10, []),
    ],
)
def test_a_history_is_read_behind_an_entry(
    store: Store, reads: Reads, behind: int, limit: int | None, seqs: list[int]
) -> None:
    entries = [entry(seq=seq) for seq in (1, 2, 3, 4, 5)]
    write(store, new_tokens=[token(), token("T-2")], entries=[*entries, entry("T-2", 1)])
    found = reads.history("T-1", after=behind, limit=limit)
    assert found is not None
    assert [each.seq for each in found] == seqs


def test_who_has_no_history(store: Store, reads: Reads) -> None:
    write(store, new_tokens=[token()])
    assert reads.history("T-1", after=0, limit=None) == []
    assert reads.history("T-2", after=0, limit=None) is None
    assert reads.history("t-1", after=0, limit=None) is None


# ── pages of tokens ─────────────────────────────────────────────────────

#: Ids whose order by code point is not that of any language, some of them prefixes of others.
IDS = [
    "A", "A-1", "A-10", "A-2", "A_1", "AB", "Y", "c", "c-1", "cb", "b%", "b_", "bb", "b*", "é", "z",
    "\ud7ff", "\ue000", "￿", "\U00010000", "\U0010ffff", "\U0010ffff1",
]  # fmt: skip
WORKFLOWS = [None, "left", "right"]
STATES = ["coding", "testing", "reviews"]


def made_tokens() -> list[Token]:
    """Tokens with many equal moments, in all statuses and states, and some children."""
    rows = [
        token(
            token_id,
            status=list(Status)[at % 5],
            configuration=(Active(STATES[at % 3], 1 + at % 2),),
            entered_at=after(at % 4 + (at % 2) / 1_000_000),
            context=JsonText('"' + "x" * (at * 7 % 40) + "é" * (at % 3) + '"'),
        )
        for at, token_id in enumerate(IDS)
    ]
    parents = rows[:3]
    return rows + [
        replace(
            child(parent, workflow),
            status=list(Status)[at % 5],
            entered_at=after(at % 3),
            configuration=(Active(STATES[at % 3], 1),),
        )
        for at, (parent, workflow) in enumerate(
            (parent, workflow) for parent in parents for workflow in ("left", "right")
        )
    ]


def fits(row: Token, where: TokenFilter) -> bool:
    return all(
        (
            where.status is None or row.status.value == where.status,
            where.state is None or row.state == where.state,
            not where.top_only or row.workflow is None,
            where.top_only or where.workflow is None or row.workflow == where.workflow,
            where.parent is None or row.parent == where.parent,
            where.prefix is None or row.token[: len(where.prefix)] == where.prefix,
            where.moved_after is None or row.entered_at > where.moved_after,
            where.moved_before is None or row.entered_at < where.moved_before,
        )
    )


def moved_last(row: Token) -> tuple[float, list[int]]:
    return (-row.entered_at.timestamp(), [ord(letter) for letter in row.token])


moments = st.sampled_from([after(at + more / 1_000_000) for at in range(4) for more in (0, 1)])
prefixes = st.sampled_from(
    [
        "A",
        "A-",
        "A-1",
        "a",
        "c",
        "b",
        "b%",
        "b_",
        "b*",
        "é",
        "\ud7ff",
        "\U0010ffff",
        "￿",
        "Q",
        "P" * 128,
    ]
)
token_filters = st.builds(
    TokenFilter,
    status=st.none() | st.sampled_from([status.value for status in Status]),
    state=st.none() | st.sampled_from([*STATES, "cod", "CODING"]),
    workflow=st.none() | st.sampled_from(["left", "right", "ticket"]),
    top_only=st.booleans(),
    parent=st.none() | st.sampled_from(["A", "A-1", "a", "nobody"]),
    prefix=st.none() | prefixes,
    moved_after=st.none() | moments,
    moved_before=st.none() | moments,
)


@pytest.fixture
def listed(store: Store) -> Iterator[Reads]:
    write(store, new_tokens=made_tokens(), new_tasks=made_tasks(), entries=queued_entries())
    reads = store.reads()
    yield reads
    reads.close()


several = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@several
@given(where=token_filters, limit=st.integers(1, 40), max_bytes=st.integers(1, 400))
def test_pages_of_tokens_hold_what_fits_each_token_once(
    listed: Reads, where: TokenFilter, limit: int, max_bytes: int
) -> None:
    expected = [view(row) for row in sorted(made_tokens(), key=moved_last) if fits(row, where)]
    found: list[TokenView] = []
    place: Place | None = None
    more = True
    while more:
        page, more = listed.tokens(where, behind=place, limit=limit, max_bytes=max_bytes)
        assert len(page) <= limit
        assert page or not more
        sizes = [len(each.context.encode()) for each in page]
        assert sum(sizes[:-1]) < max_bytes
        if more:
            # Nothing but the limit or the bytes ends a page.
            assert len(page) == limit or sum(sizes) >= max_bytes
        found += page
        assert len(found) <= len(expected)
        if page:
            place = Place(page[-1].entered_at, page[-1].token)
    assert found == expected


@pytest.mark.parametrize("count", [999, 1000, 1001, 1500])
def test_a_prefix_that_many_ids_have(store: Store, reads: Reads, count: int) -> None:
    write(
        store,
        new_tokens=[
            token(f"T-{at:04}", entered_at=after(at % 7), status=list(Status)[at % 2])
            for at in range(count)
        ],
    )
    newest = [f"T-{at:04}" for at in range(count) if at % 7 == 6 and at % 2 == 0]
    page, more = reads.tokens(
        TokenFilter(prefix="T-", status="active"), behind=None, limit=50, max_bytes=NO_LIMIT
    )
    assert ([each.token for each in page], more) == (newest[:50], True)


def test_a_walk_shows_what_does_not_move_meanwhile_once(store: Store, reads: Reads) -> None:
    write(store, new_tokens=[token(f"T-{at}", entered_at=after(at)) for at in range(6)])
    first, _ = reads.tokens(TokenFilter(), behind=None, limit=3, max_bytes=NO_LIMIT)
    write(store, tokens=[token("T-1", entered_at=after(9)), token("T-4", entered_at=after(10))])
    rest, more = reads.tokens(
        TokenFilter(), behind=Place(first[-1].entered_at, first[-1].token), limit=3, max_bytes=9999
    )
    assert [each.token for each in [*first, *rest]] == ["T-5", "T-4", "T-3", "T-2", "T-0"]
    assert not more


# ── pages of tasks ──────────────────────────────────────────────────────

QUEUES = ["coding", "testing", "left/coding"]


def made_tasks() -> list[Task]:
    return [
        task(
            at + 1,
            IDS[at % 5],
            queue=QUEUES[at % 3],
            state=QUEUES[at % 3].rpartition("/")[2],
            visit=1 + at // 5,
            status=status,
            ready=status is TaskStatus.QUEUED and at % 4 != 0,
            attempt=at % 3,
            claimed_by="box-1" if status is not TaskStatus.QUEUED else None,
            lease_until=after(at) if status is TaskStatus.CLAIMED else None,
            queued_at=after(-at),
        )
        for at in range(40)
        for status in [list(TaskStatus)[at % 6]]
    ]


def queued_entries() -> list[Entry]:
    seqs = dict.fromkeys(IDS, 0)
    entries = []
    for row in made_tasks():
        for kind, data in (
            ("note", '{"task":99,"text":"x"}'),
            ("task_queued", f'{{"task":{row.id}}}'),
        ):
            seqs[row.token] += 1
            entries.append(entry(row.token, seqs[row.token], kind=kind, data=JsonText(data)))
    return entries


task_filters = st.builds(
    TaskFilter,
    status=st.none() | st.sampled_from([status.value for status in TaskStatus]),
    state=st.none() | st.sampled_from([*QUEUES, "Coding", "left"]),
    token=st.none() | st.sampled_from([*IDS[:6], "nobody"]),
)


@several
@given(where=task_filters, limit=st.integers(1, 12))
def test_pages_of_tasks_hold_what_fits_each_task_once(
    listed: Reads, where: TaskFilter, limit: int
) -> None:
    expected = [
        TaskView(
            row.id,
            row.token,
            row.queue,
            row.visit,
            row.status,
            row.attempt,
            row.claimed_by,
            row.lease_until,
            row.queued_at,
        )
        for row in made_tasks()
        if where.status in (None, row.status.value)
        and where.state in (None, row.queue)
        and where.token in (None, row.token)
    ]
    found: list[TaskView] = []
    behind, more = 0, True
    while more:
        page, more = listed.tasks(where, behind=behind, limit=limit)
        assert len(page) == limit or not more
        found += page
        assert len(found) <= len(expected)
        behind = page[-1].task if page else behind
    assert found == expected
    assert all(isinstance(each.status, TaskStatus) for each in found)


# ── beside the writer ───────────────────────────────────────────────────


def test_reads_see_commits_alone_and_never_wait_for_the_writer(store: Store) -> None:
    write(store, new_tokens=[token()], new_tasks=[claimed(1)], entries=[entry()])
    seen: list[tuple[object, ...]] = []

    def look() -> None:
        reads = store.reads()
        page, _ = reads.tokens(TokenFilter(), behind=None, limit=9, max_bytes=NO_LIMIT)
        found = reads.token("T-1")
        assert found is not None
        history = reads.history("T-1", after=0, limit=None)
        assert history is not None
        seen.append((found.entered_at, len(history), len(page), reads.holds(HOLDER)))
        reads.close()

    def in_another_thread() -> None:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(timeout=20)

    with store.transaction(HOLDER) as transaction:
        transaction.write(
            Changes(
                tokens=[token(entered_at=after(5))],
                new_tokens=[token("T-2")],
                new_timers=[timer()],
                entries=[entry(seq=2)],
            )
        )
        in_another_thread()
    in_another_thread()
    assert seen == [(after(0), 1, 1, True), (after(5), 2, 2, True)]


def test_one_reader_for_several_threads(store: Store, reads: Reads) -> None:
    write(store, new_tokens=[token(f"T-{at}", entered_at=after(at)) for at in range(20)])
    moments: list[datetime] = []

    def look() -> None:
        for at in range(20):
            found = reads.token(f"T-{at}")
            assert found is not None
            moments.append(found.entered_at)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(moments) == sorted(after(at) for at in range(20) for _ in range(4))


def test_another_control_plane_reads_what_was_committed(database: Database, store: Store) -> None:
    write(store, new_tokens=[token()])
    store.give_up_hold(HOLDER)
    store.close()
    again = database.open()
    assert again.take_hold(HOLDER, after(1)) is None
    reads = again.reads()
    assert reads.token("T-1") == view(token())
    reads.close()
