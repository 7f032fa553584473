"""One stack for all tests of this folder; where it cannot be had, the reason is told."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.compose import Stack, why_not


@pytest.fixture(scope="session")
def engine() -> None:
    """A Docker engine with the images. `REQUIRE_ENGINE=1` makes its absence a failure."""
    reason = why_not()
    if reason is None:
        return
    if os.environ.get("REQUIRE_ENGINE"):
        pytest.fail(f"the compose tests must run here, but: {reason}")
    pytest.skip(f"the compose tests need a Docker engine: {reason}")


@pytest.fixture(scope="session")
def stack(engine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack, up and healthy, without the standby."""
    stack = Stack(tmp_path_factory.mktemp("secrets"))
    try:
        stack.up()
        yield stack
    finally:
        print(stack.logs())
        stack.down()
