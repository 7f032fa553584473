"""`make demo`: it shows the main job, ends by itself, and leaves nothing behind.

It is for who has nothing but Python, so its database is SQLite. On Postgres it is `make compose-demo`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import environment

ROOT = Path(__file__).parents[2]


@pytest.mark.e2e
def test_the_demo_runs_to_its_end(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"],
        env=environment(TMPDIR=str(tmp_path)),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for command in ("compile", "serve", "token start", "token show", "token list"):
        assert f"$ stateous {command} " in ran.stdout
    assert "TICKET-1: merging, completed" in ran.stdout
    assert "  child TICKET-1.reviews.1.design-review: approved, completed" in ran.stdout
    assert "TICKET-2.reviews.1.security-review: scan, completed" in ran.stdout
    assert "TICKET-2.reviews.2.security-review: approved, completed" in ran.stdout
    assert re.findall(r"(TICKET-\d: .*), completed", ran.stdout.rpartition("$ ")[2]) == [
        "TICKET-3: testing (visit 3)",
        "TICKET-2: merging",
        "TICKET-1: merging",
    ]
    assert "Traceback" not in ran.stdout + ran.stderr
    assert list(tmp_path.iterdir()) == []
    assert not _left_in(tmp_path)


def _left_in(folder: Path) -> list[str]:
    # Linux tells the folder of each process; elsewhere the empty folder has to do.
    found = []
    for process in Path("/proc").glob("[0-9]*/cwd"):
        try:
            where = str(process.readlink())
        except OSError:
            continue
        if where.startswith(str(folder)):
            found.append(f"{process}: {where}")
    return found
