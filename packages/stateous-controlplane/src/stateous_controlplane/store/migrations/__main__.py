"""The child process that migrates; see the package."""

from __future__ import annotations

import sys

from stateous_controlplane.store.migrations.upgrading import main

if __name__ == "__main__":
    sys.exit(main(sys.stdin.buffer.read().decode("utf-8", "surrogateescape")))
