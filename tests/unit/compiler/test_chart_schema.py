"""The published JSON Schema of charts is the one that the compiler makes."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from stateous_compiler.statechart.yaml_schema import schema_text

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "statechart.schema.json"


def test_the_published_schemas_are_what_the_compiler_makes() -> None:
    in_the_package = files("stateous_compiler.statechart").joinpath("chart.schema.json")
    assert in_the_package.read_text("utf-8") == schema_text()
    assert DOCS.read_text("utf-8") == schema_text()
