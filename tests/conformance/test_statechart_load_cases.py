"""The conformance set `data/statechart/load-errors`: definitions that are refused, and some not.

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
LOAD: list[dict[str, Any]] = json.loads((DATA / "load-errors/scenario.json").read_bytes())["load"]
CHARTS = sorted(path for path in DATA.glob("*/*.yaml"))


@pytest.mark.parametrize("case", LOAD, ids=lambda case: case["file"])
def test_a_definition_is_loaded_or_refused(case: dict[str, Any]) -> None:
    chart = DATA / "load-errors" / case["file"]
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
