import json

import pytest

from stateous_supervisor import job_outcome


def nested(levels):
    value = None
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "output"),
    [
        (None, None),
        (5, 5),
        ({"a": (1, 2.5)}, {"a": [1, 2.5]}),
        ({1: True}, {"1": True}),
        (nested(63), nested(63)),
        ("x" * 1_048_574, "x" * 1_048_574),
    ],
)
def test_what_a_routine_returns_is_the_output(value, output):
    outcome = job_outcome.returned(value, 2)
    assert outcome == {"kind": "done", "output": output, "attempt": 2}
    json.dumps(outcome)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (object(), "the output is not JSON"),
        (float("inf"), "the output is not JSON"),
        ("\ud800", "the output is not JSON"),
        (nested(64), "the output cannot be sent: the JSON nests more than 64 levels deep"),
        ("x" * 1_048_575, "the output has 1048577 bytes as JSON, more than 1048576"),
        ("é" * 600_000, "the output has 1200002 bytes as JSON, more than 1048576"),
    ],
)
def test_an_output_that_cannot_be_sent_fails(value, error):
    outcome = job_outcome.returned(value, 2)
    assert outcome["kind"] == "failed"
    assert error in outcome["error"]


def test_how_attempts_fail():
    assert job_outcome.raised(ValueError("no"), 1) == {
        "kind": "failed",
        "error": "ValueError: no",
        "status": "failed",
        "attempt": 1,
    }
    assert job_outcome.failed("no\x00", 1, "denied") == {
        "kind": "failed",
        "error": "no\\x00",
        "status": "denied",
        "attempt": 1,
    }
    assert job_outcome.timed_out(300, 3) == {
        "kind": "failed",
        "error": "it ran for longer than its timeout of 300 s",
        "status": "timeout",
        "attempt": 3,
    }
