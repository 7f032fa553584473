"""The workflow of the end-to-end tests, and a supervisor's folder for it.

``carry`` is worked on, may be poked from outside as often as one likes, and hands over to ``land``.
A failed or lost attempt of ``carry`` is tried again twice.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import run_stateous

FLOW = '''
"""Carry something, and land it."""
from pydantic import BaseModel

from stateous import END, START, Workflow


class Load(BaseModel):
    name: str = ""
    weight: int | None = None


class Weighed(BaseModel):
    weight: int


flow = Workflow("relay", context=Load)
carry = flow.state("carry", retries=2)
land = flow.state("land")
carried = flow.event("carried", payload=Weighed)
landed = flow.event("landed")
poke = flow.event("poke")
flow.transition(START, carry)
flow.transition(carry, land, on=carried)
flow.transition(carry, carry, on=poke)
flow.transition(land, land, on=poke)
flow.transition(land, END, on=landed)
'''

CARRY = '''
"""Carries; waits for as long as the file HOLD exists, and leaves a line in RUNS for each run."""
import time
from pathlib import Path

from contract import LoadContext, events, states
from stateous import on_state

HERE = Path(__file__).parent


@on_state(states.carry)
def carry(ctx: LoadContext) -> events.carried:
    with (HERE / "RUNS").open("a") as runs:
        runs.write(f"{ctx.token} {ctx.attempt}\\n")
    ctx.note(f"attempt {ctx.attempt}")
    ctx.memory["attempts"] = ctx.attempt
    while (HERE / "HOLD").exists():
        time.sleep(0.02)
    ctx["weight"] = ctx.attempt
    return events.carried({"weight": ctx.attempt})
'''

LAND = '''
"""Lands."""
from contract import LoadContext, events, states
from stateous import on_state


@on_state(states.land)
async def land(ctx: LoadContext) -> events.landed:
    return events.landed()
'''


def compiled(folder: Path) -> Path:
    """The graph file of the workflow, compiled in ``folder``."""
    (folder / "flow.py").write_text(FLOW)
    done = run_stateous("compile", "flow.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "build" / "relay.json"


def supervisor_folder(graph: Path, folder: Path, url: str) -> Path:
    """A supervisor's folder for the graph, with both routines, that works for ``url``."""
    done = run_stateous("init", "supervisor", str(graph), str(folder))
    assert done.returncode == 0, done.stderr
    (folder / "carry.py").write_text(CARRY)
    (folder / "land.py").write_text(LAND)
    (folder / "stateous.yaml").write_text(f'url: "{url}"\ntasks: 2\nname: box\n')
    return folder


def kinds(history: list[dict[str, object]]) -> list[object]:
    """The kinds of a history's entries."""
    return [entry["kind"] for entry in history]
