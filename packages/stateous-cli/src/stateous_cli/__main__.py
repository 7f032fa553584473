"""``python -m stateous_cli``."""

from __future__ import annotations

import sys

from stateous_cli.entry import main

sys.exit(main())
