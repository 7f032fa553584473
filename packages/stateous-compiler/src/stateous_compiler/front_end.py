"""Which front-end a source file is for: a chart is YAML, a workflow is Python."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_OF_CHARTS: Final = (".yaml", ".yml")


def is_chart(path: Path) -> bool:
    """Whether the file is taken for a chart, by its ending."""
    return path.suffix.lower() in _OF_CHARTS
