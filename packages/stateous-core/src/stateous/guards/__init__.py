"""The guard language: parse, look at what is read, evaluate (`docs/spec/authoring.md` 3)."""

from stateous.guards.evaluate import Scope
from stateous.guards.guard import Guard
from stateous.guards.parse import parse_guard

__all__ = ["Guard", "Scope", "parse_guard"]
