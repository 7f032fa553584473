"""The scenarios of the conformance set, played against a real server (`tests/conformance/data/README.md`).

Each scenario has a server process and an empty database of its own, on SQLite and on Postgres.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.databases import ServedDatabase
from tests.support.processes import STATEOUS

DATA = Path(__file__).parent / "data" / "wire"
SCENARIOS = sorted(DATA.glob("*.json"))

SERVER = shlex.join([*STATEOUS, "serve", "{graph}", "--db", "{db}", "--listen", "127.0.0.1:{port}"])


def _runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wire_scenarios", DATA / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUNNER = _runner()


def test_the_set_is_whole() -> None:
    assert len(SCENARIOS) == 20


@pytest.mark.e2e
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_the_server_answers_as_the_scenario_asks(
    scenario: Path, database: ServedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STATEOUS_DB", "STATEOUS_LISTEN", "STATEOUS_LEASE", "STATEOUS_LOG_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    options = argparse.Namespace(server=SERVER, db=database.url, verbose=False, keep=False)
    _, problem, _ = RUNNER.run_scenario(scenario, options)
    assert problem is None, problem
