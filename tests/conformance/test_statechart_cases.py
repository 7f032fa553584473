"""The conformance set `data/statechart`, and further scenarios in `charts`, over every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.databases import KINDS, Database, InMemory
from tests.support.scenarios.player import Scenario, problems_of, scenarios

HERE = Path(__file__).parent
GIVEN = HERE / "data" / "statechart"
SCENARIOS = scenarios(GIVEN, HERE / "charts")


@pytest.fixture(params=["memory", *KINDS])
def database(request: pytest.FixtureRequest) -> Database:
    if request.param == "memory":
        return InMemory()
    made: Database = request.getfixturevalue(f"{request.param}_database")
    return made


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.folder.name)
async def test_what_the_specification_says_comes(scenario: Scenario, database: Database) -> None:
    assert await problems_of(scenario, database.open(), scenario.told) == []
