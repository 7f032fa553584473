"""Tickets that are started one after another, whatever happens, and what became of them."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from stateous_client import Client, ClientError
from tests.support.compose import Stack
from tests.support.ledgers import audit_family


class Load:
    """Clients that start tickets until the block ends.

    A start that is not acknowledged is repeated under the same id, as an application would do; so
    each id is to be there once. After the block all of them have ended, and were audited.
    """

    def __init__(self, stack: Stack, label: str, *, clients: int = 3, pause: float = 0.15) -> None:
        self._stack = stack
        self._label = label
        self._pause = pause
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._start, args=(n,)) for n in range(clients)]
        self.acknowledged: list[str] = []
        self.refused: list[str] = []

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        self.until_acknowledged(3)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)
        if error is None:
            self._settle()

    def until_acknowledged(self, more: int, *, within: float = 30) -> None:
        """Wait until so many more tickets were acknowledged."""
        wanted, end = len(self.acknowledged) + more, time.monotonic() + within
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < end, f"no answer within {within} s: {self.refused[-3:]}"
            time.sleep(0.05)

    def _start(self, number: int) -> None:
        with Client(self._stack.url, timeout=3, retries=0) as client:
            count = 0
            while not self._stopping.is_set():
                token = f"{self._label}-{number}-{count}"
                try:
                    client.start(token, {"title": "A ticket"})
                except ClientError as error:
                    self.refused.append(str(error))
                    self._stopping.wait(0.1)
                else:
                    self.acknowledged.append(token)
                    count += 1
                    self._stopping.wait(self._pause)

    def _settle(self) -> None:
        with Client(self._stack.url, timeout=10) as client:
            for token in self.acknowledged:
                client.wait(token, timeout=60)
                audit_family(client, token)
