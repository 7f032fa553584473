"""Which distributions of Stateous are installed, and in which version."""

from __future__ import annotations

import re
from importlib.metadata import distributions


def installed_versions() -> list[tuple[str, str]]:
    """Name and version of each installed ``stateous-*`` distribution, by name.

    Of a distribution that the path holds twice the first counts, which is the one that is imported.
    """
    found: dict[str, str] = {}
    for distribution in distributions():
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"] or "").lower()
        if name.startswith("stateous-"):
            found.setdefault(name, distribution.version)
    return sorted(found.items())
