"""What the witness raises."""

from __future__ import annotations


class Violation(BaseException):
    """A promise is broken. No `except Exception` of the product may catch it."""
