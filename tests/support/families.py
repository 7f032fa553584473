"""A workflow with parallel and nested work, for the tests of families."""

from __future__ import annotations

from typing import Any

from stateous.graph.machine import Machine
from tests.support.graphs import flow, machine

SCHEMAS = {
    "Change": {
        "type": "object",
        "properties": {
            "repo": {"type": "string"},
            "secret": {"type": "string", "default": "s"},
            "reviews": {"type": ["object", "null"]},
        },
    },
    "Review": {
        "type": "object",
        "properties": {
            "repo": {"type": "string"},
            "level": {"type": "integer", "default": 1},
            "score": {"type": ["object", "null"], "default": None},
        },
        "required": ["repo"],
    },
    "Score": {
        "type": "object",
        "properties": {"points": {"type": "integer"}},
        "required": ["points"],
    },
}

REVIEW = flow(
    """
    START -> look
    look -> verdict on seen
    look -> END on skip
    verdict -> END on approved
    """,
    context="Review",
    states={"look": {"retries": 1}},
    events={"seen": {"payload": "Score", "into": "score"}, "approved": {}},
)

DEEP = flow(
    """
    START -> both
    both -> END on joined
    both -> END on hurry
    """,
    context="Review",
    states={
        "both": {"parallel": ["security", "design"], "join": "all", "inputs": ["repo"]},
    },
)


def reviews(join: str = "all", more: str = "", **state: Any) -> Machine:
    """coding -> reviews (two children) -> merging; a transition on ``joined`` or ``more`` ones."""
    return machine(
        f"""
        START -> coding
        coding -> reviews on done
        {more or "reviews -> merging on joined"}
        reviews -> coding on hurry
        merging -> END on merged
        """,
        context="Change",
        states={
            "reviews": {
                "parallel": ["security", "design"],
                "join": join,
                "inputs": ["repo", "nothing"],
                "emits": [],
                **state,
            }
        },
        schemas=SCHEMAS,
        workflows={"security": REVIEW, "design": REVIEW},
    )


def nested(join: str = "all") -> Machine:
    """A parallel state whose one child has a parallel state first; the other is a review."""
    return machine(
        """
        START -> work
        work -> outer on done
        outer -> END on joined
        outer -> work on hurry
        """,
        context="Change",
        states={
            "outer": {"parallel": ["deep", "design"], "join": join, "inputs": ["repo"], "emits": []}
        },
        schemas=SCHEMAS,
        workflows={"deep": DEEP, "security": REVIEW, "design": REVIEW},
    )


def child(workflow: str, visit: int = 1, state: str = "reviews", parent: str = "T-1") -> str:
    """The id of a child."""
    return f"{parent}.{state}.{visit}.{workflow}"


SECURITY, DESIGN = child("security"), child("design")
