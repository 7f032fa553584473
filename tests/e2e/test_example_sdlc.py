"""The example `sdlc`, served with its supervisor: both reviews, their join, and what it keeps."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stateous_client import Client
from tests.support.databases import ServedDatabase
from tests.support.processes import control_plane, eventually

pytestmark = pytest.mark.e2e

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def client(
    module_database: ServedDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("sdlc")
    for name in ("sdlc", "sdlc-supervisor"):
        left_out = shutil.ignore_patterns(".stateous", "__pycache__")
        shutil.copytree(EXAMPLES / name, folder / name, ignore=left_out)
    graph = folder / "sdlc" / "build" / "sdlc.json"
    beside = ("--supervise", str(folder / "sdlc-supervisor"))
    with control_plane(graph, module_database.url, *beside, cwd=folder) as (process, client):
        yield client
        assert process.stop() == 0


def ended(client: Client, token: str, context: dict[str, Any]) -> dict[str, Any]:
    client.start(token, context)
    found = client.wait(token, timeout=60)
    assert found["status"] == "completed"
    return dict(found)


def path_of(client: Client, token: str) -> list[str]:
    entries = client.history(token)
    return [entry["data"]["state"] for entry in entries if entry["kind"] == "entered"]


def test_both_reviews_approve_and_the_change_is_merged(client: Client) -> None:
    ticket = ended(client, "GOOD-1", {"title": "a change that nobody objects to"})
    assert path_of(client, "GOOD-1") == ["coding", "testing", "reviews", "merging"]
    branches = ticket["context"]["reviews"]["branches"]
    assert [branch["workflow"] for branch in branches] == ["security-review", "design-review"]
    assert {(branch["status"], branch["final"]) for branch in branches} == {
        ("completed", "approved")
    }
    for branch in branches:
        # What went down with `inputs` is what the ticket had when it was sent to its reviews.
        assert branch["context"]["change"] == ticket["context"]["change"]
        child = client.get(branch["token"])
        assert child["parent"] == "GOOD-1"
        assert child["context"] == branch["context"]
    children = client.tokens(parent="GOOD-1")
    assert {child["token"] for child in children} == {branch["token"] for branch in branches}


def test_one_objection_sends_the_ticket_back(client: Client) -> None:
    ticket = ended(client, "LEAKY-1", {"title": "a change with a secret", "leaks": True})
    assert path_of(client, "LEAKY-1") == [
        *("coding", "testing", "reviews"),
        *("coding", "testing", "reviews", "merging"),
    ]
    first = client.get("LEAKY-1.reviews.1.security-review")
    assert (first["state"], first["status"]) == ("scan", "completed")
    assert first["context"]["objection"] == {
        "reason": "secrets in the change",
        "files": ["deploy/keys.env"],
    }
    # The review that had nothing to object to was asked again: a new visit has new children.
    for visit in (1, 2):
        assert client.get(f"LEAKY-1.reviews.{visit}.design-review")["state"] == "approved"
    assert ticket["context"]["change"]["files"] == ["src/leaky-1.py", "tests/leaky-1.py"]
    notes = [
        entry["data"]["text"] for entry in client.history("LEAKY-1") if entry["kind"] == "note"
    ]
    assert "mended what security-review says: secrets in the change" in notes


def test_the_retry_loop_ends_before_any_review(client: Client) -> None:
    ticket = ended(client, "BAD-1", {"title": "a change that is never done", "bugs": 9})
    assert path_of(client, "BAD-1") == ["coding", "testing"] * 3
    assert ticket["context"]["reviews"] is None
    assert client.tokens(parent="BAD-1") == []


def test_a_pause_of_the_ticket_holds_its_reviews(client: Client) -> None:
    client.start("HELD-1", {"title": "a change whose reviews wait"})
    client.pause("HELD-1")
    assert client.get("HELD-1")["status"] == "paused"
    assert {child["status"] for child in client.tokens(parent="HELD-1")} <= {"paused", "completed"}
    client.resume("HELD-1")
    eventually(lambda: client.get("HELD-1")["status"] == "completed" or None)
