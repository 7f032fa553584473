"""What is committed names no machine and no registry, and the lock is one for every machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Written in halves, so that this file is not a finding of its own.
_HOSTS = ("py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "proxy.go" + "lang.org")
_PATHS = ("/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/[a-z]", "/Us" + "ers/[a-z]")
FORBIDDEN = re.compile("|".join([*map(re.escape, _HOSTS), *(f"(?<![\\w.]){p}" for p in _PATHS)]))


def _tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_tracked_file_names_a_registry_or_a_path_of_a_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in _tracked()
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if FORBIDDEN.search(line)
    ]
    assert not found, "\n".join(found)


def test_the_lock_has_hashes_and_no_address() -> None:
    lock = (ROOT / "requirements-dev.lock").read_text("utf-8")
    assert "--hash=sha256:" in lock
    assert "://" not in lock
    assert " @ " not in lock
    assert "--index" not in lock


def test_each_distribution_brings_its_papers() -> None:
    for package in sorted((ROOT / "packages").iterdir()):
        for paper in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            assert (package / paper).read_text("utf-8").strip(), f"{package.name}/{paper}"
