"""What takes more than one request: retries, pages, waiting, watching.

Every method here returns a course or walk (:mod:`stateous_client.protocol.courses`). Arguments are
checked when it is called, not when the first step is taken.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeVar

from stateous.limits import MAX_READ_WAIT
from stateous_client.errors import InvalidArgument, Unreachable
from stateous_client.protocol import calls, run_calls
from stateous_client.protocol.address import Address
from stateous_client.protocol.answers import Page, value_of
from stateous_client.protocol.courses import Course, Items, Send, Sleep, Walk, pause_before
from stateous_client.protocol.exchange import NoAnswer, Request
from stateous_client.values import ENDED, Entry, Run, Token, Until

T = TypeVar("T")

#: Seconds between two looks at least, so that a control plane which does not hold its answers back
#: (because it stops, or is an older one) is not asked without pause.
_LOOK: Final = 0.2
#: A move that falls between two looks is seen when the second one ends, so these are short.
_MOVED_WAIT: Final = 10
#: Entries that a watcher fetches at once.
_WATCH_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Dialogue:
    """How one client talks with its control plane."""

    address: Address
    #: Seconds for an answer, without those for which the control plane may hold it back.
    timeout: float
    retries: int
    #: Jitter, from 0 to 1.
    draw: Callable[[], float]
    #: A clock in seconds that never goes back.
    now: Callable[[], float]

    @classmethod
    def of(
        cls,
        url: str,
        timeout: float,
        retries: int,
        *,
        draw: Callable[[], float] = random.random,
        now: Callable[[], float] = time.monotonic,
    ) -> Dialogue:
        """The dialogue that a client's arguments ask for. Raises InvalidArgument."""
        if not _is_number(timeout) or timeout <= 0:
            raise InvalidArgument(f"timeout is {timeout!r}, not a number of seconds above 0")
        if not _is_whole(retries) or retries < 0:
            raise InvalidArgument(f"retries is {retries!r}, not a whole number from 0")
        return cls(Address.parse(url), float(timeout), retries, draw, now)

    def ask(self, request: Request[T]) -> Course[T]:
        """One request, tried again while that may help and is safe (`docs/spec/wire.md` 7)."""
        for retry in count():
            reply = yield Send(request)
            if reply is None:
                raise RuntimeError("a Send needs its reply")
            if retry < self.retries and request.may_pass(reply):
                yield Sleep(pause_before(retry, self.draw()))
                continue
            if isinstance(reply, NoAnswer):
                raise Unreachable(self.address.masked, reply.why, reply.refused)
            return value_of(request, reply, self.address.masked)
        raise AssertionError  # count() does not end

    def pages(self, first: Request[Page[T]]) -> Walk[T]:
        """All items of a list, page by page."""
        request = first
        while True:
            page = yield from self.ask(request)
            yield Items(page.items)
            if page.cursor is None:
                return
            request = first.from_cursor(page.cursor)

    def wait(self, token: str, until: Until, timeout: float | None) -> Course[Token]:
        """The token once it has ended, or moved: looks that the control plane holds back.

        Raises:
            TimeoutError: neither came within ``timeout`` seconds.
        """
        if until not in ("ended", "moved"):
            raise InvalidArgument(f"until is {until!r}, neither 'ended' nor 'moved'")
        if timeout is not None and (not _is_number(timeout) or timeout < 0):
            raise InvalidArgument(f"timeout is {timeout!r}, not a number of seconds from 0")
        calls.get(token)  # its id is checked now, not at the first step
        return self._wait(token, until, timeout)

    def _wait(self, token: str, until: Until, timeout: float | None) -> Course[Token]:
        end = math.inf if timeout is None else self.now() + timeout
        longest = MAX_READ_WAIT if until == "ended" else _MOVED_WAIT
        # The control plane says what has moved since a look began. What has moved since the wait
        # began is only known by comparing with how the token was at first.
        first: Token | None = None
        if until == "moved":
            first = yield from self.ask(calls.get(token))
            if first["status"] in ENDED:
                return first
        while True:
            began = self.now()
            held = max(0, int(min(longest, end - began)))
            seen = yield from self.ask(calls.get(token, held=held, until=until))
            if seen["status"] in ENDED or (first is not None and _has_moved(first, seen)):
                return seen
            left = end - self.now()
            if left <= 0:
                verb = "ended" if until == "ended" else "moved"
                raise TimeoutError(f"the token {token!r} has not {verb} within {timeout:g} seconds")
            yield from self._rest(began, left)

    def wait_run(self, run: str, timeout: float | None, starter: str | None) -> Course[Run]:
        """The run once it has ended: looks that the control plane holds back.

        Raises:
            TimeoutError: it has not ended within ``timeout`` seconds.
        """
        if timeout is not None and (not _is_number(timeout) or timeout < 0):
            raise InvalidArgument(f"timeout is {timeout!r}, not a number of seconds from 0")
        run_calls.run(run, starter=starter)  # checked now, not at the first step
        return self._wait_run(run, timeout, starter)

    def _wait_run(self, run: str, timeout: float | None, starter: str | None) -> Course[Run]:
        end = math.inf if timeout is None else self.now() + timeout
        while True:
            began = self.now()
            held = max(0, int(min(MAX_READ_WAIT, end - began)))
            seen = yield from self.ask(run_calls.run(run, held=held, starter=starter))
            if seen["status"] in ENDED:
                return seen
            left = end - self.now()
            if left <= 0:
                raise TimeoutError(f"the run {run!r} has not ended within {timeout:g} seconds")
            yield from self._rest(began, left)

    def watch(self, token: str, after: int) -> Walk[Entry]:
        """The entries behind ``after`` as they come, until the token has ended."""
        calls.history(token, after=after)  # checked now, not at the first step
        return self._watch(token, after)

    def _watch(self, token: str, after: int) -> Walk[Entry]:
        held = 0  # what is there already comes without a wait
        ended = False
        while True:
            began = self.now()
            look = calls.history(token, after=after, limit=_WATCH_PAGE, held=held)
            entries = yield from self.ask(look)
            if entries:
                yield Items(entries)
                after = entries[-1]["seq"]
                if any(entry["kind"] in ENDED for entry in entries):
                    held = 0
                continue
            if ended:
                return
            # Nothing new. The token may have ended before `after`, so it is looked at itself. When
            # it has, it may have done so since the history was read, which is read once more.
            ended = (yield from self.ask(calls.get(token)))["status"] in ENDED
            if ended:
                held = 0
            else:
                held = MAX_READ_WAIT
                yield from self._rest(began, math.inf)

    def _rest(self, began: float, left: float) -> Course[None]:
        rest = min(left, began + _LOOK - self.now())
        if rest > 0:
            yield Sleep(rest)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _has_moved(first: Token, seen: Token) -> bool:
    return any(first[key] != seen[key] for key in ("state", "visit", "entered_at"))
