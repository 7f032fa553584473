"""The scripts of the given cases, each run in a process of its own (`docs/spec/statechart.md` 11)."""

import contextlib
import json
from pathlib import Path

import pytest

from stateous_supervisor.scripts.answers import Done, Emitted, Failed
from stateous_supervisor.scripts.processes import ScriptProcesses

CASES = Path(__file__).parent / "data" / "statechart"

RUNS = [
    ("jobs-join/scripts/slow.js", {"n": 4}, [Done(4)]),
    ("jobs-join/scripts/times.js", {"n": 4, "by": 5}, [Done(20)]),
    ("jobs-join/scripts/label.js", 7, [Emitted("note", {"label": "n=7"}), Done("n=7")]),
    (
        "emit/scripts/scan.js",
        {"rows": [1, 2]},
        [Emitted("row", {"n": 1}), Emitted("row", {"n": 2}), Done({"sum": 3, "count": 2})],
    ),
    ("failure/scripts/boom.js", {"mode": "ok"}, [Done("fine")]),
    ("failure/scripts/boom.js", {"mode": "break"}, [Failed("failed", 1, "cannot do break")]),
    ("cancel-on-leave/scripts/held.js", None, [Done(1)]),
    (
        "quote-approval/scripts/price.js",
        {"item": "pen", "cost": 3, "round": "start"},
        [Done({"item": "pen", "price": 6})],
    ),
    (
        "quote-approval/scripts/price.js",
        {"item": "pen", "cost": 3, "round": "more"},
        [Done({"item": "pen", "price": 4.5})],
    ),
]


@pytest.mark.parametrize(("script", "given", "answers"), RUNS)
async def test_a_given_script(script, given, answers):
    scripts = ScriptProcesses()
    await scripts.open()
    job = {
        "source": (CASES / script).read_text("utf-8"),
        "input": json.dumps(given),
        "timeout": 30,
        "memory": 64 * 1024 * 1024,
        "value": 1024 * 1024,
        "emitted": 10_000,
    }
    try:
        process = await scripts.take()
        async with contextlib.aclosing(process.run(job)) as run:
            assert [answer async for answer in run] == answers
    finally:
        await scripts.close()


def test_no_given_script_is_left_out():
    given = {str(file.relative_to(CASES)) for file in CASES.glob("*/scripts/*.js")}

    assert given == {script for script, _, _ in RUNS}
