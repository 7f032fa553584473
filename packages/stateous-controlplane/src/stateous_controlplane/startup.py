"""What happens before the first answer: the graph file, the port, the database (6.3, steps 2 to 4).

Each step is refused with one sentence, and leaves nothing bound or held.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from stateous.errors import GraphError, InvalidDefinition
from stateous.graph.document import GraphDocument
from stateous.graph.documents import read_document
from stateous.graph.machine import Machine
from stateous_controlplane.api.ports import Served
from stateous_controlplane.documents import record_of
from stateous_controlplane.settings import ListenAddress, ServeError
from stateous_controlplane.store.port import Changes, GraphRecord, Holder, NewGraph, Store
from stateous_controlplane.writer.catalog import frozen

_BACKLOG = 2048
#: How the files end that graph files are compiled from.
_SOURCES = (".py", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Workflow:
    """The workflow that is to be served: its document, and the machine made of it."""

    document: GraphDocument
    machine: Machine
    text: bytes

    @property
    def served(self) -> Served:
        """What the API tells of it."""
        document = self.document
        return Served(document.workflow, document.checksum, document.contract, self.text)

    @property
    def record(self) -> GraphRecord:
        """How it is put on record."""
        return record_of(self.document, self.text.decode())


@dataclass(frozen=True, slots=True)
class Chart:
    """A statechart that is put on record at the start: nothing more is done with it."""

    record: GraphRecord
    machine: Machine


def read_graph_file(path: Path) -> Workflow | Chart:
    """The graph file at ``path``, checked whole.

    Raises:
        ServeError: it cannot be read, or is no graph file.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ServeError(f"cannot read the graph file {path}: {error.strerror}") from None
    try:
        document = read_document(text)
        machine = frozen(document)
    except InvalidDefinition as error:
        first, *more = error.problems
        rest = f" (and {len(more)} more problems)" if more else ""
        raise ServeError(
            f"{path} is not a graph file: {first.where or 'the chart'}: {first.text}{rest}"
        ) from None
    except GraphError as error:
        reason = f"`stateous compile {path}` makes one" if path.suffix in _SOURCES else str(error)
        raise ServeError(f"{path} is not a graph file: {reason}") from None
    if isinstance(document, GraphDocument):
        return Workflow(document, machine, text)
    return Chart(record_of(document, text.decode()), machine)


def read_workflow(path: Path) -> Workflow:
    """The workflow's graph file at ``path``, checked whole.

    Raises:
        ServeError: it cannot be read, or is no graph file of a workflow.
    """
    found = read_graph_file(path)
    if isinstance(found, Chart):
        raise ServeError(f"{path} is a statechart's graph file, and no workflow's")
    return found


def bind(listen: ListenAddress) -> tuple[socket.socket, ListenAddress]:
    """Listen, so that clients may connect and wait; the address tells the port that was picked.

    Raises:
        ServeError: the port is taken, or the host is none of this computer's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise ServeError(f"cannot listen on {listen}: {_why(error)}") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            why = "another program uses that port; stop it, or choose another with --listen"
        else:
            why = _why(error)
        raise ServeError(f"cannot listen on {listen}: {why}") from None
    return listening, ListenAddress(listen.host, listening.getsockname()[1])


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def take_hold(store: Store, holder: str, now: Callable[[], datetime]) -> None:
    """Take the hold, and make or upgrade the tables under it.

    Raises:
        ServeError: another control plane holds the database.
        StoreError: the database cannot be used.
    """
    other = store.take_hold(holder, now())
    if other is not None:
        raise ServeError(
            f"another control plane serves this database ({shown(other)}); "
            "stop it first, or wait for it with --standby"
        )


def put_on_record(store: Store, holder: str, workflow: Workflow, now: datetime) -> None:
    """Put the document on record, by the structure rule (`docs/spec/wire.md` 6.2).

    Raises:
        ServeError: tokens are live on another structure.
    """
    live = store.serve_graph(holder, workflow.record, now)
    if live:
        raise ServeError(
            f"{live} token(s) are active or paused on another structure of the workflow "
            f"{workflow.document.workflow!r}; serve the graph file they started on until they "
            "end, or cancel them"
        )


def put_chart_on_record(store: Store, holder: str, chart: Chart, now: datetime) -> None:
    """Put a chart's document on record."""
    with store.transaction(holder) as transaction:
        transaction.write(Changes(graphs=[NewGraph(chart.record, now)]))


def shown(holder: Holder) -> str:
    """Who has the hold, as a sentence names it."""
    if holder.since is None:
        return holder.name
    return f"{holder.name}, last seen at {holder.since:%H:%M:%S} UTC"
