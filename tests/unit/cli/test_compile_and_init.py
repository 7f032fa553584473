"""`stateous compile` and `stateous init` as text and as JSON: the transcripts of the specification."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stateous.errors import StateousError
from stateous_cli.actions import authoring
from stateous_cli.answer import Answer
from stateous_cli.failures import failure_document, failure_text

FLOW = """from pydantic import BaseModel

from stateous import END, START, Workflow


class Order(BaseModel):
    kg: int


flow = Workflow("orders", context=Order)
packing = flow.state("packing")
packed = flow.event("packed")
forgotten = flow.event("forgotten")
flow.transition(START, packing)
flow.transition(packing, END, on=packed)
"""
WRONG = FLOW.replace(
    "flow.transition(packing, END, on=packed)",
    'lost = flow.state("lost")\nflow.transition(packing, packing, on=packed)',
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, text: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def failure(action: Callable[[], Answer]) -> StateousError:
    with pytest.raises(StateousError) as caught:
        action()
    return caught.value


def test_a_graph_file_is_written_and_warnings_stand_aside() -> None:
    flow = write("orders/flow.py", FLOW)
    answer = authoring.compile_flow(flow, None)
    assert answer.lines == ["wrote orders/build/orders.json"]
    assert len(answer.asides) == 1
    assert answer.asides[0].startswith("warning: flow.py:13: ")
    assert "'forgotten'" in answer.asides[0]
    assert list(answer.document) == [
        *("workflow", "graph", "diagram", "checksum", "structure", "contract", "warnings")
    ]
    assert answer.document["diagram"] is None
    assert answer.document["warnings"][0]["code"] == "unused-event"
    assert Path("orders/build/orders.json").is_file()


def test_the_graph_file_goes_where_it_is_told() -> None:
    answer = authoring.compile_flow(write("orders/flow.py", FLOW), Path("a/b/c.json"))
    assert answer.lines == ["wrote a/b/c.json"]
    assert Path("a/b/c.json").is_file()
    assert not Path("orders/build").exists()


@pytest.mark.parametrize(
    ("out", "graph", "diagram"),
    [
        (None, "orders/build/orders.json", "orders/build/orders.mmd"),
        ("a/b.c.json", "a/b.c.json", "a/b.c.mmd"),
        ("graph.txt", "graph.txt", "graph.txt.mmd"),
    ],
)
def test_the_diagram_stands_beside_the_graph_file(
    out: str | None, graph: str, diagram: str
) -> None:
    flow = write("orders/flow.py", FLOW)
    answer = authoring.compile_flow(flow, None if out is None else Path(out), diagram=True)
    assert answer.lines == [f"wrote {graph}", f"wrote {diagram}"]
    assert answer.document["diagram"] == diagram
    assert Path(diagram).read_bytes().decode() == (
        "stateDiagram-v2\n    direction LR\n    packing\n    [*] --> packing\n"
        "    packing --> [*]: packed\n"
    )


def test_all_problems_are_listed_and_no_file_is_written() -> None:
    error = failure(lambda: authoring.compile_flow(write("orders/flow.py", WRONG), None))
    lines = failure_text(error).splitlines()
    assert lines[0] == "error: workflow 'orders' is not valid:"
    assert [line.split(": ")[0] for line in lines[1:]] == ["  - flow.py:10", "  - flow.py:15"]
    document = failure_document(error)
    assert document["error"]["code"] == "invalid_workflow"
    assert [problem["code"] for problem in document["problems"]] == ["no-end", "unreachable-state"]
    assert set(document["problems"][0]) == {"code", "place", "workflow", "text"}
    assert not Path("orders/build").exists()


@pytest.mark.parametrize(
    ("name", "text", "sentence", "code"),
    [
        ("nosuch.py", None, "nosuch.py: no such file", "does_not_import"),
        ("a.py", "x = 1\n", "a.py defines no Workflow at module level", "does_not_import"),
        ("b.py", "1/0\n", "b.py does not import: ZeroDivisionError: ", "does_not_import"),
        ("c.py", "def (\n", "c.py, line 1: ", "does_not_import"),
    ],
)
def test_what_is_no_workflow_is_one_line(
    name: str, text: str | None, sentence: str, code: str
) -> None:
    if text is not None:
        write(name, text)
    error = failure(lambda: authoring.compile_flow(Path(name), None))
    assert failure_text(error).startswith(f"error: {sentence}")
    assert "\n" not in failure_text(error)
    assert failure_document(error)["error"]["code"] == code
    assert "problems" not in failure_document(error)


def test_a_file_that_cannot_be_written_is_a_failure() -> None:
    write("taken", "")
    flow = write("orders/flow.py", FLOW)
    error = failure(lambda: authoring.compile_flow(flow, Path("taken/g.json")))
    assert failure_text(error).startswith("error: cannot write taken/g.json: ")
    assert failure_document(error)["error"]["code"] == "failed"


def test_a_new_workflow_and_its_supervisor() -> None:
    made = authoring.init_workflow("invoices", None)
    assert made.lines == [
        "wrote    invoices/flow.py",
        "wrote    invoices/schemas.py",
        "wrote    invoices/pyproject.toml",
        "wrote    invoices/build/invoices.json",
        "",
        "Next steps:",
        "  stateous serve invoices/build/invoices.json",
        "  stateous init supervisor invoices/flow.py invoices-supervisor",
    ]
    assert made.document["files"][0] == {
        "action": "wrote",
        "path": "invoices/flow.py",
        "note": None,
    }
    assert failure_text(failure(lambda: authoring.init_workflow("invoices", None))) == (
        "error: invoices already has flow.py: give a different name, or edit that file"
    )

    desk = authoring.init_supervisor("invoices/flow.py", Path("desk"), None)
    assert desk.lines == [
        "wrote    desk/contract.py",
        "wrote    desk/draft.py",
        "wrote    desk/review.py",
        "wrote    desk/stateous.yaml",
        "wrote    desk/pyproject.toml",
        "",
        "Write the routines, then run: stateous supervise desk",
    ]
    assert desk.document["next"] == ["stateous supervise desk"]

    write("desk/review.py", "")
    write("desk/archive.py", Path("desk/draft.py").read_text("utf-8").replace("draft", "archive"))
    again = authoring.init_supervisor("invoices/build/invoices.json", Path("desk"), None)
    assert again.lines == [
        "wrote    desk/contract.py",
        "kept     the routine of 'draft'",
        "skipped  desk/review.py: the file exists and has no routine for 'review'",
        "unused   desk/archive.py: the workflow has no state 'archive'",
        "kept     desk/stateous.yaml",
        "kept     desk/pyproject.toml",
    ]
    assert again.document["files"][2] == {
        "action": "skipped",
        "path": "desk/review.py",
        "note": "the file exists and has no routine for 'review'",
    }


def test_a_control_plane_that_is_not_there_gives_no_workflow() -> None:
    error = failure(lambda: authoring.init_supervisor("http://127.0.0.1:9", Path("x"), None))
    assert failure_text(error) == (
        "error: cannot fetch the workflow from http://127.0.0.1:9: "
        "cannot reach the control plane at http://127.0.0.1:9: [Errno 111] Connection refused; "
        "start one with `stateous serve`, or name a graph file in place of the URL"
    )
    assert not Path("x").exists()
