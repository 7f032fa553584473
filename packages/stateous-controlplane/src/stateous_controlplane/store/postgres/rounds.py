"""Rounds of prepared statements: all sent in one write, answered together (libpq's pipeline mode).

The writer's thread and the event loop's share one interpreter: each time that the writer waits for
the server it has to get its turn back. The driver's own pipeline talks to the server for each
statement; here all of a round are sent, and then it is waited for once. The protocol of a round:

    [prepare] run  [prepare] run  …  sync   →   a result for each, then that of the sync

A statement that fails ends the round: the server skips the rest up to the sync. A statement is
prepared in the round that first needs it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

import psycopg
from psycopg import errors, pq
from psycopg.adapt import Transformer
from psycopg.waiting import READY_R, WAIT_R, WAIT_RW

from stateous_controlplane.store.postgres.connecting import Connection, is_over
from stateous_controlplane.store.rows import Row

if TYPE_CHECKING:
    from psycopg.abc import PQGen
    from psycopg.pq.abc import PGconn, PGresult

#: A statement, with `%s` for each of its parameters; these say in the text which type they have.
Statement: TypeAlias = tuple[str, Sequence[str | int | None]]

_OK: Final = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)
_PLACEHOLDER: Final = re.compile("%s")


@lru_cache(512)
def _numbered(text: str) -> bytes:
    """``text`` with the server's placeholders."""
    numbers = count(1)
    return _PLACEHOLDER.sub(lambda _: f"${next(numbers)}", text).encode()


def _encoded(value: str | int | None) -> bytes | None:
    if value is None:
        return None
    encoded = str(value).encode()
    if b"\0" in encoded:
        # libpq would end the text there.
        raise psycopg.DataError("a text has the character NUL, which Postgres cannot keep")
    return encoded


class Rounds:
    """The rounds of one connection, which nothing else uses meanwhile."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._names: dict[str, bytes] = {}
        self._numbers = count(1)
        self._transformer = Transformer(connection)

    def ask(self, *statements: Statement) -> list[list[Row]]:
        """The rows that each of ``statements`` gives.

        Raises:
            psycopg.Error: the first that failed; those behind it were not run. When the server has
                ended the session, the connection is closed.
        """
        pgconn = self.connection.pgconn
        # What cannot be encoded fails here, before anything is under way.
        encoded = [(text, [_encoded(each) for each in values]) for text, values in statements]
        pgconn.enter_pipeline_mode()
        # Where in the round a statement is prepared. A name is used once, also when that fails.
        prepared: dict[int, str] = {}
        sent = 0
        for text, values in encoded:
            name = self._names.get(text)
            if name is None:
                name = self._names[text] = b"s%d" % next(self._numbers)
                pgconn.send_prepare(name, _numbered(text))
                prepared[sent] = text
                sent += 1
            pgconn.send_query_prepared(name, values)
            sent += 1
        pgconn.pipeline_sync()
        try:
            results = self.connection.wait(_exchange(pgconn))
            _check(results)
        except psycopg.Error as error:
            for text in prepared.values():
                del self._names[text]
            if is_over(self.connection, error):
                self.connection.close()
            else:
                pgconn.exit_pipeline_mode()
            raise
        except BaseException:
            # Interrupted half-way: nobody knows what the next answer would belong to.
            self.connection.close()
            raise
        pgconn.exit_pipeline_mode()
        return [self._rows(result) for place, result in enumerate(results) if place not in prepared]

    def _rows(self, result: PGresult) -> list[Row]:
        if result.status == pq.ExecStatus.COMMAND_OK:
            return []
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, tuple)


def _check(results: list[PGresult]) -> None:
    for result in results:
        if result.status not in _OK:
            raise errors.error_from_result(result)


def _exchange(pgconn: PGconn) -> PQGen[list[PGresult]]:
    """Send what is queued, and receive up to the sync."""
    while pgconn.flush():
        # The server may have to be read from before it reads on.
        if (yield WAIT_RW) & READY_R:
            pgconn.consume_input()
    results: list[PGresult] = []
    while True:
        while pgconn.is_busy():
            yield WAIT_R
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is None:
            # The end of one statement's results; or of all.
            if pgconn.status == pq.ConnStatus.BAD:
                if results and results[-1].status not in _OK:
                    return results
                raise psycopg.OperationalError("the connection is lost")
        elif result.status == pq.ExecStatus.PIPELINE_SYNC:
            return results
        else:
            results.append(result)
