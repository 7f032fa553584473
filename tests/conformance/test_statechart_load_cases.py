"""What `load` says in the conformance set `data/statechart`: definitions that are refused, and some not.

Charts of the other scenarios are loaded too: each of them compiles, and compiles from its own
document again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stateous.graph.documents import read_document
from stateous_compiler.errors import InvalidChart
from stateous_compiler.statechart.compile import check_chart

DATA = Path(__file__).parent / "data" / "statechart"


def _cases(told: Path) -> list[dict[str, Any]]:
    """The files that a scenario loads: one or several."""
    load = json.loads(told.read_bytes()).get("load", [])
    return [load] if isinstance(load, dict) else load


LOAD: list[tuple[Path, dict[str, Any]]] = [
    (told.parent, case) for told in sorted(DATA.glob("*/scenario.json")) for case in _cases(told)
]
CHARTS = sorted(path for path in DATA.glob("*/*.yaml"))


@pytest.mark.parametrize(
    ("folder", "case"), LOAD, ids=[f"{folder.name}/{case['file']}" for folder, case in LOAD]
)
def test_a_definition_is_loaded_or_refused(folder: Path, case: dict[str, Any]) -> None:
    chart = folder / case["file"]
    if case["expect"] == "ok":
        check_chart(chart)
        return
    with pytest.raises(InvalidChart) as caught:
        check_chart(chart)
    assert case["expect"] in {problem.code for problem in caught.value.problems}


@pytest.mark.parametrize("chart", CHARTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_chart_of_a_scenario_compiles_to_a_document_that_is_read(chart: Path) -> None:
    checked = check_chart(chart)
    assert read_document(checked.text.encode()).checksum == checked.document.checksum
