"""A watch that outlives its control plane (`docs/spec/wire.md` 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from stateous_cli.actions.watching import patiently
from stateous_cli.answer import Aside
from stateous_client import TokenNotFound, Unavailable, Unreachable

URL = "http://a:1"
AWAY = Unreachable(URL, "Connection refused", True)
NOT_SERVING = Unavailable(URL, 503, "another control plane took this database", "not_serving")


def told(error: Exception) -> Aside:
    return Aside(f"{error}; the watch goes on when it answers again")


class Script:
    """A control plane: for each watch the entries that come, and the error that ends it."""

    def __init__(self, *watches: tuple[list[int], Exception | None]) -> None:
        self._watches = list(watches)
        self.asked: list[int] = []
        self.slept: list[float] = []

    def watch(self, after: int) -> Iterator[Any]:
        self.asked.append(after)
        entries, error = self._watches.pop(0)
        yield from ({"seq": seq} for seq in entries)
        if error is not None:
            raise error

    def seen(self) -> list[Any]:
        return [
            each if isinstance(each, Aside) else each["seq"]
            for each in patiently(self.watch, self.slept.append)
        ]


@pytest.mark.parametrize(
    ("watches", "seen", "asked"),
    [
        pytest.param([([1, 2], None)], [1, 2], [0], id="nothing happens"),
        pytest.param([([1, 2], AWAY), ([3], None)], [1, 2, told(AWAY), 3], [0, 2], id="a restart"),
        pytest.param(
            [([1], AWAY), ([], AWAY), ([], NOT_SERVING), ([2], None)],
            [1, told(AWAY), 2],
            [0, 1, 1, 1],
            id="however long it takes, it is said once",
        ),
        pytest.param(
            [([1], AWAY), ([2], NOT_SERVING), ([], None)],
            [1, told(AWAY), 2, told(NOT_SERVING)],
            [0, 1, 2],
            id="the next time is said too",
        ),
    ],
)
def test_a_watch_goes_on_behind_the_last_entry(
    watches: list[Any], seen: list[Any], asked: list[int]
) -> None:
    script = Script(*watches)
    assert script.seen() == seen
    assert script.asked == asked
    assert script.slept == [1.0] * (len(asked) - 1)


@pytest.mark.parametrize("error", [AWAY, NOT_SERVING])
def test_who_never_answered_may_not_be_there(error: Exception) -> None:
    with pytest.raises(type(error)):
        Script(([], error)).seen()


def test_any_other_refusal_ends_the_watch() -> None:
    gone = TokenNotFound(URL, 404, "there is no token 'T-1'", "token_not_found")
    script = Script(([1], AWAY), ([], gone))
    with pytest.raises(TokenNotFound):
        script.seen()
