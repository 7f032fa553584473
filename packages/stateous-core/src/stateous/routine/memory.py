"""A routine's memory: kept per token and state, over visits and attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from stateous.json import Json
from stateous.limits import MAX_MEMORY_KEY
from stateous.routine.jsonable import as_json, copied, fits_utf8
from stateous.routine.sink import Sink


class Memory(MutableMapping[str, Any]):
    """A mapping of JSON values; each write and delete is sent at once.

    Values are copied on the way in and on the way out: changing what was read changes nothing
    here. A write that the sink could not take is not kept.
    """

    def __init__(self, kept: Mapping[str, Json], sink: Sink) -> None:
        self._kept = copied(dict(kept))
        self._sink = sink

    def __getitem__(self, key: str) -> Any:
        return copied(self._kept[key])

    def __setitem__(self, key: str, value: object) -> None:
        """Keep ``value``.

        Raises:
            TypeError: ``key`` is not text, or ``value`` is None or not JSON.
            ValueError: ``key`` is empty or longer than 128 characters.
        """
        if not isinstance(key, str):
            raise TypeError(f"a key of the memory is text, not {key!r:.100}")
        if not 1 <= len(key) <= MAX_MEMORY_KEY or not fits_utf8(key):
            raise ValueError(
                f"a key of the memory has 1 to {MAX_MEMORY_KEY} characters: {key!r:.100}"
            )
        if value is None:
            raise TypeError(f"the memory keeps no None: delete {key!r} instead")
        written = as_json(f"memory[{key!r}]", value)
        self._sink.memory(key, copied(written))
        self._kept[key] = written

    def __delitem__(self, key: str) -> None:
        if key not in self._kept:
            raise KeyError(key)
        self._sink.memory(key, None)
        del self._kept[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"Memory({self._kept!r})"
