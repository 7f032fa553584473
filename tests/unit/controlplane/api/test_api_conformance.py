"""The conformance set, as far as the API alone decides (`tests/conformance/data/README.md`).

What the engine would decide ends at a desk of paper: such a request must only get that far.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[3] / "conformance" / "data" / "wire"
#: Codes that no engine is needed for; the others may come from it as well.
OURS = {
    "bad_request",
    "unsupported_media_type",
    "cross_site",
    "wrong_host",
    "not_found",
    "method_not_allowed",
    "invalid_argument",
    "invalid_body",
}
SHARED = {"invalid_token_id", "invalid_context", "invalid_payload", "task_not_found"}
#: A request that got as far as the paper.
PASSED = {200, 204}


def cases() -> list[Any]:
    return [
        pytest.param(step, id=f"{path.stem}-{number}")
        for path in sorted(DATA.glob("*.json"))
        for number, step in enumerate(json.loads(path.read_text())["steps"])
        # A saved value would be another answer's.
        if "path" in step and "${" not in step["path"]
    ]


def body_of(step: dict[str, Any]) -> bytes:
    if "body" in step:
        return json.dumps(step["body"]).encode()
    if "raw_b64" in step:
        return base64.b64decode(step["raw_b64"])
    if "raw_repeat" in step:
        parts = {"prefix": "", "suffix": "", **step["raw_repeat"]}
        return (parts["prefix"] + parts["unit"] * parts["count"] + parts["suffix"]).encode()
    return str(step.get("raw", "")).encode()


async def in_chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 65_536):
        yield body[start : start + 65_536]


@pytest.mark.parametrize("step", cases())
async def test_what_the_api_decides(client: Any, step: dict[str, Any]) -> None:
    path = step["path"]
    content: Any = body_of(step)
    headers = {"Content-Type": "application/json"} if content else {}
    for name, value in step.get("headers", {}).items():
        headers[name] = value.replace("${port}", "8080")
    if step.get("chunked"):
        content = in_chunks(content)
    if path.partition("?")[0] in ("/tokens", "/tasks") and "cursor" in path:
        content = b""
    response = await client.request(step["method"], path, headers=headers, content=content)

    expected = step.get("response")
    code = expected.get("code") if isinstance(expected, dict) else None
    if code in OURS or (code in SHARED and response.status_code not in PASSED):
        assert (response.status_code, response.json()["code"]) == (step["status"], code)
    elif response.status_code == 404:
        assert response.json()["code"] == "token_not_found"
    else:
        assert response.status_code in PASSED
    for name, pattern in step.get("response_headers", {}).items():
        if code in OURS and pattern is not None:
            assert name in response.headers
