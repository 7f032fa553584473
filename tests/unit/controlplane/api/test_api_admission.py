"""Who may come in: Host and the browser rules (`docs/spec/wire.md` 1.2)."""

from __future__ import annotations

import pytest

from stateous_controlplane.api.admission import Admission

LOOPBACK = Admission(loopback=True, allow_hosts=frozenset({"Box.example"}))
OPEN = Admission(loopback=False)


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        (b"localhost", True),
        (b"localhost:1", True),
        (b"LOCALHOST:8080", True),
        (b"127.0.0.1:8080", True),
        (b"[::1]", True),
        (b"[::1]:8080", True),
        (b"127.0.0.1:", True),
        (b"box.example:80", True),
        (b"evil.example:8080", False),
        (b"localhost.evil.example", False),
        (b"127.0.0.1.evil.example", False),
        (b"localhost:80:80", False),
        (b"localhost:x", False),
        (b"localhost@evil.example", False),
        (b"::1", False),
        (b"", False),
        (b"localhost\xff", False),
    ],
)
def test_a_control_plane_on_loopback_answers_to_its_own_names(host: bytes, allowed: bool) -> None:
    for method in ("GET", "OPTIONS", "POST"):
        refusal = LOOPBACK.refuse(method, {b"host": host})
        assert (refusal is None) is allowed
        if refusal is not None:
            assert (refusal.status, refusal.code) == (421, "wrong_host")
    assert OPEN.refuse("GET", {b"host": host}) is None


def test_http_1_0_has_no_host() -> None:
    assert LOOPBACK.refuse("POST", {}) is None


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        (b"http://127.0.0.1:8080", b"127.0.0.1:8080", True),
        (b"http://LOCALHOST:8080", b"localhost:8080", True),
        (b"http://localhost", b"localhost", True),
        (b"http://localhost", b"localhost:80", True),
        (b"http://localhost:80", b"localhost", True),
        (b"https://box.example", b"box.example", True),
        (b"https://box.example:443", b"box.example", True),
        (b"https://box.example", b"box.example:443", True),
        (b"http://[::1]:8080", b"[::1]:8080", True),
        (b"https://box.example", b"box.example:80", False),
        (b"http://127.0.0.1:1", b"127.0.0.1:8080", False),
        (b"http://localhost:8080", b"127.0.0.1:8080", False),
        (b"http://evil.example", b"127.0.0.1:8080", False),
        (b"http://127.0.0.1:8080/", b"127.0.0.1:8080", False),
        (b"ftp://127.0.0.1:8080", b"127.0.0.1:8080", False),
        (b"127.0.0.1:8080", b"127.0.0.1:8080", False),
        (b"http://127.0.0.1:8080@evil.example", b"127.0.0.1:8080", False),
        (b"null", b"127.0.0.1:8080", False),
        (b"", b"127.0.0.1:8080", False),
        (b"http://\xff", b"127.0.0.1:8080", False),
    ],
)
def test_a_page_may_only_change_where_it_comes_from(
    origin: bytes, host: bytes, allowed: bool
) -> None:
    headers = {b"host": host, b"origin": origin}
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        refusal = OPEN.refuse(method, headers)
        assert (refusal is None) is allowed
        if refusal is not None:
            assert (refusal.status, refusal.code) == (403, "cross_site")
    for method in ("GET", "HEAD", "OPTIONS"):
        assert OPEN.refuse(method, headers) is None


@pytest.mark.parametrize(
    ("site", "allowed"),
    [(b"cross-site", False), (b"same-site", True), (b"same-origin", True), (b"none", True)],
)
def test_what_the_browser_says_of_the_site(site: bytes, allowed: bool) -> None:
    headers = {b"host": b"localhost", b"sec-fetch-site": site}
    assert (LOOPBACK.refuse("POST", headers) is None) is allowed
    assert LOOPBACK.refuse("GET", headers) is None


def test_the_host_is_looked_at_before_the_browser() -> None:
    refusal = LOOPBACK.refuse("POST", {b"host": b"evil.example", b"origin": b"null"})
    assert refusal is not None
    assert refusal.code == "wrong_host"


def test_a_refusal_never_repeats_a_long_value() -> None:
    refusal = LOOPBACK.refuse("GET", {b"host": b"x" * 10_000})
    assert refusal is not None
    assert len(refusal.sentence) < 300
