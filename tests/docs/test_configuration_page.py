"""The page of settings is complete, and names nothing that is not read."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

from stateous_cli.app import build_app
from tests.docs.walkthrough import ROOT

_PAGE = ROOT / "docs" / "reference" / "configuration.md"
_VARIABLE = re.compile(r"\bSTATEOUS_[A-Z][A-Z_0-9]*\b")


def _variables(*files: Path) -> set[str]:
    return {name for file in files for name in _VARIABLE.findall(file.read_text("utf-8"))}


def test_each_variable_that_is_read_stands_on_the_page_and_no_other() -> None:
    read = _variables(
        *ROOT.glob("packages/*/src/**/*.py"),
        *(ROOT / "images").glob("*.Dockerfile"),
        *(ROOT / "images").glob("*.py"),
        ROOT / "docker-compose.yml",
    )
    assert _variables(_PAGE) == read


def test_each_option_of_serve_stands_on_the_page() -> None:
    serve = typer.main.get_command(build_app(completion=False)).commands["serve"]  # type: ignore[attr-defined]
    options = {name for it in serve.params for name in it.opts if name.startswith("--")}
    assert "--standby-file" in options
    page = _PAGE.read_text("utf-8")
    assert {name for name in options - {"--help"} if f"`{name}" not in page} == set()
