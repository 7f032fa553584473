"""A chart in containers: its script runs in one of its own, and its ticket is answered from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.compose import Stack

pytestmark = [pytest.mark.compose, pytest.mark.timeout(300)]

DOCUMENT = Path(__file__).parents[3] / "examples" / "review" / "build" / "review.json"


def test_a_chart_with_a_script_runs_in_containers(stack: Stack) -> None:
    stack.compose("--profile", "scripts", "up", "--detach", "--no-recreate", "scripts")
    starter = "compose-starter-0123456789-0123456789"
    with stack.client() as client:
        document = json.loads(DOCUMENT.read_bytes())
        run = client.submit(document, {"document": "the plan"}, id="COMPOSE-1", starter=starter)
        (ticket,) = client.tickets(run["id"], starter=starter, wait=60)
        # The control plane dies with the run under way, and its successor knows the same ticket.
        stack.compose("kill", "--signal", "SIGKILL", "controlplane")
        stack.compose("up", "--detach", "--wait", "--no-recreate", "controlplane")
        assert client.reply(ticket["value"], {"ok": True}, run=run["id"]) == {"result": "taken"}
        ended = client.wait_run(run["id"], timeout=30)
    assert (ended["status"], ended["output"]) == ("completed", "A draft of the plan")
    stack.compose("--profile", "scripts", "rm", "--force", "--stop", "scripts")
