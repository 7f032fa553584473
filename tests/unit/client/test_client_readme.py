"""The example of the package's README runs as it is printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

import stateous_client
from stateous_client import Client

README = Path(__file__).parents[3] / "packages/stateous-client/README.md"
ENDED = {
    "token": "TICKET-1",
    "state": "coding",
    "status": "completed",
    "visit": 1,
    "context": {},
    "entered_at": "2027-03-01T14:51:53Z",
}


def control_plane(request: httpx.Request) -> httpx.Response:
    if request.url.path.endswith("/events/approved"):
        refused = {"error": "'approved' is not possible here", "code": "event_not_allowed"}
        return httpx.Response(409, json=refused)
    if request.url.path.endswith("/history"):
        last = [{"seq": 1, "at": "2027-03-01T14:51:53Z", "kind": "completed", "data": {}}]
        return httpx.Response(200, json=[] if "after" in request.url.params else last)
    return httpx.Response(
        200, json=[ENDED] if request.url.path == "/tokens" and request.method == "GET" else ENDED
    )


def test_the_example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def client(url: str) -> Client:
        return Client.through(httpx.MockTransport(control_plane), url)

    found = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    monkeypatch.setattr(stateous_client, "Client", client)
    names: dict[str, Any] = {}
    exec(compile(found[1], str(README), "exec"), names)
    assert capsys.readouterr().out.splitlines() == [
        "coding completed",
        "event_not_allowed 'approved' is not possible here",
        "1 completed {}",
        "completed",
        json.dumps(["TICKET-1"]).replace('"', "'"),
    ]
