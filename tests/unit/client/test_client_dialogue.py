"""Retries, pages, waiting and watching, driven without any I/O: a script answers each request."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from itertools import count
from typing import Any

import pytest

from stateous_client import InvalidArgument, NotServing, TokenNotFound, Unreachable
from stateous_client.protocol import calls
from stateous_client.protocol.courses import Items, Send, Sleep, pause_before
from stateous_client.protocol.dialogue import Dialogue
from stateous_client.protocol.exchange import Answer, NoAnswer, Reply

SILENCE = NoAnswer("timed out")
BUSY = Answer(503, {}, b'{"error": "not here", "code": "not_serving"}')
SAFE = calls.get("T")
UNSAFE = calls.fire("T", "done", None, key=None)


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


class Stage:
    """Performs a course: notes its steps, and asks the script for each reply."""

    def __init__(self, script: Callable[[str], Reply], *, retries: int = 3) -> None:
        self.clock = Clock()
        self.dialogue = Dialogue.of("http://h", 30, retries, draw=lambda: 0.5, now=self.clock)
        self.script = script
        self.sent: list[str] = []
        self.slept: list[float] = []
        self.items: list[Any] = []

    def perform(self, course: Generator[Any, Reply | None, Any]) -> Any:
        reply: Reply | None = None
        while True:
            try:
                step = course.send(reply)
            except StopIteration as end:
                return end.value
            reply = None
            match step:
                case Send(request):
                    self.sent.append(request.target)
                    reply = self.script(request.target)
                case Sleep(seconds):
                    self.slept.append(round(seconds, 3))
                    self.clock.seconds += seconds
                case Items(items):
                    self.items += items


def in_turn(*replies: Reply) -> Callable[[str], Reply]:
    turns = iter(replies)
    return lambda _target: next(turns)


def ok(value: Any, **headers: str) -> Answer:
    return Answer(200, headers, json.dumps(value).encode())


def token(status: str = "active", **changes: Any) -> dict[str, Any]:
    return {
        "token": "T",
        "state": "coding",
        "status": status,
        "visit": 1,
        "context": {},
        "entered_at": "2027-03-01T14:51:53Z",
    } | changes


def entry(seq: int, kind: str) -> dict[str, Any]:
    return {"seq": seq, "at": "2027-03-01T14:51:53Z", "kind": kind, "data": {}}


# Retries


@pytest.mark.parametrize(
    ("retry", "draw", "pause"),
    [
        (0, 0.5, 0.2),
        (1, 0.5, 0.5),
        (2, 0.5, 1.0),
        (9, 0.5, 1.0),
        (0, 0.0, 0.16),
        (0, 1.0, 0.24),
        (2, 0.0, 0.8),
        (2, 1.0, 1.2),
    ],
)
def test_the_schedule_of_retries(retry: int, draw: float, pause: float) -> None:
    assert pause_before(retry, draw) == pytest.approx(pause)


@pytest.mark.parametrize("reply", [SILENCE, BUSY, Answer(502, {}, b""), Answer(504, {}, b"")])
def test_a_safe_call_is_tried_again(reply: Reply) -> None:
    stage = Stage(in_turn(reply, reply, reply, ok(token())))
    assert stage.perform(stage.dialogue.ask(SAFE)) == token()
    assert stage.slept == [0.2, 0.5, 1.0]


@pytest.mark.parametrize(("reply", "error"), [(SILENCE, Unreachable), (BUSY, NotServing)])
def test_retries_come_to_an_end(reply: Reply, error: type[Exception]) -> None:
    stage = Stage(lambda _target: reply)
    with pytest.raises(error):
        stage.perform(stage.dialogue.ask(SAFE))
    assert len(stage.sent) == 4


@pytest.mark.parametrize(("reply", "error"), [(SILENCE, Unreachable), (BUSY, NotServing)])
def test_an_unsafe_call_is_sent_once(reply: Reply, error: type[Exception]) -> None:
    stage = Stage(lambda _target: reply)
    with pytest.raises(error):
        stage.perform(stage.dialogue.ask(UNSAFE))
    assert (len(stage.sent), stage.slept) == (1, [])


def test_retries_can_be_turned_off() -> None:
    stage = Stage(lambda _target: SILENCE, retries=0)
    with pytest.raises(
        Unreachable, match=r"^cannot reach the control plane at http://h: timed out$"
    ):
        stage.perform(stage.dialogue.ask(SAFE))
    assert len(stage.sent) == 1


def test_a_refusal_is_not_tried_again() -> None:
    stage = Stage(lambda _target: Answer(404, {}, b'{"error": "no", "code": "token_not_found"}'))
    with pytest.raises(TokenNotFound):
        stage.perform(stage.dialogue.ask(SAFE))
    assert len(stage.sent) == 1


def test_not_ready_is_known_at_once_and_no_answer_is_tried_again() -> None:
    stage = Stage(in_turn(SILENCE, BUSY))
    assert stage.perform(stage.dialogue.ask(calls.ready())) is False
    assert stage.slept == [0.2]


@pytest.mark.parametrize(
    ("timeout", "retries"),
    [
        *((timeout, 3) for timeout in (0, -1, float("nan"), float("inf"), None, True, "1")),
        *((1, retries) for retries in (-1, 1.0, None, True)),
    ],
)
def test_a_bad_timeout_or_number_of_retries_is_refused(timeout: Any, retries: Any) -> None:
    with pytest.raises(InvalidArgument):
        Dialogue.of("http://h", timeout, retries)


# Pages


def test_pages_follow_the_cursor_with_the_same_filters() -> None:
    task = {"task": 1, "token": "T", "status": "queued"}
    stage = Stage(
        in_turn(
            ok([task], **{"stateous-next": "c-1"}),
            ok([], **{"stateous-next": "c-2"}),
            ok([task | {"task": 2}]),
        )
    )
    first = calls.tasks(status="queued", state=None, token=None, limit=1)
    stage.perform(stage.dialogue.pages(first))
    assert [item["task"] for item in stage.items] == [1, 2]
    assert stage.sent == [
        "/tasks?status=queued&limit=1",
        "/tasks?status=queued&limit=1&cursor=c-1",
        "/tasks?status=queued&limit=1&cursor=c-2",
    ]


# Waiting


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_waiting_ends_with_the_token(status: str) -> None:
    stage = Stage(in_turn(ok(token()), ok(token("paused")), ok(token(status))))
    assert stage.perform(stage.dialogue.wait("T", "ended", None)) == token(status)
    assert stage.sent == ["/tokens/T?until=ended&wait=60"] * 3


def test_an_answer_that_is_not_held_back_is_not_asked_for_without_pause() -> None:
    stage = Stage(in_turn(ok(token()), ok(token()), ok(token("completed"))))
    stage.perform(stage.dialogue.wait("T", "ended", None))
    assert stage.slept == [0.2, 0.2]


def test_waiting_is_over_after_its_timeout() -> None:
    stage = Stage(lambda _target: ok(token()))

    def held(target: str) -> Reply:
        stage.clock.seconds += int(target.partition("&wait=")[2] or 0)
        return ok(token())

    stage.script = held
    with pytest.raises(TimeoutError, match=r"the token 'T' has not ended within 90\.5 seconds"):
        stage.perform(stage.dialogue.wait("T", "ended", 90.5))
    assert stage.sent[:2] == ["/tokens/T?until=ended&wait=60", "/tokens/T?until=ended&wait=30"]
    assert set(stage.sent[2:]) == {"/tokens/T"}
    assert stage.clock.seconds == pytest.approx(190.5)


def test_waiting_no_time_looks_once() -> None:
    stage = Stage(lambda _target: ok(token()))
    with pytest.raises(TimeoutError):
        stage.perform(stage.dialogue.wait("T", "ended", 0))
    assert stage.sent == ["/tokens/T"]
    stage = Stage(lambda _target: ok(token("failed")))
    assert stage.perform(stage.dialogue.wait("T", "ended", 0)) == token("failed")


@pytest.mark.parametrize(
    "moved",
    [
        token(state="testing", entered_at="2027-03-01T14:51:54Z"),
        token(visit=2, entered_at="2027-03-01T14:51:54Z"),
        token("completed"),
    ],
)
def test_waiting_for_a_move_compares_with_how_the_token_was(moved: dict[str, Any]) -> None:
    stage = Stage(in_turn(ok(token()), ok(token()), ok(token("paused")), ok(moved)))
    assert stage.perform(stage.dialogue.wait("T", "moved", None)) == moved
    assert stage.sent == ["/tokens/T"] + ["/tokens/T?until=moved&wait=10"] * 3


def test_an_ended_token_does_not_move() -> None:
    stage = Stage(in_turn(ok(token("cancelled"))))
    assert stage.perform(stage.dialogue.wait("T", "moved", None)) == token("cancelled")


@pytest.mark.parametrize(
    ("name", "until", "timeout"),
    [("T", "done", None), ("T", "ended", -1), ("T", "ended", float("nan")), ("", "ended", None)],
)
def test_a_bad_wait_is_refused_at_once(name: str, until: Any, timeout: Any) -> None:
    with pytest.raises(InvalidArgument):
        Stage(lambda _target: SILENCE).dialogue.wait(name, until, timeout)


# Watching


def test_watching_follows_the_history_and_ends_with_the_token() -> None:
    history = [entry(1, "started"), entry(2, "entered")]
    end = [entry(3, "completed"), entry(4, "event_rejected")]
    replies = in_turn(
        ok(history),
        ok([]),
        ok(token()),
        ok([]),
        ok(token()),
        ok(end),
        ok([]),
        ok(token("completed")),
        ok([]),
    )
    stage = Stage(replies)
    stage.perform(stage.dialogue.watch("T", 0))
    assert stage.items == history + end
    assert stage.sent == [
        "/tokens/T/history?limit=1000",
        "/tokens/T/history?after=2&limit=1000",
        "/tokens/T",
        "/tokens/T/history?after=2&limit=1000&wait=60",
        "/tokens/T",
        "/tokens/T/history?after=2&limit=1000&wait=60",
        "/tokens/T/history?after=4&limit=1000",
        "/tokens/T",
        "/tokens/T/history?after=4&limit=1000",
    ]
    assert stage.slept == [0.2, 0.2]


def test_watching_behind_the_end_of_a_token_ends_at_once() -> None:
    stage = Stage(in_turn(ok([]), ok(token("failed")), ok([])))
    stage.perform(stage.dialogue.watch("T", 99))
    assert stage.items == []


def test_watching_goes_on_after_a_lost_connection() -> None:
    ended = ok(token("cancelled"))
    replies = in_turn(SILENCE, ok([entry(1, "cancelled")]), ok([]), ended, ok([]))
    stage = Stage(replies)
    stage.perform(stage.dialogue.watch("T", 0))
    assert stage.items == [entry(1, "cancelled")]


def test_watching_misses_nothing_of_a_token_that_ends_between_two_looks() -> None:
    end = [entry(1, "event_accepted"), entry(2, "completed")]
    stage = Stage(in_turn(ok([]), ok(token("completed")), ok(end), ok([])))
    stage.perform(stage.dialogue.watch("T", 0))
    assert stage.items == end


def test_a_bad_watch_is_refused_at_once() -> None:
    for name, after in (("", 0), ("T", "1")):
        with pytest.raises(InvalidArgument):
            Stage(lambda _target: SILENCE).dialogue.watch(name, after)  # type: ignore[arg-type]


def test_watching_many_entries_takes_them_in_order() -> None:
    seqs = count(1)

    def script(target: str) -> Reply:
        if "history" not in target:
            return ok(token("completed"))
        first = next(seqs)
        return ok([entry(first, "note")] if first < 5 else [])

    stage = Stage(script)
    stage.perform(stage.dialogue.watch("T", 0))
    assert [item["seq"] for item in stage.items] == [1, 2, 3, 4]
