"""`stateous compile` of a large workflow is quick (`docs/spec/authoring.md` 4, issue 3)."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

STATES = 30
MOST_SECONDS = 3.0
RUNS = 5

HEAD = """\
from typing import Literal
from pydantic import BaseModel, Field
from stateous import END, START, Workflow

class Order(BaseModel):
    amount: int = 0
    score: float = Field(0.0, ge=0)
    zone: Literal["north", "south", "east", "west"] = "north"
    name: str
    tags: list[str] = []
    vip: bool = False
    limit: int | None = None

class Parcel(BaseModel):
    level: int
    ratio: float | None = None

flow = Workflow("orders", context=Order)
s = [flow.state(f"s{i}") for i in range(30)]
e0 = flow.event("e0", payload=Parcel)
e1 = flow.event("e1", payload=Parcel)
flow.transition(START, s[0])
"""
#: Pairs that exclude each other, for all kinds of values.
PAIRS = (
    ("ctx['amount'] < 100", "ctx['amount'] >= 100"),
    ("ctx['zone'] in ['north', 'south']", "ctx['zone'] in ['east', 'west']"),
    ("payload.level < 10", "payload.level >= 10"),
    ("payload.ratio == null", "payload.ratio != null"),
    ("ctx['name'] < 'm'", "not (ctx['name'] < 'm')"),
    ("'x' in ctx['tags']", "'x' not in ctx['tags']"),
    (
        "ctx['limit'] != null and ctx['amount'] > ctx['limit']",
        "ctx['limit'] == null or ctx['amount'] <= ctx['limit']",
    ),
    ("ctx['vip'] and ctx['score'] > 0.5", "not ctx['vip'] or ctx['score'] <= 0.5"),
    ("count('e0') < 3", "count('e0') >= 3"),
)


def large_flow() -> str:
    """30 states with 60 groups of two guards, which makes 120 transitions and one more."""
    lines = []
    for i in range(2 * STATES):
        state, event = i // 2, i % 2
        last = "END" if state == STATES - 1 else f"s[{(state + 7) % STATES}]"
        for target, guard in zip(
            (f"s[{(state + 1) % STATES}]", last), PAIRS[i % len(PAIRS)], strict=True
        ):
            lines.append(f'flow.transition(s[{state}], {target}, on=e{event}, when="{guard}")')
    return HEAD + "\n".join(lines) + "\n"


@pytest.mark.timing
def test_a_large_workflow_compiles_in_under_three_seconds(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(large_flow(), encoding="utf-8")
    command = [sys.executable, "-m", "stateous_cli", "compile", "flow.py"]
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
        times.append(time.perf_counter() - began)
        assert (done.returncode, done.stderr) == (0, "")
    assert min(times) < MOST_SECONDS, times
