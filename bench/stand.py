"""The stand: what a workload runs on. New databases, control planes, supervisors, sizes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.database import Database, Engine
from bench.graphs import TICKET, Graph
from bench.load import Watched
from bench.machine import Cores
from bench.server import control_plane, supervisor
from bench.sizes import Sizes


@dataclass(frozen=True, slots=True)
class Plane:
    """A control plane that answers."""

    port: int
    process: int
    database: Database

    @property
    def watched(self) -> Watched:
        """Its processes."""
        return Watched(self.process, self.database.process)


@dataclass(frozen=True, slots=True)
class Stand:
    """One engine on one machine; everything goes that is made on it."""

    engine: Engine
    cores: Cores
    #: Databases are made below it.
    parent: Path
    sizes: Sizes

    @contextmanager
    def database(self) -> Iterator[Database]:
        """An empty database with all tables. A Postgres database stays until its server goes."""
        with self.folder() as folder:
            yield self.engine.new(folder)

    @contextmanager
    def serving(self, database: Database, graph: Graph = TICKET) -> Iterator[Plane]:
        """A control plane on the servers' core; it has stopped, in order, behind the block."""
        with (
            self.folder() as folder,
            control_plane(graph.write(folder), database.url, folder, self.cores.server) as server,
        ):
            yield Plane(server.port, server.process, database)

    @contextmanager
    def supervising(self, plane: Plane, folder: Path) -> Iterator[int]:
        """The process of a supervisor with the routines of ``folder``, on the generator's core."""
        url = f"http://127.0.0.1:{plane.port}"
        with supervisor(folder, url, self.cores.generator) as process:
            yield process

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A folder for files of one's own."""
        with tempfile.TemporaryDirectory(dir=self.parent, prefix="bench-") as made:
            yield Path(made)
