"""Charts as tests write them: the YAML of people, compiled like any other."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent

from stateous.graph.machine import Machine
from stateous.statechart.document import ChartDocument
from stateous.statechart.freeze import freeze_chart
from stateous_compiler.statechart.compile import check_chart

_SCRIPT = re.compile(r"[\w./-]+\.js\b")


@cache
def _compiled(chart: str, files: tuple[tuple[str, str], ...]) -> ChartDocument:
    with TemporaryDirectory() as folder:
        for name, text in (("chart.yaml", chart), *files):
            (Path(folder) / name).write_text(text)
            for script in _SCRIPT.findall(text):
                (Path(folder) / script).write_text(f"return '{script}'\n")
        return check_chart(Path(folder) / "chart.yaml").document


def document(text: str, **machines: str) -> ChartDocument:
    """The chart that ``text`` is; ``machines`` are the files `<name>.yaml` beside it.

    Every `<name>.js` that a text names is there. A chart without `statechart` is `main`, another
    file has its own name.
    """
    files = tuple((f"{name}.yaml", _named(name, text)) for name, text in machines.items())
    return _compiled(_named("main", text), files)


def chart(text: str, **machines: str) -> Machine:
    """The machine of :func:`document`."""
    return freeze_chart(document(text, **machines))


def _named(name: str, text: str) -> str:
    text = dedent(text).strip() + "\n"
    return text if text.startswith("statechart:") else f"statechart: {name}\n{text}"
