"""Tickets: their values, what stands for a value in the open, and masks (`docs/spec/statechart.md` 8.1).

A value is derived with the service's ticket key, so that none is stored: whoever has the key makes
it again, nobody else can tell it from random. Look-ups go by the digest; people see the id.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Final

_VALUE: Final = re.compile(r"tk_[A-Za-z0-9_-]{43}")


def ticket_value(key: bytes, run: str, state: str, visit: int, ticket: str) -> str:
    """The value of one issue of a ticket: ``tk_`` and 43 characters."""
    told = f"ticket\n{run}\n{state}\n{visit}\n{ticket}".encode()
    code = hmac.digest(key, told, "sha256")
    return "tk_" + urlsafe_b64encode(code).rstrip(b"=").decode()


def digest(value: str) -> str:
    """What a value is looked up by: the SHA-256 in hex."""
    return sha256(value.encode()).hexdigest()


def ticket_id(value: str) -> str:
    """The public id of a value."""
    return id_of_digest(digest(value))


def id_of_digest(of_value: str) -> str:
    """The public id of the value with that :func:`digest`."""
    return f"tid_{of_value[:16]}"


def mask(text: str) -> str:
    """``text`` with the id in place of every value, also in the middle of a word."""
    return _VALUE.sub(lambda found: ticket_id(found[0]), text)


def cut(text: str, most: int) -> str:
    """``text`` in at most ``most`` characters; an ellipsis stands for what is left out.

    A value is kept whole or left out whole: a part of it would pass every :func:`mask`.
    """
    if len(text) <= most:
        return text
    end = most - 1
    # From the front, as a mask does: the characters of one value may look like the head of another.
    for found in _VALUE.finditer(text):
        if found.start() < end < found.end():
            end = found.start()
    return text[:end] + "…"
