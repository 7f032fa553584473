"""The machine under the benchmark: cores to pin processes to, and the CPU time of a process."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cores:
    """Which core the servers get and which the generator; None where they share what there is."""

    server: int | None = None
    generator: int | None = None

    @property
    def apart(self) -> bool:
        """Whether server and generator run on cores of their own."""
        return self.server is not None


def divide_cores() -> Cores:
    """One core for the servers and another for the generator, if this process may use two."""
    if not hasattr(os, "sched_getaffinity"):
        return Cores()
    usable = sorted(os.sched_getaffinity(0))
    return Cores(usable[0], usable[1]) if len(usable) > 1 else Cores()


def pin(process: int, core: int | None) -> None:
    """Keep ``process`` (0: this one), and the threads that it will start, on ``core``."""
    if core is not None:
        os.sched_setaffinity(process, {core})


def cpu_seconds(process: int) -> float | None:
    """CPU time that a running process has used so far; None where the system does not tell."""
    folder = Path(f"/proc/{process}")
    with suppress(OSError):
        # Nanoseconds on a core, exact; threads that have ended are left out.
        threads = folder.glob("task/*/schedstat")
        if nanoseconds := sum(int(each.read_text().split()[0]) for each in threads):
            return nanoseconds / 1e9
    with suppress(OSError):
        # The name, in parentheses, may hold spaces; utime and stime are fields 14 and 15.
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None
