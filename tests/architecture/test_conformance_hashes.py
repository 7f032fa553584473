"""The conformance data is what was handed in: nobody mends a case to make a test pass."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

CONFORMANCE = Path(__file__).parents[1] / "conformance"


def test_the_conformance_data_is_unchanged() -> None:
    recorded = json.loads((CONFORMANCE / "hashes.json").read_text("utf-8"))
    data = CONFORMANCE / "data"
    actual = {
        path.relative_to(data).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(data.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert actual == recorded
