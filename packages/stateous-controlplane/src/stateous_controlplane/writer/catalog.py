"""The machines of the documents that tokens are pinned to, each made ready once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from stateous.errors import GraphError
from stateous.graph.machine import Machine, freeze
from stateous.graph.reading import read_graph


class Catalog(Mapping[str, Machine]):
    """Machines by the checksum of their document. Others are fetched from the record on use."""

    def __init__(self, served: Machine | None) -> None:
        self.served = served
        self._machines = {} if served is None else {served.checksum: served}

    def __getitem__(self, checksum: str) -> Machine:
        return self._machines[checksum]

    def __iter__(self) -> Iterator[str]:
        return iter(self._machines)

    def __len__(self) -> int:
        return len(self._machines)

    def fetch(self, checksums: Iterable[str], document: Callable[[str], str | None]) -> None:
        """Make ready the machines of ``checksums`` that are not yet.

        Raises:
            GraphError: the record has no such document, or one that this Stateous cannot run.
        """
        for checksum in checksums:
            if checksum in self._machines:
                continue
            text = document(checksum)
            if text is None:
                raise GraphError(f"the document {checksum} is not on record")
            self._machines[checksum] = freeze(read_graph(text.encode()))
