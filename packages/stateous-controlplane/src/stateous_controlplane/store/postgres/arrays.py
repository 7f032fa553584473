"""Rows of values as arrays, a column each: how a statement takes a whole batch.

The arrays are written out here, as the texts that Postgres reads: a tenth of what it costs to have
the driver look at each value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from stateous_controlplane.store.rows import Row

#: The types of columns by their names, which mean the same in each table; all others are texts.
_TYPES: Final = {
    **dict.fromkeys(
        (
            "id",
            "visit",
            "parent_visit",
            "seq",
            "attempt",
            "last_number",
            "task",
            "arrival",
            "lost",
            "emitted",
        ),
        "bigint",
    ),
    **dict.fromkeys(
        (
            "at",
            "entered_at",
            "started_at",
            "paused_at",
            "ended_at",
            "queued_at",
            "lease_until",
            "set_at",
            "due_at",
            "added_at",
            "issued_at",
        ),
        "timestamptz",
    ),
    "ready": "boolean",
}


def texts(values: Iterable[str | None]) -> str:
    """The literal of a text array."""
    return f"{{{','.join([_quoted(value) for value in values])}}}"


def numbers(values: Iterable[int]) -> str:
    """The literal of an array of numbers."""
    return f"{{{','.join(map(str, values))}}}"


def _quoted(value: str | None) -> str:
    if value is None:
        return "NULL"
    if "\\" in value:
        value = value.replace("\\", "\\\\")
    if '"' in value:
        value = value.replace('"', '\\"')
    return f'"{value}"'


def _plain(value: object) -> str:
    # Numbers, booleans and moments, none of which has anything to quote.
    return "NULL" if value is None else str(value)


class Columns:
    """Columns of a table, by names as in a SELECT."""

    def __init__(self, names: str) -> None:
        self.names = names
        types = [_TYPES.get(name, "text") for name in names.split(", ")]
        #: A FROM item, with as many placeholders as there are columns.
        self.unnested = f"unnest({', '.join(f'%s::{each}[]' for each in types)})"
        self._plain = [each != "text" for each in types]

    def arrays(self, values: Sequence[Row]) -> list[str]:
        """The parameters of :attr:`unnested` for at least one row."""
        return [
            f"{{{','.join(map(_plain, column))}}}" if plain else texts(column)
            for plain, column in zip(self._plain, zip(*values, strict=True), strict=True)
        ]
