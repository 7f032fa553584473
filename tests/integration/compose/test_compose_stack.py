"""The compose stack under faults: nothing acknowledged is lost, nothing is done twice."""

from __future__ import annotations

import time

import pytest

from stateous_client import Client
from tests.integration.compose.load import Load
from tests.support.compose import Stack, docker, inspected, stopped
from tests.support.ledgers import audit, audit_family, claimers
from tests.support.processes import eventually

pytestmark = [pytest.mark.compose, pytest.mark.timeout(300)]

SERVICES = ["database", "controlplane", "supervisor-1"]


def test_it_comes_up_from_nothing_and_takes_a_ticket_to_its_end(stack: Stack) -> None:
    with stack.client() as client:
        client.start("UP-1", {"title": "Export to CSV", "bugs": 2})
        assert client.wait("UP-1", timeout=30)["state"] == "merging"
        audit_family(client, "UP-1")
    shown = stack.compose("run", "--rm", "--no-TTY", "cli", "token", "show", "UP-1")
    assert shown.startswith("UP-1: merging, completed\n")


def test_both_supervisors_work(stack: Stack) -> None:
    def took() -> bool:
        with stack.client() as client:
            token = f"BOTH-{time.monotonic_ns()}"
            client.start(token, {"title": "Who takes it?"})
            client.wait(token, timeout=30)
            seen.update(claimers(client.history(token)))
        return seen == {"supervisor-1", "supervisor-2"}

    seen: set[str] = set()
    eventually(took)


@pytest.mark.parametrize("service", ["controlplane", "supervisor-1", "supervisor-2"])
def test_a_service_has_no_more_rights_than_it_needs(stack: Stack, service: str) -> None:
    container = inspected(stack.container(service))
    assert container["Config"]["User"] == "10001:0"
    assert container["HostConfig"]["ReadonlyRootfs"]
    assert container["HostConfig"]["CapDrop"] == ["ALL"]
    shown = docker("exec", stack.container(service), "id")
    assert shown.startswith("uid=10001(stateous) gid=0(root)")


def test_no_secret_stands_in_the_environment(stack: Stack) -> None:
    for service in ("database", "controlplane"):
        shown = str(inspected(stack.container(service))["Config"]["Env"])
        assert "postgresql://" not in shown
        assert "POSTGRES_PASSWORD=" not in shown


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_killed_under_load(stack: Stack, service: str) -> None:
    with Load(stack, f"KILL-{service}") as load:
        stack.compose("kill", "--signal", "SIGKILL", service)
        time.sleep(1)
        stack.compose("start", service)
        load.until_acknowledged(6)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_suspended_under_load(stack: Stack, service: str) -> None:
    with Load(stack, f"PAUSE-{service}") as load:
        stack.compose("pause", service)
        # A supervisor for longer than its leases.
        time.sleep(6 if service == "supervisor-1" else 2)
        stack.compose("unpause", service)
        load.until_acknowledged(6)


def test_the_database_is_restarted_under_load(stack: Stack) -> None:
    with Load(stack, "RESTART", clients=8) as load:
        stack.compose("restart", "--timeout", "10", "database")
        load.until_acknowledged(16)


def test_a_supervisor_is_cut_off_for_longer_than_its_lease(stack: Stack) -> None:
    with Client(stack.url, timeout=10) as client:

        def claimed_by() -> str | None:
            return next(iter(claimers(client.history("CUT-1"))), None)

        client.start("CUT-1", {"title": "slow 7"})
        cut = eventually(claimed_by)
        stack.cut(cut, "edge")
        try:
            # The other one does it again, while the first is still at it.
            client.wait("CUT-1", timeout=40)
        finally:
            stack.heal(cut, "edge")
        history = client.history("CUT-1", limit=1000)
        audit(history)
        first, second = claimers(history)[:2]
        assert (first == cut, second == cut) == (True, False)

        def works_again() -> bool:
            token = f"CUT-{time.monotonic_ns()}"
            client.start(token, {"title": "Who takes it?"})
            client.wait(token, timeout=30)
            return cut in claimers(client.history(token))

        eventually(works_again, within=60)
        # What it had to report came too late, and changed nothing.
        assert client.history("CUT-1", limit=1000) == history


@pytest.mark.parametrize("service", ["supervisor-1", "controlplane"])
def test_a_service_stops_gracefully_under_load(stack: Stack, service: str) -> None:
    with Load(stack, f"STOP-{service}") as load:
        code, took = stopped(stack.container(service))
        stack.compose("start", service)
        load.until_acknowledged(6)
    assert code == 0
    assert took < 5
