"""No page leads nowhere: each relative link names a file or folder, each anchor a heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.walkthrough import ROOT

PAGES = sorted(
    page
    for pattern in ("*.md", "packages/*/README.md", "docs/**/*.md", "examples/**/*.md")
    for page in ROOT.glob(pattern)
    if "docs/spec/" not in page.as_posix()
)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text("utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page if not path else (page.parent / path).resolve()
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target.read_text("utf-8")), link
