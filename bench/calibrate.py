"""Calibration: what this machine does at this moment, without a control plane.

Absolute figures drift with whatever else the machine does; only ratios to these, taken in the same
round, tell one build from another.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.load import Measured, connected, measure, post
from bench.machine import Cores
from bench.server import bare_route

_SYNCS: Final = 4096
_ROWS_A_COMMIT: Final = 3


@dataclass(frozen=True, slots=True)
class Calibration:
    """One calibration; the disk's figures are per second, one at a time."""

    bare_route: Measured
    commits: float
    syncs: float


async def calibrate(
    folder: Path, cores: Cores, *, requests: int, connections: int, seconds: float
) -> Calibration:
    """Measure the bare route, and the disk for ``seconds`` each."""
    with bare_route(folder, cores.server) as server:
        async with connected(server.port, connections) as pool:
            bare = await measure(
                pool,
                server.process,
                requests,
                lambda pool: pool.send_all("constant", [post("/constant")] * requests, 200),
            )
    return Calibration(
        bare, _commits_per_second(folder, seconds), _syncs_per_second(folder, seconds)
    )


def _commits_per_second(folder: Path, seconds: float) -> float:
    """SQLite transactions of three rows, durable: WAL and `synchronous=FULL`."""
    file = folder / "calibration.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT)")
        done, began = 0, time.perf_counter()
        while (passed := time.perf_counter() - began) < seconds:
            connection.execute("BEGIN IMMEDIATE")
            for _ in range(_ROWS_A_COMMIT):
                connection.execute("INSERT INTO row (text) VALUES (?)", ("x" * 100,))
            connection.execute("COMMIT")
            done += 1
    file.unlink()
    return done / passed


def _syncs_per_second(folder: Path, seconds: float) -> float:
    """Blocks of 4 KB, written over each other, each followed by fdatasync."""
    file = folder / "calibration.block"
    sync = getattr(os, "fdatasync", os.fsync)
    block = b"x" * _SYNCS
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        done, began = 0, time.perf_counter()
        while (passed := time.perf_counter() - began) < seconds:
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, block)
            sync(descriptor)
            done += 1
    finally:
        os.close(descriptor)
        file.unlink()
    return done / passed
