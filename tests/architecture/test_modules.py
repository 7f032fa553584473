"""The house rule for modules: one subject, told in the first line, in at most 400 lines."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(ROOT.glob("packages/*/src/**/*.py"))
MOST_LINES = 400


def test_there_are_modules_in_all_six_packages() -> None:
    assert len({module.relative_to(ROOT).parts[1] for module in MODULES}) == 6


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_a_module_is_short_and_says_its_subject(module: Path) -> None:
    text = module.read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring, "the first line of a module tells its subject"
    assert docstring.splitlines()[0][-1] in ".:", "the first line is a sentence"


def test_the_packages_import_one_another_only_downwards() -> None:
    lint = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert lint.returncode == 0, lint.stdout + lint.stderr
