"""Whether this container's supervisor works: exit code 0, else a sentence and 1.

It has the outbox of its folder open, which it keeps locked from its start to its end, and the
control plane answers it. Run as `health_supervisor.py FOLDER`, without any package, each few
seconds.
"""

from __future__ import annotations

import os
import re
import sys
import urllib.request
from pathlib import Path
from urllib.error import HTTPError

_PATIENCE = 3.0


def main(folder: Path) -> str | None:
    """What is wrong, or None."""
    outbox = folder / ".stateous" / "outbox.db"
    if not _is_locked(outbox):
        return f"no supervisor has {outbox} open"
    url = _url(folder)
    try:
        urllib.request.urlopen(f"{url}/health", timeout=_PATIENCE).close()
    except HTTPError as error:
        return f"{url} answers {error.code}"
    except (OSError, ValueError) as error:
        return f"{url} cannot be reached: {error}"
    return None


def _is_locked(file: Path) -> bool:
    """Whether a process of this container has a lock on ``file``; trying it would disturb a start."""
    try:
        inode = file.stat().st_ino
    except OSError:
        return False
    # Lines like `1: POSIX ADVISORY WRITE 7 00:2f:1234 1073741824 1073742335`.
    locks = Path("/proc/locks").read_text("ascii").splitlines()
    return any(line.split()[5].endswith(f":{inode}") for line in locks if "->" not in line)


def _url(folder: Path) -> str:
    """The control plane's address, as the supervisor finds it: in the environment, then the file."""
    given = os.environ.get("STATEOUS_URL")
    if not given:
        text = (folder / "stateous.yaml").read_text("utf-8")
        found = re.search(r"""^url:\s*["']?([^\s"'#]+)""", text, re.M)
        given = found[1] if found else ""
    return given.rstrip("/")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
