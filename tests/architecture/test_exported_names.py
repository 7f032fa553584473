"""The names that each package promises at its door; a change of them is a change for users."""

from __future__ import annotations

from importlib import import_module

import pytest

EXPORTED: dict[str, set[str]] = {
    "stateous": {
        *("Workflow", "START", "END", "Branches"),
        *("on_state", "on_job", "Context", "Occurrence", "OutcomeError", "StateRef"),
        "Client",
    },
    "stateous.client": {"Client", "AsyncClient"},
    "stateous.workflow": {
        *("Workflow", "START", "END", "State", "Event", "Transition", "Terminal", "Place"),
        *("Branch", "Branches"),
    },
    "stateous_client": {
        *("Client", "AsyncClient"),
        # errors
        *("ClientError", "InvalidArgument", "Unreachable", "BadAnswer", "Refused"),
        *("NotFound", "TokenNotFound", "TaskNotFound", "GraphNotFound", "RunNotFound"),
        *("Invalid", "Conflict", "NoWorkflow", "EventNotAllowed", "TokenNotActive"),
        *("ChildToken", "TaskNotHeld", "AttemptOver"),
        *("NotStarter", "RunNotActive", "RunExists", "KeyTaken", "TicketRefused"),
        "AnswerNotTaken",
        *("Unavailable", "DatabaseBusy", "NotServing"),
        # values
        *("Token", "Duplicate", "Entry", "Grant", "EnteredBy", "Task", "Health"),
        *("TokenStatus", "TaskStatus", "Until"),
        # values of runs
        *("Run", "RunStatus", "RunError", "RunTimer", "Visit", "Job", "KeptEvent"),
        *("OpenTicket", "TicketValue", "Sent", "SendResult", "Graph", "GraphName"),
    },
    # Their doors are commands, and the modules that their docstrings name.
    "stateous_compiler": set(),
    "stateous_controlplane": set(),
    "stateous_supervisor": set(),
    "stateous_cli": set(),
}


@pytest.mark.parametrize("package", EXPORTED)
def test_the_door_of_a_package(package: str) -> None:
    module = import_module(package)
    exported = set(getattr(module, "__all__", ()))
    assert exported == EXPORTED[package]
    for name in exported:
        assert getattr(module, name) is not None
