"""What `stateous` exports, and what importing it costs (`docs/spec/authoring.md` 2.1)."""

from __future__ import annotations

import subprocess
import sys

import pytest

import stateous
import stateous.client


def test_the_exported_names() -> None:
    assert sorted(stateous.__all__) == [
        "Branches", "Client", "Context", "END", "Occurrence", "OutcomeError", "START", "StateRef",
        "Workflow", "on_job", "on_state",
    ]  # fmt: skip
    for name in set(stateous.__all__) - {"Client"}:
        assert getattr(stateous, name) is not None
    with pytest.raises(AttributeError, match="nosuch"):
        _ = stateous.nosuch
    with pytest.raises(AttributeError, match="nosuch"):
        _ = stateous.client.nosuch


@pytest.mark.parametrize("module", ["stateous", "stateous.client"])
def test_a_missing_client_says_what_to_install(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stateous_client", None)
    monkeypatch.delitem(stateous.__dict__, "Client", raising=False)
    with pytest.raises(
        ImportError, match=r"make wheels`, then run: pip install dist/stateous_client-"
    ):
        _ = sys.modules[module].Client


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import stateous, stateous.client", ("pydantic", "httpx", "jiter", "stateous_client")),
        ("import stateous.guards", ("pydantic", "httpx")),
        ("from stateous import Workflow, Branches", ("httpx", "stateous_client", "stateous.routine")),
        ("from stateous import Context, Occurrence, StateRef, on_state", ("httpx", "stateous.workflow")),
    ],
)  # fmt: skip
def test_an_import_loads_no_more_than_it_needs(statement: str, absent: tuple[str, ...]) -> None:
    script = f"{statement}\nimport sys\nprint([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
