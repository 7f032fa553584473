"""Whether this container's control plane serves or stands by: exit code 0, else a sentence and 1.

It serves when `GET /ready` is answered with 200. One that stands by does not listen, and touches
its file (`--standby-file`) once a second. Run without any package, each few seconds.
"""

from __future__ import annotations

import os
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import HTTPError, URLError

_PATIENCE = 3.0
#: A file that was touched so many seconds ago is that of a control plane which hangs.
_OLDEST = 15.0


def main() -> str | None:
    """What is wrong, or None."""
    port = os.environ.get("STATEOUS_LISTEN", "8080").rpartition(":")[2]
    url = f"http://127.0.0.1:{port}/ready"
    try:
        urllib.request.urlopen(url, timeout=_PATIENCE).close()
    except HTTPError as error:
        return f"{url} answers {error.code}: {error.read(200).decode('utf-8', 'replace')}"
    except URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return _stands_by()
        return f"{url} cannot be reached: {error.reason}"
    except OSError as error:
        return f"{url} did not answer: {error}"
    return None


def _stands_by() -> str | None:
    name = os.environ.get("STATEOUS_STANDBY_FILE")
    if not name:
        return "nothing listens"
    try:
        ago = time.time() - Path(name).stat().st_mtime
    except OSError:
        return f"nothing listens, and nobody stands by: there is no {name}"
    return None if ago < _OLDEST else f"nothing listens, and {name} is {ago:.0f} s old"


if __name__ == "__main__":
    sys.exit(main())
