"""The machine under the benchmark: cores to pin processes to, CPU time and memory of a process."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_RESIDENT: Final = re.compile(r"^VmRSS:\s+(\d+) kB", re.MULTILINE)


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
    exact = counted = 0.0
    with suppress(OSError):
        # Nanoseconds on a core, without threads that have ended.
        threads = folder.glob("task/*/schedstat")
        exact = sum(int(each.read_text().split()[0]) for each in threads) / 1e9
    with suppress(OSError):
        # In steps of 10 ms, with all threads; utime and stime are fields 14 and 15.
        fields = _fields(folder)
        counted = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return max(exact, counted) or None


def cpu_seconds_of_family(process: int) -> float | None:
    """:func:`cpu_seconds` of a process and those of its children that still run."""
    family = [process]
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(_fields(folder)[1]) == process:
                family.append(int(folder.name))
    known = [seconds for each in family if (seconds := cpu_seconds(each)) is not None]
    return sum(known) if known else None


def resident_mib(process: int) -> float | None:
    """Memory of a running process that is in RAM (VmRSS), in MiB; None where it is not told."""
    with suppress(OSError):
        found = _RESIDENT.search(Path(f"/proc/{process}/status").read_text())
        if found is not None:
            return int(found[1]) / 1024
    return None


def _fields(folder: Path) -> list[str]:
    """What stands in a process's `stat` behind its name, which is in parentheses, with spaces."""
    return (folder / "stat").read_text().rpartition(")")[2].split()
