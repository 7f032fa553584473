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

import psycopg

from bench.load import Measured, Watched, connected, measure, post
from bench.server import bare_route
from bench.stand import Stand

_SYNCS: Final = 4096
_ROWS_A_COMMIT: Final = 3


_CONNECTIONS: Final = 16
_ROWS: Final = f"INSERT INTO calibration (text) SELECT repeat('x', 100) FROM generate_series(1, {_ROWS_A_COMMIT})"


@dataclass(frozen=True, slots=True)
class Calibration:
    """One calibration; the figures of the disk are per second, one after the other."""

    bare_route: Measured
    sqlite_commits: float
    #: None: the run is not on Postgres.
    postgres_commits: float | None
    syncs: float


async def calibrate(stand: Stand) -> Calibration:
    """Measure the bare route, the disk, and the commits of the databases."""
    requests, seconds = stand.sizes.calibration_requests, stand.sizes.calibration_seconds
    with stand.folder() as folder:
        with bare_route(folder, stand.cores.server) as server:
            async with connected(server.port, _CONNECTIONS) as pool:
                bare = await measure(
                    pool,
                    Watched(server.process),
                    requests,
                    lambda pool: pool.send_all("constant", [post("/constant")] * requests, 200),
                )
        postgres = None
        if stand.engine.name == "postgres":
            postgres = _postgres_commits(stand.engine.new(folder).url, seconds)
        return Calibration(
            bare,
            _sqlite_commits(folder, seconds),
            postgres,
            _syncs_per_second(folder, seconds),
        )


def _postgres_commits(url: str, seconds: float) -> float:
    """Transactions of three rows, one statement each, on a server that has `fsync` on."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE calibration (text text)")
        done, began = 0, time.perf_counter()
        while (passed := time.perf_counter() - began) < seconds:
            connection.execute(_ROWS, prepare=True)
            done += 1
    return done / passed


def _sqlite_commits(folder: Path, seconds: float) -> float:
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
