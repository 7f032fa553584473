"""Where a page ends: at its limit, or once it holds enough bytes (`docs/spec/wire.md` 2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from stateous_controlplane.store.port import TokenView

_View = TypeVar("_View")


def page_of_tokens(
    views: Iterable[TokenView], *, limit: int, max_bytes: int
) -> tuple[list[TokenView], bool]:
    """The first of ``views``, and whether there is more. A page has one token at least.

    No more of ``views`` is read than needed: each may have a context of a MiB.
    """
    page: list[TokenView] = []
    held = 0
    for view in views:
        if len(page) == limit or held >= max_bytes:
            return page, True
        page.append(view)
        held += _bytes_of(view.context)
    return page, False


def page_of(views: Iterable[_View], *, limit: int) -> tuple[list[_View], bool]:
    """The first ``limit`` of ``views``, and whether there is more."""
    found = list(views)
    return found[:limit], len(found) > limit


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
