"""Standing by for the hold: what it waits for, what it says, and the file that shows it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from stateous_controlplane.settings import ServeError
from stateous_controlplane.standby import shown_in, wait_for_hold
from stateous_controlplane.store.port import DatabaseUnreachable, Holder, Store, StoreError

NOON = datetime(2027, 3, 1, 12, 0, 0, tzinfo=UTC)
OTHER = Holder("box-1:4711:9f3c01aa", NOON)
GONE = DatabaseUnreachable("cannot open the database: it is starting up or shutting down")


class Answers:
    """A store that is asked for the hold only, and answers as it is told."""

    def __init__(self, *answers: Holder | StoreError | None) -> None:
        self._answers = list(answers)

    def take_hold(self, holder: str, now: datetime) -> Holder | None:
        answer = self._answers.pop(0)
        if isinstance(answer, StoreError):
            raise answer
        return answer


def waits(
    *answers: Holder | StoreError | None, sleep: Callable[[float], None] | None = None
) -> int:
    """How often it slept until it had the hold."""
    slept: list[float] = []
    wait_for_hold(
        cast("Store", cast("Any", Answers(*answers))), "me", lambda: NOON, sleep or slept.append
    )
    assert set(slept) <= {1.0}
    return len(slept)


@pytest.mark.parametrize(
    ("answers", "slept", "lines"),
    [
        pytest.param((None,), 0, [], id="free"),
        pytest.param((OTHER, OTHER, None), 2, ["another control plane"], id="held"),
        pytest.param((GONE, GONE, None), 2, ["cannot open"], id="unreachable"),
        pytest.param(
            (OTHER, GONE, OTHER, None),
            3,
            ["another control plane", "cannot open", "another control plane"],
            id="held, away, held",
        ),
        pytest.param(
            (OTHER, Holder("box-2:1:00000000", NOON), None),
            2,
            ["another control plane"],
            id="another one was quicker",
        ),
    ],
)
def test_it_asks_again_until_the_hold_is_free(
    answers: tuple[Holder | StoreError | None, ...],
    slept: int,
    lines: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "stateous.serve"):
        assert waits(*answers) == slept
    assert len(caplog.messages) == len(lines)
    for message, begin in zip(caplog.messages, lines, strict=True):
        assert message.startswith(f"standing by: {begin}")


def test_a_database_that_never_fits_is_not_waited_for() -> None:
    with pytest.raises(StoreError, match="a newer Stateous"):
        waits(OTHER, StoreError("a newer Stateous made this database"))


def test_the_file_is_there_while_it_waits(tmp_path: Path) -> None:
    file = tmp_path / "standby"
    seen: list[bool] = []
    with shown_in(file, lambda _: seen.append(file.exists())) as sleep:
        waits(OTHER, OTHER, None, sleep=sleep)
    assert seen == [True, True]
    assert not file.exists()


def test_a_file_of_a_control_plane_that_was_killed_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "standby"
    file.touch()
    with shown_in(file, lambda _: None) as sleep:
        waits(None, sleep=sleep)
    assert not file.exists()


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "standby"
    with (
        pytest.raises(ServeError, match=r"cannot write --standby-file .*: No such file"),
        shown_in(file, lambda _: None) as sleep,
    ):
        waits(OTHER, None, sleep=sleep)
