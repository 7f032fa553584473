"""The store port: what a load brings."""

from __future__ import annotations

import pytest

from stateous.json import JsonText
from stateous_controlplane.engine.rows import KeyUse, Status, TaskStatus, TimerStatus
from stateous_controlplane.store.port import (
    Changes,
    Due,
    Granted,
    Needs,
    Queued,
    Remembered,
    Store,
)
from tests.support.stores import (
    HOLDER,
    after,
    child,
    claimed,
    entry,
    load,
    task,
    timer,
    token,
    write,
)

PARENT = token("P")
LEFT, RIGHT = child(PARENT, "left"), child(PARENT, "right")
ENDED = child(PARENT, "ended", status=Status.COMPLETED, ended_at=after(1))
PAST = child(PARENT, "past", parent_visit=7, status=Status.FAILED, ended_at=after(1))
FAMILY = {"P", LEFT.token, RIGHT.token, ENDED.token}


@pytest.fixture
def family(store: Store) -> Store:
    """Three live tokens, an ended one of the current visit, one of another visit; a stranger."""
    write(
        store,
        new_tokens=[PARENT, LEFT, RIGHT, ENDED, PAST, token("stranger")],
        new_tasks=[
            task(1, LEFT.token),
            claimed(2, RIGHT.token),
            task(3, RIGHT.token, status=TaskStatus.WAITING, ready=False),
            task(4, RIGHT.token, status=TaskStatus.DONE, ready=False),
            task(5, ENDED.token, status=TaskStatus.CANCELLED, ready=False),
            task(6, "stranger"),
        ],
        new_timers=[
            timer(1, "P"),
            timer(2, LEFT.token, status=TimerStatus.FIRED, ready=False),
            timer(3, RIGHT.token, status=TimerStatus.CANCELLED, ready=False),
            timer(4, "stranger"),
        ],
    )
    return store


@pytest.mark.parametrize(
    ("needs", "tokens", "tasks", "timers"),
    [
        pytest.param({"tokens": {"P"}}, FAMILY, {1, 2, 3}, {1}, id="top token"),
        pytest.param({"tokens": {LEFT.token}}, FAMILY, {1, 2, 3}, {1}, id="child"),
        pytest.param({"tokens": {ENDED.token}}, FAMILY, {1, 2, 3}, {1}, id="ended child"),
        pytest.param(
            {"tokens": {PAST.token}},
            FAMILY | {PAST.token},
            {1, 2, 3},
            {1},
            id="child of an earlier visit",
        ),
        pytest.param({"tasks": {2}}, FAMILY, {1, 2, 3}, {1}, id="task of a child"),
        pytest.param({"tasks": {4}}, FAMILY, {1, 2, 3, 4}, {1}, id="task that is done"),
        pytest.param({"tasks": {5}}, FAMILY, {1, 2, 3, 5}, {1}, id="task of an ended token"),
        pytest.param({"timers": {1}}, FAMILY, {1, 2, 3}, {1}, id="timer"),
        pytest.param({"timers": {2}}, FAMILY, {1, 2, 3}, {1, 2}, id="timer that fired"),
        pytest.param({"memory_of": {6}}, {"stranger"}, {6}, {4}, id="task whose memory is wanted"),
        pytest.param(
            {"tokens": {"P"}, "tasks": {6}},
            FAMILY | {"stranger"},
            {1, 2, 3, 6},
            {1, 4},
            id="two families",
        ),
        pytest.param({"folded": {"p"}}, FAMILY, {1, 2, 3}, {1}, id="in another case"),
        pytest.param({"tokens": {"p"}}, set(), set(), set(), id="exact ids have their case"),
        pytest.param(
            {"tokens": {"X"}, "tasks": {99}, "timers": {99}, "folded": {"x"}, "memory_of": {98}},
            set(),
            set(),
            set(),
            id="nothing there",
        ),
        pytest.param({}, set(), set(), set(), id="nothing asked for"),
    ],
)
def test_what_is_named_brings_its_family(
    family: Store,
    needs: dict[str, set[object]],
    tokens: set[str],
    tasks: set[int],
    timers: set[int],
) -> None:
    loaded = load(family, **needs)
    assert loaded.tokens.keys() == tokens
    assert loaded.tasks.keys() == tasks
    assert loaded.timers.keys() == timers
    assert all(key == row.token for key, row in loaded.tokens.items())
    assert all(key == row.id for key, row in (loaded.tasks | loaded.timers).items())


@pytest.mark.parametrize("name", ["123", "1e5", "0x1F", "9223372036854775808", "null", "true"])
def test_an_id_that_looks_like_something_else_is_a_text(store: Store, name: str) -> None:
    write(
        store,
        new_tokens=[token(name)],
        new_tasks=[claimed(1, name, queue=name)],
        entries=[entry(name, 1, key=name, data=JsonText('{"event":"done","payload":null}'))],
        memory={(name, name, name): JsonText(name if name == "null" else '"x"')},
        remembered={name: Remembered(name, (Granted(1, 1),))},
    )
    loaded = load(
        store, tokens={name}, folded={name}, keys={(name, name)}, supervisors={name}, tasks={1}
    )
    assert loaded.tokens == {name: token(name)}
    assert loaded.ids == {name.lower(): name}
    assert loaded.keys == {(name, name): KeyUse("done", None)}
    assert loaded.remembered == {name: Remembered(name, (Granted(1, 1),))}
    with store.transaction(HOLDER) as transaction:
        assert transaction.memory({(name, name)})[name, name].keys() == {name}


def test_a_paused_token_is_live(store: Store) -> None:
    write(store, new_tokens=[PARENT, child(PARENT, "left", status=Status.PAUSED)])
    assert load(store, tokens={"P"}).tokens.keys() == {"P", LEFT.token}


def test_an_id_is_found_in_any_case_and_told_as_it_is_written(store: Store) -> None:
    write(store, new_tokens=[token("Ticket-1"), token("OTHER")])
    loaded = load(store, folded={"ticket-1", "TICKET-1", "absent"})
    assert loaded.ids == {"ticket-1": "Ticket-1"}
    assert loaded.tokens.keys() == {"Ticket-1"}


@pytest.mark.parametrize(
    ("kind", "data", "use"),
    [
        (
            "event_accepted",
            '{"event":"done","payload":{"n":1.0},"state":"coding"}',
            KeyUse("done", JsonText('{"n":1.0}')),
        ),
        (
            "event_accepted",
            '{"event":"done","payload":null,"state":"coding"}',
            KeyUse("done", None),
        ),
        (
            "event_deferred",
            '{"event":"stuck","payload":{},"arrival":1}',
            KeyUse("stuck", JsonText("{}")),
        ),
        (
            "event_accepted",
            '{"event":"done","payload":{"n":123456789012345678901234567890},"state":"s"}',
            KeyUse("done", JsonText('{"n":123456789012345678901234567890}')),
        ),
    ],
)
def test_what_a_key_was_used_for(store: Store, kind: str, data: str, use: KeyUse) -> None:
    write(
        store,
        new_tokens=[token("A"), token("B")],
        entries=[
            entry("A", 1),
            entry("A", 2, kind=kind, data=JsonText(data), key="kéy 1"),
            entry("B", 1, kind=kind, data=JsonText(data), key="K"),
        ],
    )
    wanted = {("A", "kéy 1"), ("A", "K"), ("B", "k"), ("X", "kéy 1")}
    assert load(store, keys=wanted).keys == {("A", "kéy 1"): use}


def test_a_queue_gives_its_oldest_ready_tasks(store: Store) -> None:
    write(
        store,
        new_tokens=[token(f"T-{at}") for at in range(9)],
        new_tasks=[
            task(1, "T-1", queued_at=after(5)),
            task(2, "T-2", queued_at=after(3)),
            task(3, "T-3", queued_at=after(3)),
            task(4, "T-4", queued_at=after(1), ready=False),  # its token is paused
            claimed(5, "T-5", queued_at=after(0)),
            task(6, "T-6", queue="left/coding", queued_at=after(0)),
            task(7, "T-7", queue="testing", queued_at=after(9)),
            task(8, "T-8", queue="testing", queued_at=after(8)),
        ],
    )
    assert load(store, queues={"coding": 2}).tasks.keys() == {2, 3}
    assert load(store, queues={"coding": 100}).tasks.keys() == {1, 2, 3}
    assert load(store, queues={"coding": 1, "testing": 1}).tasks.keys() == {2, 8}
    assert load(store, queues={"coding": 1, "testing": 2}).tasks.keys() == {2, 7, 8}
    assert load(store, queues={"left/coding": 1}).tokens.keys() == {"T-6"}
    assert load(store, queues={"coding'": 1, "CODING": 1}).tasks == {}


def test_a_load_says_which_are_the_oldest_of_a_queue_and_not_what_else_is_ready(
    store: Store,
) -> None:
    write(
        store,
        new_tokens=[token("P"), token("T-3")],
        new_tasks=[
            task(1, "P", queued_at=after(1)),
            task(2, "T-3", queued_at=after(2)),
            task(3, "P", queued_at=after(3)),
            task(4, "P", queue="testing"),
        ],
    )
    oldest = [Queued(after(1), 1), Queued(after(2), 2), Queued(after(3), 3)]
    # The family brings task 3 along; task 2 is older.
    assert load(store, queues={"coding": 1}).queued == {"coding": oldest[:1]}
    assert load(store, queues={"coding": 2}).queued == {"coding": oldest[:2]}
    assert load(store, queues={"coding": 9}).queued == {"coding": oldest}
    assert load(store, queues={"nothing": 1}).queued.get("nothing", []) == []
    assert load(store, queues={"coding": 2}).passed_over == set()


def test_many_queues_at_once(store: Store) -> None:
    write(
        store,
        new_tokens=[token("T")],
        new_tasks=[task(at, "T", queue=f"q{at}") for at in range(1, 201)],
    )
    queues = {f"q{at}": 1 + at % 3 for at in range(1, 1001)}
    assert load(store, queues=queues).tasks.keys() == set(range(1, 201))


def test_a_remembered_request_brings_the_tasks_that_are_still_held(store: Store) -> None:
    remembered = Remembered("r1", (Granted(1, 1), Granted(2, 1), Granted(3, 1)))
    write(
        store,
        new_tokens=[token("A"), token("B"), token("C")],
        new_tasks=[
            claimed(1, "A"),
            claimed(2, "B", attempt=2),
            claimed(3, "C", status=TaskStatus.DONE),
        ],
        remembered={"box-1": remembered, "box 'é'": Remembered("r2", (Granted(1, 1),))},
    )
    loaded = load(store, supervisors={"box-1", "box-9"})
    assert loaded.remembered == {"box-1": remembered}
    assert loaded.tasks.keys() == {1}
    assert loaded.tokens.keys() == {"A"}
    both = load(store, supervisors={"box-1", "box 'é'"})
    assert both.remembered["box 'é'"] == Remembered("r2", (Granted(1, 1),))


def test_memory_is_that_of_token_and_state(store: Store) -> None:
    write(
        store,
        new_tokens=[token("A"), token("B")],
        new_tasks=[task(1, "A"), task(2, "B"), task(3, "A", state="testing")],
        memory={
            ("A", "coding", "branch"): JsonText('"main"'),
            ("A", "coding", "n"): JsonText("1.0"),
            ("A", "testing", "branch"): JsonText('"other"'),
        },
    )
    loaded = load(store, memory_of={1, 2})
    assert loaded.memory == {
        ("A", "coding"): {"branch": JsonText('"main"'), "n": JsonText("1.0")},
        ("B", "coding"): {},
    }
    with store.transaction(HOLDER) as transaction:
        assert transaction.memory({("A", "testing"), ("X", "y")}) == {
            ("A", "testing"): {"branch": JsonText('"other"')},
            ("X", "y"): {},
        }
        assert transaction.memory(set()) == {}


def test_a_second_load_sees_what_the_transaction_wrote(store: Store) -> None:
    with store.transaction(HOLDER) as transaction:
        assert transaction.load(Needs(tokens={"T-1"})).tokens == {}
        transaction.write(Changes(new_tokens=[token()], new_tasks=[task()]))
        assert transaction.load(Needs(tokens={"T-1"})).tokens == {"T-1": token()}
        transaction.write(Changes(tokens=[token(status=Status.PAUSED, paused_at=after(1))]))
        transaction.write(Changes(tokens=[token(seq=9)]))
        assert transaction.load(Needs(tasks={1})).tokens == {"T-1": token(seq=9)}


def test_a_loaded_row_is_nobody_elses(store: Store) -> None:
    write(store, new_tokens=[token()], new_tasks=[task()], new_timers=[timer()])
    loaded = load(store, tokens={"T-1"})
    loaded.tokens["T-1"].counts["done"] = 7
    loaded.tokens["T-1"].context.value["repo"] = "changed"
    loaded.tokens["T-1"].status = Status.FAILED
    loaded.tasks[1].attempt = 7
    loaded.timers[1].ready = False
    again = load(store, tokens={"T-1"})
    assert again.tokens == {"T-1": token()}
    assert again.tokens["T-1"].context.value == {"repo": "acme/api"}
    assert (again.tasks, again.timers) == ({1: task()}, {1: timer()})


@pytest.mark.parametrize(
    ("at", "leases", "limit", "ended", "due"),
    [
        (0, True, 9, (), ()),
        (1, True, 9, (), (3,)),
        (2, True, 9, (2,), (3, 1, 2)),
        (60, True, 9, (2, 1, 3), (3, 1, 2)),
        (60, True, 2, (2, 1), (3, 1)),
        (60, False, 9, (), (3, 1, 2)),
    ],
)
def test_what_the_clock_has_to_look_at(
    store: Store,
    at: float,
    leases: bool,
    limit: int,
    ended: tuple[int, ...],
    due: tuple[int, ...],
) -> None:
    write(
        store,
        new_tokens=[token()],
        new_tasks=[
            claimed(1, lease_until=after(2)),
            claimed(2, lease_until=after(1)),
            claimed(3, lease_until=after(2)),
            task(4),
            claimed(5, status=TaskStatus.DONE, lease_until=after(1)),
        ],
        new_timers=[
            timer(1, due_at=after(2)),
            timer(2, due_at=after(2)),
            timer(3, due_at=after(1)),
            timer(4, due_at=after(1), ready=False),  # its token is paused
            timer(5, due_at=after(61)),
        ],
    )
    with store.transaction(HOLDER) as transaction:
        found = transaction.due(after(at), leases=leases, limit=limit)
    assert found == Due(ended, due)
