"""The example `sdlc`: its committed files are what its source gives, and its routines agree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from stateous.graph.diagram import diagram_text
from stateous.graph.reading import read_graph
from stateous_compiler.compile import check_flow

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_graph_file_is_what_the_source_gives() -> None:
    checked = check_flow(EXAMPLES / "sdlc" / "flow.py")
    assert checked.warnings == ()
    committed = (EXAMPLES / "sdlc" / "build" / "sdlc.json").read_text("utf-8")
    assert checked.text == committed, "run: stateous compile examples/sdlc/flow.py"
    contract = (EXAMPLES / "sdlc-supervisor" / "contract.py").read_text("utf-8")
    assert checked.contract == contract, (
        "run: stateous init supervisor examples/sdlc/flow.py examples/sdlc-supervisor"
    )


def test_the_diagram_is_what_the_graph_file_gives() -> None:
    graph = EXAMPLES / "sdlc" / "build" / "sdlc.json"
    drawn = diagram_text(read_graph(graph.read_bytes()))
    committed = graph.with_suffix(".mmd").read_text("utf-8")
    assert drawn == committed, "run: stateous compile examples/sdlc/flow.py --diagram"
    readme = (EXAMPLES / "sdlc" / "README.md").read_text("utf-8")
    assert f"```mermaid\n{committed}```" in readme


def test_the_routines_have_the_types_that_the_contract_says() -> None:
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--config-file=",
            f"--cache-dir={os.devnull}",
            ".",
        ],
        cwd=EXAMPLES / "sdlc-supervisor",
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
