"""The reference of charts: its example compiles, and each code has its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stateous_compiler.statechart.compile import check_chart

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "statechart-yaml.md").read_text("utf-8")
SPECIFICATION = (ROOT / "docs" / "spec" / "statechart.md").read_text("utf-8")


def section(page: str, title: str) -> str:
    return page.split(f"\n{title}", 1)[1].split("\n##", 1)[0]


def first_cells(table: str) -> set[str]:
    rows = re.findall(r"^\| (`[^|]*) \|", table, re.M)
    return {code for row in rows for code in re.findall(r"`([^`]+)`", row)}


def test_the_example_compiles(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
    (tmp_path / "review.yaml").write_text(example)
    (tmp_path / "draft.js").write_text('return "A draft of " + input.document\n')
    assert check_chart(tmp_path / "review.yaml").warnings == ()


@pytest.mark.parametrize("title", ["## Problems", "## Warnings"])
def test_the_codes_on_the_page_are_those_of_the_specification(title: str) -> None:
    refused = section(SPECIFICATION, "### 1.5 Refused, with what code")
    table, _, warned = refused.partition("Warned, not refused:")
    codes = (
        first_cells(table)
        if title == "## Problems"
        else set(re.findall(r"`([a-z]+-[a-z-]+)`", warned))
    )
    assert first_cells(section(PAGE, title)) == codes
