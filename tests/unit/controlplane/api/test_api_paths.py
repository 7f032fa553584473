"""Which route a path belongs to, and what the access log may show of it."""

from __future__ import annotations

import pytest

from stateous_controlplane.api.paths import PathTable, Place, decode_path, loggable_path

TEMPLATES = (
    "/tokens",
    "/tokens/{token}",
    "/tokens/{token}/history",
    "/tokens/{token}/events/{event}",
    "/tasks/claim",
    "/tasks/{task}/report",
)
TABLE = PathTable(Place(template, 0, {"GET": template}) for template in TEMPLATES)


@pytest.mark.parametrize(
    ("raw", "template", "parameters"),
    [
        (b"/tokens", "/tokens", {}),
        (b"/%74okens", "/tokens", {}),
        (b"/tokens/T-1", "/tokens/{token}", {"token": "T-1"}),
        (b"/tokens/%2E%2E", "/tokens/{token}", {"token": ".."}),
        (b"/tokens/..", "/tokens/{token}", {"token": ".."}),
        (b"/tokens/a%20b/history", "/tokens/{token}/history", {"token": "a b"}),
        (b"/tokens/%C3%A9", "/tokens/{token}", {"token": "é"}),
        ("/tokens/é".encode(), "/tokens/{token}", {"token": "é"}),
        (b"/tokens/%zz", "/tokens/{token}", {"token": "%zz"}),
        (b"/tokens/a%0Ab", "/tokens/{token}", {"token": "a\nb"}),
        (b"/tokens/a+b", "/tokens/{token}", {"token": "a+b"}),
        (b"/tokens/a%3Fb%23c", "/tokens/{token}", {"token": "a?b#c"}),
        (
            b"/tokens/T/events/x%0A",
            "/tokens/{token}/events/{event}",
            {"token": "T", "event": "x\n"},
        ),
        (b"/tasks/claim", "/tasks/claim", {}),
        (b"/tasks/007/report", "/tasks/{task}/report", {"task": "007"}),
        (b"/tasks/%31/report", "/tasks/{task}/report", {"task": "1"}),
        (b"/tasks/" + b"9" * 5000 + b"/report", "/tasks/{task}/report", {"task": "9" * 5000}),
    ],
)
def test_a_path_is_matched_after_decoding(
    raw: bytes, template: str, parameters: dict[str, str]
) -> None:
    path = decode_path(raw)
    assert path is not None
    found = TABLE.find(path)
    assert found is not None
    assert (found.place.template, found.parameters) == (template, parameters)


@pytest.mark.parametrize(
    "raw",
    [
        b"/",
        b"",
        b"*",
        b"/Tokens",
        b"/tokens/",
        b"//tokens",
        b"/tokens//history",
        b"/tokens/T-1/",
        b"/tokens/T-1/history/",
        b"/tokens/a/b",
        b"/tokens/a%2Fb",
        b"/tokens/a%2fb",
        b"/tokens%2FT-1",
        b"/tokens/T-1%2Fhistory",
        b"/tokens/%00",
        b"/tokens/%FF",
        b"/tokens/\xff",
        b"/tokens/%ED%A0%80",
        b"/tokens/%C0%AF",
        b"/tokens\n",
        b"/tasks/claim/report",
        b"/tasks/-1/report",
        b"/tasks/1.0/report",
        b"/tasks/+1/report",
        b"/tasks/abc/report",
        b"/tasks/1%20/report",
        b"/tasks/1%0A/report",
        "/tasks/٣/report".encode(),
    ],
)
def test_a_path_that_belongs_to_no_route(raw: bytes) -> None:
    path = decode_path(raw)
    assert path is None or TABLE.find(path) is None


@pytest.mark.parametrize(
    ("raw", "logged"),
    [
        (b"/tokens/T-1", "/tokens/T-1"),
        (b"/tokens/a%20b", "/tokens/a%20b"),
        (b"/tickets/s3cret", "/tickets/***"),
        (b"/%74ickets/s3cret", "/tickets/***"),
        (b"/tickets%2Fs3cret", "/tickets/***"),
        (b"/tickets/s3cret/%ff", "/tickets/***"),
        (b"/tickets", "/tickets"),
        (b"/tokens/\xff", "/tokens/\\xff"),
    ],
)
def test_the_access_log_shows_no_ticket(raw: bytes, logged: str) -> None:
    assert loggable_path(raw) == logged


def test_the_methods_of_a_path_are_named_in_order() -> None:
    assert Place("/x", 0, {"POST": 1, "GET": 1, "HEAD": 1}).allowed == "GET, HEAD, POST"
