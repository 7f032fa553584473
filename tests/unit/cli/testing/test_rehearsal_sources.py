"""What a rehearsal is made of, and what it says when something is wrong with that."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from stateous import END, START, Workflow
from stateous_cli.testing import Rehearsal, RehearsalError
from stateous_cli.testing.needed import require
from stateous_compiler.errors import FlowImportError, InvalidWorkflow
from stateous_supervisor.errors import SupervisorError

EXAMPLES = Path(__file__).parents[4] / "examples"


def reviews(*, join: str = "all") -> Workflow:
    def review(name: str) -> Workflow:
        flow = Workflow(name)
        reading = flow.state("reading", timeout="1d")
        approved = flow.event("approved")
        flow.transition(START, reading)
        flow.transition(reading, END, on=approved)
        return flow

    flow = Workflow("changes")
    both = flow.state(
        "reviews",
        parallel=[review("security"), review("design")],
        join=join,  # type: ignore[arg-type]
    )
    merging = flow.state("merging")
    merged = flow.event("merged")
    flow.transition(START, both)
    flow.transition(both, merging, on="joined", when="branches.any(status == 'completed')")
    flow.transition(both, END, on="joined", otherwise=True)
    flow.transition(merging, END, on=merged)
    return flow


def test_children_run_side_by_side_and_their_join_moves_the_parent() -> None:
    with Rehearsal(reviews()) as play:
        play.routine("merging", lambda ctx: "merged")
        play.routine("security/reading", lambda ctx: "approved")
        change = play.start("C-1")
        play.run()
        assert change.state == "reviews"
        assert [each.id for each in change.children] == [
            "C-1.reviews.1.security",
            "C-1.reviews.1.design",
        ]
        assert change.child("security").status == "completed"
        play.advance("1d")  # nobody reads the design
        assert change.child("design").status == "failed"
        assert change.status == "completed"
        assert change.path == ["reviews", "merging"]
        with pytest.raises(LookupError, match="no child of the workflow 'legal'"):
            change.child("legal")
        # The children's histories are part of the story.
        assert "  C-1.reviews.1.design: reading, failed" in change.story()


def test_with_any_the_first_child_moves_the_parent_and_the_others_are_cancelled() -> None:
    with Rehearsal(reviews(join="any")) as play:
        change = play.start("C-1")
        play.fire(change.child("design"), "approved")
        assert change.state == "merging"
        assert change.child("security").status == "cancelled"


def test_a_wrong_workflow_raises_all_its_problems() -> None:
    flow = Workflow("broken")
    lost = flow.state("lost")
    flow.transition(lost, lost, on=flow.event("again"))
    with pytest.raises(InvalidWorkflow) as raised:
        Rehearsal(flow)
    assert [problem.code for problem in raised.value.problems] == [
        "no-start",
        "no-end",
        "unreachable-state",
    ]
    assert "test_rehearsal_sources.py:" in str(raised.value)


def test_a_source_that_gives_no_workflow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FlowImportError, match="no such file"):
        Rehearsal(tmp_path / "flow.py")
    with pytest.raises(RehearsalError, match=r"cannot read the graph file .*: No such file"):
        Rehearsal(tmp_path / "graph.json")
    (tmp_path / "graph.json").write_text("{}")
    with pytest.raises(RehearsalError, match=r"graph\.json is not a graph file: "):
        Rehearsal(tmp_path / "graph.json")


@pytest.mark.parametrize("flow", ["flow.py", "build/sdlc.json"])
def test_a_supervisors_folder_takes_part_and_leaves_no_trace_on_the_import_path(flow: str) -> None:
    before = list(sys.path)
    with Rehearsal(EXAMPLES / "sdlc" / flow, EXAMPLES / "sdlc-supervisor") as play:
        ticket = play.start("T-1", {"title": "CSV"})
        play.run()
        assert ticket.status == "completed", ticket.story()
    assert sys.path == before


def test_a_folder_of_another_version_of_the_workflow_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    shutil.copytree(EXAMPLES / "sdlc-supervisor", folder)
    with pytest.raises(RehearsalError, match="is for another version of the workflow 'changes'"):
        Rehearsal(reviews(), folder)
    (folder / "contract.py").unlink()
    with pytest.raises(SupervisorError, match=r"contract\.py: No such file"):
        Rehearsal(EXAMPLES / "sdlc" / "flow.py", folder)
    (folder / "contract.py").write_bytes(
        (EXAMPLES / "sdlc-supervisor" / "contract.py").read_bytes()
    )
    (folder / "broken.py").write_text("1 / 0")
    before = list(sys.path)
    with pytest.raises(SupervisorError, match="ZeroDivisionError"):
        Rehearsal(EXAMPLES / "sdlc" / "flow.py", folder)
    assert sys.path == before


def test_an_error_in_the_block_takes_the_histories_along() -> None:
    def fails() -> None:
        with Rehearsal(reviews()) as play:
            play.routine("security/reading", lambda ctx: 1 / 0)
            change = play.start("C-1")
            play.run()
            assert change.status == "completed"

    with pytest.raises(AssertionError) as raised:
        fails()
    notes = "\n".join(raised.value.__notes__)
    assert "C-1: reviews, active" in notes
    assert "task 1 failed: ZeroDivisionError: division by zero" in notes
    assert "the routine of 'security/reading' raised (task 1 of C-1.reviews.1.security" in notes
    assert 'play.routine("security/reading", lambda ctx: 1 / 0)' in notes, "the author's line"


def test_what_the_assertion_says_itself_is_not_said_twice() -> None:
    with pytest.raises(ValueError, match="C-1: reviews") as raised, Rehearsal(reviews()) as play:
        raise ValueError(play.start("C-1").story())
    assert not hasattr(raised.value, "__notes__")


def test_what_to_install_is_said_when_a_package_is_missing() -> None:
    require("stateous_cli")
    with pytest.raises(ModuleNotFoundError) as raised:
        require("stateous_cli", "stateous_nowhere", "stateous_neither")
    assert str(raised.value) == (
        "stateous_cli.testing needs stateous-nowhere and stateous-neither (the extra "
        "stateous-cli[dev]), which are not installed: build the wheels with `make wheels`, then "
        "run: pip install dist/stateous_nowhere-*.whl dist/stateous_neither-*.whl"
    )
