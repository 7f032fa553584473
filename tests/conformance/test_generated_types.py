"""What is generated passes strict type checking: contract and stubs of every compiling case."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stateous.graph.reading import check_graph
from stateous_compiler.contract import contract_text
from stateous_compiler.stubs import stubs_of

CASES = sorted((Path(__file__).parent / "data" / "compile").glob("*/expected.json"))


@pytest.mark.e2e
def test_contracts_and_stubs_pass_strict_type_checking(tmp_path: Path) -> None:
    assert CASES
    for case in CASES:
        document = check_graph(json.loads(case.read_bytes()))
        # One run of mypy takes all folders, so that each is a package, and `contract` is in it.
        package = f"case_{case.parent.name.replace('-', '_')}"
        folder = tmp_path / package
        folder.mkdir()
        (folder / "__init__.py").touch()
        (folder / "contract.py").write_text(contract_text(document), "utf-8")
        for stub in stubs_of(document):
            text = stub.text.replace("from contract import", f"from {package}.contract import")
            assert text != stub.text
            (folder / stub.file).write_text(text, "utf-8")
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file="),
            *(f"--cache-dir={os.devnull}", "."),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
