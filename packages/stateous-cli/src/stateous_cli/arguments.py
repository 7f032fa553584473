"""JSON typed as an argument: strict, and worded for who typed it (`docs/spec/wire.md` 8)."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from stateous.errors import JsonError
from stateous.json import Json, read_json
from stateous_cli.failures import CommandError


def json_object(text: str | None, name: str) -> dict[str, Any] | None:
    """The JSON object that ``text`` holds, None when there is no text.

    Raises:
        CommandError: it is not strict JSON, or no object; the sentence names the argument.
    """
    if text is None:
        return None
    value = json_value(text, name)
    if not isinstance(value, dict):
        kind = _KINDS[type(value)]
        raise CommandError(
            f"""{name} must be a JSON object such as '{{"title": "May"}}', not {kind}"""
        )
    return value


def json_value(text: str, name: str) -> Json:
    """The JSON value that ``text`` holds.

    Raises:
        CommandError: it is not strict JSON; the sentence names the argument.
    """
    try:
        return read_json(text.encode())
    except UnicodeEncodeError:
        raise CommandError(f"{name} is not valid JSON: it is not UTF-8") from None
    except JsonError as error:
        raise CommandError(_worded(text, name, str(error))) from None


_KINDS: dict[type[Json], str] = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
}


def _worded(text: str, name: str, refusal: str) -> str:
    # The strict reader decides; Python's own decoder has the better words for a slip of the pen.
    try:
        json.loads(text, parse_constant=_not_json, object_pairs_hook=_without_doubles)
    except json.JSONDecodeError as error:
        line = "" if error.lineno == 1 else f"line {error.lineno}, "
        return f"{name} is not valid JSON: {error.msg} at {line}column {error.colno}"
    except (ValueError, RecursionError) as error:
        return f"{name} is not valid JSON: {error}"
    return f"{name} cannot be used: {refusal}"


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands in it twice")
    return found
