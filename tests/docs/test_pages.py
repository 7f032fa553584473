"""Every command and every piece of Python in the pages does what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.walkthrough import ROOT, Block, Command, blocks_of, commands_of, matches, walking

#: Pages that a reader follows inside the checkout; all others are followed in an empty folder.
IN_THE_CHECKOUT = {"README.md"}
#: What a page takes for granted, as a page of its own that is walked before.
BEFORE = {
    "docs/reference/client.md": "stateous-client.md",
    "docs/reference/http.md": "http.md",
    "packages/stateous-client/README.md": "stateous-client.md",
    "packages/stateous-compiler/README.md": "stateous-compiler.md",
}
PAGES = sorted(
    page
    for pattern in ("README.md", "packages/*/README.md", "docs/**/*.md")
    for page in ROOT.glob(pattern)
    if "docs/spec/" not in page.as_posix() and blocks_of(page.read_text("utf-8"))
)


@pytest.mark.e2e
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_page_is_true(page: Path, tmp_path: Path) -> None:
    name = page.relative_to(ROOT).as_posix()
    with walking(tmp_path, checkout=name in IN_THE_CHECKOUT) as walk:
        if name in BEFORE:
            before = Path(__file__).parent / "before" / BEFORE[name]
            walk.read(before.read_text("utf-8"), before.name)
        walk.read(page.read_text("utf-8"), name)


def test_the_readme_and_the_tutorial_are_among_the_pages() -> None:
    names = {page.relative_to(ROOT).as_posix() for page in PAGES}
    assert {"README.md", "docs/tutorial/first-workflow.md"} <= names


def test_blocks_are_found_in_order_with_their_files() -> None:
    page = "a\n```python file=x/flow.py\nA = 1\n```\n\n```text\nno\n```\n```console\n$ ls\n```\n"
    assert blocks_of(page) == [
        Block("python", "x/flow.py", "A = 1\n", 2),
        Block("console", None, "$ ls\n", 9),
    ]


def test_commands_are_split_from_their_output() -> None:
    text = "$ one \\\n    two\nout\n$ three &\n...\n"
    assert commands_of(text) == [
        Command("one \\\n    two", "out\n"),
        Command("three &", "...\n"),
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "fits"),
    [
        ("a\n", "a\n", True),
        ("", "", True),
        ("a\n", "b\n", False),
        ("", "more\n", False),
        ("a ... c\n", "a b c\n", True),
        ("a ... c\n", "a\nc\n", False),
        ("a\n...\nd\n", "a\nd\n", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nb\n", False),
        ("...\nd\n", "a\nd\n", True),
        ("a\n...\n", "a\nb\nc\n", True),
        ("...\n", "a\n", True),
        ("1.5\n", "1x5\n", False),
    ],
)
def test_dots_stand_for_anything(expected: str, actual: str, fits: bool) -> None:
    assert matches(expected, actual) is fits
