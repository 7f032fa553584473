"""The machines of the documents that tokens are pinned to, each made ready once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from stateous.errors import GraphError
from stateous.graph.document import GraphDocument
from stateous.graph.documents import read_document
from stateous.graph.machine import Machine, freeze
from stateous.statechart.document import ITSELF

if TYPE_CHECKING:
    from stateous.statechart.document import ChartDocument


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
            GraphError: the record has no such document, or a workflow's that this Stateous cannot run.
            InvalidDefinition: a chart's that it cannot run.
        """
        for checksum in checksums:
            if checksum in self._machines:
                continue
            text = document(checksum)
            if text is None:
                raise GraphError(f"the document {checksum} is not on record")
            self._machines[checksum] = frozen(read_document(text.encode()))

    def chart(self, checksum: str, document: Callable[[str], str | None]) -> bool:
        """Whether a statechart with this checksum is on record; its machine is ready then."""
        if checksum not in self._machines:
            text = document(checksum)
            if text is None:
                return False
            self._machines[checksum] = frozen(read_document(text.encode()))
        return ITSELF in self._machines[checksum].children

    def offer(self, machine: Machine) -> None:
        """A machine that somebody else has made ready; any thread may."""
        self._machines.setdefault(machine.checksum, machine)


def frozen(document: GraphDocument | ChartDocument) -> Machine:
    """The machine of a document of either kind."""
    if isinstance(document, GraphDocument):
        return freeze(document)
    # Charts need more than workflows do: CEL and zone data are loaded for them only.
    from stateous.statechart.freeze import freeze_chart

    return freeze_chart(document)
