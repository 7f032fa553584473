"""The column types of both databases (`docs/spec/wire.md` 5.1).

Tables and migrations use these, so that a column is the same thing in both.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, Dialect, Integer, Text, TypeDecorator
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.types import TypeEngine

from stateous_controlplane.store.moments import moment_of, text_of


class Id(TypeDecorator[str]):
    """Text that compares and sorts by code point, on both databases."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """SQLite compares bytes of UTF-8, which is the same order; Postgres has to be told."""
        return Text(collation="C" if dialect.name == "postgresql" else None)


class Whole(TypeDecorator[int]):
    """A whole number of 64 bits. SQLite's INTEGER has them, and counts up only by that name."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """INTEGER on SQLite, BIGINT elsewhere."""
        return Integer() if dialect.name == "sqlite" else BigInteger()


class Moment(TypeDecorator[datetime]):
    """A moment in UTC: timestamptz on Postgres, text whose order is time's order on SQLite."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Text on SQLite, timestamptz on Postgres."""
        return Text() if dialect.name == "sqlite" else TIMESTAMP(timezone=True)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """The stored form."""
        if value is None or dialect.name != "sqlite":
            return value
        return text_of(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """The moment of a stored form."""
        if value is None:
            return None
        return moment_of(value) if dialect.name == "sqlite" else value.astimezone(UTC)
