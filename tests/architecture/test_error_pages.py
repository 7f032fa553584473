"""Each code that a caller can meet has a page: what it means, why, what to do, an example."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

from stateous.errors import StateousError
from stateous.wire.problems import STATUS, Code

PAGES = Path(__file__).parents[2] / "docs" / "errors"
PACKAGES = (
    "stateous",
    "stateous_client",
    "stateous_compiler",
    "stateous_controlplane",
    "stateous_supervisor",
    "stateous_cli",
)
SECTIONS = ("## Why you see it", "## What to do", "## Example")


def _tree(root: type[StateousError]) -> Iterator[type[StateousError]]:
    yield root
    for branch in root.__subclasses__():
        yield from _tree(branch)


def _codes() -> set[str]:
    for package in PACKAGES:
        for module in walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith(("__main__", ".env")) and "versions" not in module.name:
                import_module(module.name)
    own = {error.code for error in _tree(StateousError) if isinstance(error.code, str)}
    # What `stateous compile --json` says of a source that is no workflow.
    return own | {"does_not_import"} | {code.value for code in Code}


CODES = sorted(_codes())


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_its_page(code: str) -> None:
    page = (PAGES / f"{code}.md").read_text("utf-8")
    assert page.startswith(f"# `{code}`\n")
    for section in SECTIONS:
        assert section in page


@pytest.mark.parametrize("code", list(Code))
def test_the_page_of_a_refusal_names_its_status(code: Code) -> None:
    page = (PAGES / f"{code}.md").read_text("utf-8")
    assert f"HTTP {STATUS[code]}" in page
    assert f'"code":"{code}"' in page


def test_no_page_is_left_over() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} == set(CODES)
