"""The example `review`: the seed's two files, what they compile to, and how that is drawn."""

from __future__ import annotations

from pathlib import Path

from stateous.statechart.diagram import diagram_text
from stateous_compiler.statechart.compile import check_chart
from tests.support.transcripts import typed_in

ROOT = Path(__file__).parents[2]
REVIEW = ROOT / "examples" / "review"
#: The checksum that the specification gives (`docs/spec/statechart.md` 2).
CHECKSUM = "sha256:758fd12d65ecda836b0dff4c0bed753cfc7c620b9d1d7978c4495b2f942d75c7"


def test_the_files_are_those_of_the_transcript() -> None:
    page = (ROOT / "docs" / "spec" / "statechart.md").read_text("utf-8")
    written = {each.typed.split()[2]: each.here for each in typed_in(page)[:2]}
    assert written == {
        name: (REVIEW / name).read_text("utf-8") for name in ("review.yaml", "draft.js")
    }


def test_the_document_is_what_the_chart_gives() -> None:
    checked = check_chart(REVIEW / "review.yaml")
    assert checked.warnings == ()
    assert checked.document.checksum == CHECKSUM
    committed = (REVIEW / "build" / "review.json").read_text("utf-8")
    assert checked.text == committed, "run: stateous compile examples/review/review.yaml"


def test_the_diagram_is_what_the_chart_gives() -> None:
    drawn = diagram_text(check_chart(REVIEW / "review.yaml").document)
    assert drawn == (REVIEW / "build" / "review.mmd").read_text("utf-8")
    assert f"```mermaid\n{drawn}```" in (REVIEW / "README.md").read_text("utf-8")
