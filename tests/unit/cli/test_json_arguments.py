"""CONTEXT_JSON and PAYLOAD_JSON are strict JSON objects; the error names the argument."""

from __future__ import annotations

import pytest

from stateous_cli.arguments import json_object
from stateous_cli.failures import CommandError


def test_no_argument_is_no_object() -> None:
    assert json_object(None, "CONTEXT_JSON") is None


def test_an_object_is_read_to_the_last_digit() -> None:
    assert json_object('{"n": 123456789012345678901234567890}', "CONTEXT_JSON") == {
        "n": 123456789012345678901234567890
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "{bad",
            "PAYLOAD_JSON is not valid JSON: "
            "Expecting property name enclosed in double quotes at column 2",
        ),
        ("", "PAYLOAD_JSON is not valid JSON: Expecting value at column 1"),
        (
            '{"a": 1,\n "b" 2}',
            "PAYLOAD_JSON is not valid JSON: Expecting ':' delimiter at line 2, column 6",
        ),
        ('{"a": NaN}', "PAYLOAD_JSON is not valid JSON: NaN is no JSON value"),
        ('{"a": 1, "a": 2}', "PAYLOAD_JSON is not valid JSON: the key 'a' stands in it twice"),
        ('{"a": "\udc80"}', "PAYLOAD_JSON is not valid JSON: it is not UTF-8"),
        (
            "[1]",
            """PAYLOAD_JSON must be a JSON object such as '{"title": "May"}', not a list""",
        ),
        (
            "null",
            """PAYLOAD_JSON must be a JSON object such as '{"title": "May"}', not null""",
        ),
        (
            '{"a": ' + "[" * 80 + "]" * 80 + "}",
            "PAYLOAD_JSON cannot be used: the JSON nests more than 64 levels deep",
        ),
    ],
)
def test_anything_else_is_refused_by_name(text: str, sentence: str) -> None:
    with pytest.raises(CommandError) as caught:
        json_object(text, "PAYLOAD_JSON")
    assert str(caught.value) == sentence
