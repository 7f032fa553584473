"""The store port: the serving hold, the fence, and what is on record as served."""

from __future__ import annotations

import pytest

from stateous_controlplane.engine.rows import Status
from stateous_controlplane.store.port import (
    GraphRecord,
    Holder,
    HoldLost,
    HoldState,
    Needs,
    Store,
)
from tests.support.databases import Database
from tests.support.stores import HOLDER, NOW, after, child, graph, load, token, write

SAME_HOST = "box-1:4712:00000000"
OTHER_HOST = "box-2:4711:11111111"


def test_one_control_plane_holds_a_database(database: Database, store: Store) -> None:
    other = database.open()
    assert other.take_hold(OTHER_HOST, after(3600)) == Holder(HOLDER, NOW)
    assert other.take_hold(SAME_HOST, after(3600)) == Holder(HOLDER, NOW)
    write(store, new_tokens=[token()])


def test_a_hold_that_was_given_up_is_anybodys(database: Database, store: Store) -> None:
    store.give_up_hold(HOLDER)
    other = database.open()
    assert other.take_hold(OTHER_HOST, NOW) is None
    assert database.open().take_hold(HOLDER, NOW) == Holder(OTHER_HOST, NOW)


@pytest.mark.parametrize(
    ("taker", "seconds", "taken"),
    [
        (SAME_HOST, 0, True),
        (OTHER_HOST, 0, False),
        (OTHER_HOST, 30, False),
        (OTHER_HOST, 30.000001, True),
        (OTHER_HOST, -5, False),
    ],
)
def test_the_row_of_a_control_plane_that_died(
    database: Database, store: Store, taker: str, seconds: float, taken: bool
) -> None:
    store.close()  # as the system does after a kill: the row stays, the lock is free
    other = database.open()
    taken = taken or database.locks_out_other_hosts
    assert other.take_hold(taker, after(seconds)) == (None if taken else Holder(HOLDER, NOW))
    if not taken:
        # The refusal left nothing locked.
        assert database.open().take_hold(SAME_HOST, NOW) is None


def test_since_is_renewed_when_it_is_five_seconds_old(database: Database, store: Store) -> None:
    def since() -> object:
        other = database.open().take_hold(OTHER_HOST, NOW)
        assert other is not None
        return other.since

    assert store.renew_hold(HOLDER, after(4.9)) is HoldState.OURS
    assert since() == NOW
    assert store.renew_hold(HOLDER, after(5)) is HoldState.OURS
    assert since() == after(5)
    assert store.renew_hold(HOLDER, after(2)) is HoldState.OURS  # the clock was put back
    assert since() == after(2)


def test_since_is_never_ten_seconds_old_with_a_tick_each_second(
    database: Database, store: Store
) -> None:
    for second in range(60):
        store.renew_hold(HOLDER, after(second))
        holder = database.open().take_hold(OTHER_HOST, after(second))
        assert holder is not None
        assert holder.since is not None
        assert (after(second) - holder.since).total_seconds() < 10


@pytest.fixture
def taken_over(database: Database, store: Store) -> Store:
    """The store that took the database from :func:`store`, which was suspended meanwhile."""
    write(store, new_tokens=[token()])
    database.drop_lock()
    other = database.open()
    assert other.take_hold(OTHER_HOST, after(31)) is None
    return other


def test_who_lost_the_hold_commits_nothing(store: Store, taken_over: Store) -> None:
    with pytest.raises(HoldLost):
        write(store, new_tokens=[token("T-2")])
    with pytest.raises(HoldLost):
        store.serve_graph(HOLDER, graph(), after(32))
    with taken_over.transaction(OTHER_HOST) as transaction:
        assert transaction.load(Needs(tokens={"T-1", "T-2"})).tokens.keys() == {"T-1"}
        assert transaction.graph("graph-2") is None


def test_who_lost_the_hold_finds_out_and_takes_nothing_back(
    store: Store, taken_over: Store
) -> None:
    assert store.renew_hold(HOLDER, after(32)) is HoldState.LOST
    store.give_up_hold(HOLDER)
    assert taken_over.renew_hold(OTHER_HOST, after(33)) is HoldState.OURS
    with taken_over.transaction(OTHER_HOST):
        pass


def test_a_hold_that_became_nobodys_is_taken_back(store: Store, taken_over: Store) -> None:
    taken_over.give_up_hold(OTHER_HOST)
    with pytest.raises(HoldLost):
        write(store, new_tokens=[token("T-2")])
    assert store.renew_hold(HOLDER, after(40)) is HoldState.TAKEN_BACK
    assert store.renew_hold(HOLDER, after(40)) is HoldState.OURS
    write(store, new_tokens=[token("T-2")])


def test_reads_tell_who_is_on_record(store: Store) -> None:
    reads = store.reads()
    assert reads.holds(HOLDER)
    assert not reads.holds(OTHER_HOST)
    store.give_up_hold(HOLDER)
    assert not reads.holds(HOLDER)
    reads.close()


# ── what is served (6.2) ────────────────────────────────────────────────

PARENT = token("P")


@pytest.fixture
def served(store: Store) -> Store:
    """A store that serves `graph-1` of `structure-1`, with tokens of each status."""
    assert store.serve_graph(HOLDER, graph("graph-1"), NOW) == 0
    write(
        store,
        new_tokens=[
            PARENT,
            child(PARENT, "left"),
            token("paused", status=Status.PAUSED),
            token("completed", status=Status.COMPLETED),
            token("failed", status=Status.FAILED),
            token("cancelled", status=Status.CANCELLED),
        ],
    )
    return store


def graphs(store: Store) -> dict[str, str]:
    ids = {"P", "paused", "completed", "failed", "cancelled"}
    return {row.token: row.graph for row in load(store, tokens=ids).tokens.values()}


def test_the_same_structure_takes_live_tokens_along(served: Store) -> None:
    assert served.serve_graph(HOLDER, graph("graph-2"), after(1)) == 0
    assert graphs(served) == {
        "P": "graph-2",
        "P.coding.1.left": "graph-2",
        "paused": "graph-2",
        "completed": "graph-1",
        "failed": "graph-1",
        "cancelled": "graph-1",
    }
    with served.transaction(HOLDER) as transaction:
        assert transaction.graph("graph-1") == graph("graph-1").document
        assert transaction.graph("graph-2") == graph("graph-2").document
        assert transaction.graph("graph-3") is None


def test_another_structure_is_refused_while_tokens_are_live(served: Store) -> None:
    assert served.serve_graph(HOLDER, graph("graph-2", "structure-2"), after(1)) == 3
    assert set(graphs(served).values()) == {"graph-1"}
    with served.transaction(HOLDER) as transaction:
        assert transaction.graph("graph-2") is None
    # The refusal has not put structure-2 on record.
    assert served.serve_graph(HOLDER, graph("graph-3", "structure-1"), after(2)) == 0


def test_another_structure_is_served_once_all_have_ended(store: Store) -> None:
    assert store.serve_graph(HOLDER, graph("graph-1"), NOW) == 0
    write(store, new_tokens=[token(status=Status.COMPLETED)])
    assert store.serve_graph(HOLDER, graph("graph-2", "structure-2"), after(1)) == 0
    write(store, new_tokens=[token("T-2", graph="graph-2")])
    assert store.serve_graph(HOLDER, graph("graph-1"), after(2)) == 1


def test_the_document_that_is_served_may_be_served_again(served: Store) -> None:
    again: GraphRecord = graph("graph-1")
    assert served.serve_graph(HOLDER, again, after(1)) == 0
    with served.transaction(HOLDER) as transaction:
        assert transaction.graph("graph-1") == again.document
