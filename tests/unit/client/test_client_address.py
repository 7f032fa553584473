"""URLs of control planes: which are taken, and what of them is shown."""

from __future__ import annotations

import pytest

from stateous_client import InvalidArgument
from stateous_client.protocol.address import Address


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080///", "http://127.0.0.1:8080"),
        ("HTTPS://Flows.Example.com/", "https://Flows.Example.com"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("http://control_plane-1:80", "http://control_plane-1:80"),
        ("http://localhost", "http://localhost"),
        ("http://localhost:65535", "http://localhost:65535"),
        ("https://example.com/flows/prod/", "https://example.com/flows/prod"),
        ("http://u:p%40ss@example.com/x", "http://u:p%40ss@example.com/x"),
    ],
)
def test_an_address_that_is_taken(url: str, base: str) -> None:
    assert Address.parse(url).base == base


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8080",
        "localhost",
        "ftp://localhost",
        "file:///tmp/x",
        "http:localhost",
        "http://",
        "http://:8080",
        "http:///path",
        "http://a..b",
        "http://.a",
        "http://exa mple.com",
        " http://localhost",
        "http://localhost\n",
        "http://local\thost",
        "http://bücher.example",
        "http://a*b",
        "http://1.2.3.999",
        "http://[::1",
        "http://[zz::1]",
        "http://[127.0.0.1]",
        "http://" + "a" * 64,
        "http://localhost:0",
        "http://localhost:65536",
        "http://localhost:-1",
        "http://localhost:http",
        "http://localhost/?a=1",
        "http://localhost/#there",
        None,
        b"http://localhost",
    ],
)
def test_an_address_that_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        Address.parse(url)


@pytest.mark.parametrize(
    ("given", "url", "masked"),
    [
        ("http://h:1/", "http://h:1", "http://h:1"),
        ("http://ann:secret@h:1/x/", "http://ann@h:1/x", "http://ann:***@h:1/x"),
        ("http://:secret@h", "http://h", "http://:***@h"),
        ("http://ann@h", "http://ann@h", "http://ann@h"),
        ("http://ann:sec@ret@h", "http://ann@h", "http://ann:***@h"),
    ],
)
def test_a_password_is_not_shown(given: str, url: str, masked: str) -> None:
    address = Address.parse(given)
    assert (address.url, address.masked) == (url, masked)
    assert "sec" not in repr(address)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://ann:secret@h",
        "ann:secret@h",
        "http://ann:se/secret@h",
        "http://ann:secret@h:99999",
        "http://ann:secret@h/ x",
        "http://ann:secret@h?x",
    ],
)
def test_a_refused_address_does_not_show_its_password(url: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        Address.parse(url)
    assert "secret" not in str(refused.value)
    assert "***@" in str(refused.value)
