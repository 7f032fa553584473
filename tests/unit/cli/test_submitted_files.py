"""What `stateous run submit` says of a file that is no chart, before it asks anybody."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stateous_cli.app import build_app


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("flow.py", "x = 1\n", "flow.py is no chart: `stateous compile flow.py` is for workflows"),
        (
            "orders.json",
            '{"stateous": 1, "workflow": "orders"}',
            "orders.json is the graph file of a workflow: `stateous serve orders.json` serves it, "
            "and `stateous token start ID` starts a token",
        ),
        (
            "list.json",
            "[1]",
            "list.json is no compiled statechart; `stateous compile review.yaml` writes one",
        ),
    ],
)
def test_what_is_no_chart_is_told_where_it_belongs(
    name: str, text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    ran = CliRunner().invoke(build_app(completion=False), ["run", "submit", name])
    assert (ran.exit_code, ran.stdout, ran.stderr) == (1, "", f"error: {sentence}\n")
