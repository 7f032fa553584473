"""What the runner reads from a script's process, which it does not trust."""

import pytest

from stateous_supervisor.scripts import frames
from stateous_supervisor.scripts.answers import (
    BadAnswer,
    Done,
    Emitted,
    Failed,
    error_text,
    read_answer,
)


def nested(levels):
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize(
    ("kind", "payload", "answer"),
    [
        (frames.EMITTED, b'["row",{"n":1}]', Emitted("row", {"n": 1})),
        (frames.EMITTED, b'["beat",null]', Emitted("beat", None)),
        (frames.EMITTED, b'["deep",' + nested(61) + b"]", Emitted("deep", ...)),
        (frames.DONE, b"null", Done(None)),
        (frames.DONE, b'{"a":[1.0,123456789012345678901234567890]}', Done({"a": [1.0, 123456789012345678901234567890]})),
        (frames.FAILED, b'{"status":"failed","line":3,"message":"no"}', Failed("failed", 3, "no")),
        (frames.FAILED, b'{"status":"denied","line":null,"message":"no"}', Failed("denied", None, "no")),
        (frames.FAILED, b'{"status":"lost","line":true,"message":"no"}', Failed("failed", None, "no")),
    ],
)  # fmt: skip
def test_answers(kind, payload, answer):
    got = read_answer(kind, payload)

    if isinstance(answer, Emitted) and answer.data is ...:
        assert isinstance(got, Emitted)
        return
    assert got == answer


@pytest.mark.parametrize(
    ("kind", "payload", "why"),
    [
        (b"?", b"null", "what nobody understands"),
        (frames.JOB, b"{}", "what nobody understands"),
        (frames.EMITTED, b"[]", "what nobody understands"),
        (frames.EMITTED, b'[1,"x"]', "what nobody understands"),
        (frames.EMITTED, b'{"event":"x"}', "what nobody understands"),
        (frames.EMITTED, b'["x",NaN]', "an emitted value cannot be sent"),
        (frames.EMITTED, b'["x",' + nested(62) + b"]", "nests more than"),
        (frames.EMITTED, b'["x","\\u0000"]', "U\\+0000"),
        (frames.DONE, b'"\\ud800"', "the output cannot be sent"),
        (frames.DONE, b"", "the output cannot be sent"),
        (frames.DONE, b'{"a":1,"a":2}', "the output cannot be sent"),
        (frames.DONE, nested(64), "nests more than 63"),
        (frames.FAILED, b"[]", "what nobody understands"),
        (frames.FAILED, b'{"message":5}', "what nobody understands"),
        (frames.FAILED, b"\xff", "the failure cannot be sent"),
    ],
)
def test_what_is_no_answer(kind, payload, why):
    with pytest.raises(BadAnswer, match=why):
        read_answer(kind, payload)


@pytest.mark.parametrize(
    ("line", "message", "text"),
    [
        (3, "cannot do break", "scripts/boom.js:3: cannot do break"),
        (None, "no", "scripts/boom.js:1: no"),
        (1, "two\nlines", "scripts/boom.js:1: two\nlines"),
    ],
)
def test_the_error_of_a_script(line, message, text):
    assert error_text("scripts/boom.js", line, message) == text


def test_the_error_of_a_script_has_two_thousand_characters_at_most():
    text = error_text("boom.js", 1, "x" * 5000)

    assert len(text) == 2000
    assert text.startswith("boom.js:1: xxx")
    assert len(error_text("boom.js", 1, "x" * 1989)) == 2000
    assert error_text("boom.js", 1, "x" * 1989).endswith("x")
