"""`stateous compile` of a chart, word for word (`docs/spec/statechart.md` 17)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stateous_cli.app import build_app

CHECKSUM = "sha256:758fd12d65ecda836b0dff4c0bed753cfc7c620b9d1d7978c4495b2f942d75c7"
REVIEW = """\
statechart: review
input: { document: string }
initial: drafting

states:
  drafting:
    job: { script: ./draft.js, input: { document: "${input.document}" } }
    on:
      done: waiting
      failed: gave_up
  waiting:
    ticket: verdict
    timers: { too_long: 48h }
    on:
      verdict:
        - { go: approved, when: "${event.data.ok}" }
        - { go: drafting }
      too_long: gave_up
  approved: { end: done, output: "${states.drafting.output}" }
  gave_up:  { end: failed }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("draft.js").write_text('// draft.js\n\nreturn "A draft of " + input.document\n')
    Path("review.yaml").write_text(REVIEW)
    return tmp_path


def compiled(*arguments: str) -> Result:
    return CliRunner().invoke(build_app(completion=False), ["compile", *arguments])


def test_a_chart_is_compiled() -> None:
    ran = compiled("review.yaml")
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, "wrote build/review.json\n", "")
    assert json.loads(Path("build/review.json").read_bytes())["statechart"] == "review"


def test_out_and_diagram() -> None:
    ran = compiled("review.yaml", "--out", "x/y.json", "--diagram")
    assert (ran.exit_code, ran.stdout) == (0, "wrote x/y.json\nwrote x/y.mmd\n")
    assert Path("x/y.mmd").read_text().startswith("stateDiagram-v2\n")


def test_warnings_stand_aside() -> None:
    Path("review.yaml").write_text(REVIEW + "  alone: {}\n")
    ran = compiled("review.yaml")
    assert (ran.exit_code, ran.stdout) == (0, "wrote build/review.json\n")
    assert ran.stderr == "warning: review.yaml:21: no transition leads to the state 'alone'\n"


def test_problems_are_lines_and_no_file_is_written() -> None:
    text = REVIEW.replace("too_long: gave_up", "too_long: lost").replace("48h", "soon")
    Path("review.yaml").write_text(text)
    ran = compiled("review.yaml")
    assert (ran.exit_code, ran.stdout) == (1, "")
    first, *lines = ran.stderr.splitlines()
    assert first == "error: statechart 'review' is not valid:"
    assert [line.split(": ")[0] for line in lines] == ["  - review.yaml:13", "  - review.yaml:18"]
    assert not Path("build").exists()


def test_json_of_a_chart() -> None:
    ran = compiled("review.yaml", "--json")
    assert json.loads(ran.stdout) == {
        "statechart": "review",
        "graph": "build/review.json",
        "diagram": None,
        "checksum": CHECKSUM,
        "warnings": [],
    }


def test_json_of_problems() -> None:
    Path("review.yaml").write_text(REVIEW.replace("too_long: gave_up", "too_long: lost"))
    ran = compiled("review.yaml", "--json")
    assert ran.exit_code == 1
    assert json.loads(ran.stdout) == {
        "error": {
            "code": "invalid_definition",
            "message": "statechart 'review' is not valid:",
        },
        "problems": [
            {
                "code": "unknown-target",
                "place": "review.yaml:18",
                "where": "states.waiting.on.too_long[0].go",
                "text": "'lost' is no state",
            }
        ],
    }


@pytest.mark.parametrize("name", ["nowhere.yaml", "nowhere.yml"])
def test_a_chart_that_is_not_there(name: str) -> None:
    ran = compiled(name)
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert ran.stderr == f"error: {name} cannot be read: No such file or directory\n"
