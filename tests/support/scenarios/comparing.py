"""What a scenario expects of a run, compared with what is seen of it (pure).

`docs/spec/statechart.md` says what must come; the README of the conformance set says what each field
of `expect` compares. An unknown field is a difference: a misspelt one must not pass.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tests.support.scenarios.virtual_time import whole_seconds

_OPEN_JOBS: Final = frozenset({"queued", "claimed", "running"})
_MARKS: Final = {"entered": "+", "left": "-"}


@dataclass(frozen=True)
class Seen:
    """A run as the API shows it: in full, its history, its sends with what became of them."""

    run: Mapping[str, Any]
    history: list[Any]
    sends: list[Any]


def differences(expected: Mapping[str, Any], seen: Seen) -> list[str]:
    """Each field of ``expected`` that the run does not meet, in words."""
    return [words for field, value in expected.items() for words in _compared(field, value, seen)]


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same. 1 and 1.0 are one number, and `true` is none."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _compared(field: str, expected: Any, seen: Seen) -> Iterator[str]:
    if field == "outputs":
        outputs = seen.run["outputs"]
        yield from _unless(field, expected, {state: outputs.get(state) for state in expected})
    elif field == "error":
        yield from _error(expected, seen.run["error"])
    elif field == "history":
        yield from _history(expected, seen.history)
    elif field == "sends":
        yield from _unless(
            field, [_plain(each) for each in expected], list(map(_plain, seen.sends))
        )
    elif field == "timers":
        due = {timer: _instant(at) for timer, at in expected.items()}
        yield from _unless(field, due, _timers(seen))
    elif field in _FIELDS:
        yield from _unless(field, expected, _FIELDS[field](seen))
    else:
        yield f"'{field}' is nothing that can be expected"


def _unless(field: str, expected: Any, found: Any) -> Iterator[str]:
    if not same(expected, found):
        yield f"{field}: expected {expected!r}, found {found!r}"


_FIELDS: Final[Mapping[str, Callable[[Seen], Any]]] = {
    "status": lambda seen: seen.run["status"],
    "state": lambda seen: [each["state"] for each in seen.run["configuration"]],
    "visited": lambda seen: [
        f"{_MARKS[entry['kind']]}{entry['data']['state']}"
        for entry in seen.history
        if entry["kind"] in _MARKS
    ],
    "output": lambda seen: seen.run["output"],
    "input": lambda seen: seen.run["input"],
    "key": lambda seen: seen.run["key"],
    "kept": lambda seen: [each["event"] for each in seen.run["kept"]],
    "tickets": lambda seen: sorted(each["ticket"] for each in seen.run["tickets"]),
    "jobs": lambda seen: sorted(
        each["job"] for each in seen.run["jobs"] if each["status"] in _OPEN_JOBS
    ),
}


def _timers(seen: Seen) -> dict[str, str]:
    return {each["timer"]: _instant(each["due_at"]) for each in seen.run["timers"]}


def _instant(moment: str) -> str:
    return whole_seconds(datetime.fromisoformat(moment)).isoformat()


def _error(expected: str | None, error: Any) -> Iterator[str]:
    text = None if error is None else f"{error['code']}: {error['message']}"
    fits = text is None if expected is None else text is not None and expected in text
    if not fits:
        yield f"error: expected {expected!r}, found {text!r}"


def _history(expected: list[Any], history: list[Any]) -> Iterator[str]:
    """The entries must come in that order, with others between them."""
    left = iter(history)
    for wanted in expected:
        if not any(_is_entry(wanted, entry) for entry in left):
            kinds = [entry["kind"] for entry in history]
            yield f"history: {wanted!r} does not come in its place among {kinds}"
            return


def _is_entry(wanted: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    data = entry["data"]
    return bool(wanted["kind"] == entry["kind"]) and all(
        same(_target(value), _target(data.get(name)))
        if name == "to"
        else same(value, data.get(name))
        for name, value in wanted.items()
        if name != "kind"
    )


def _plain(send: Mapping[str, Any]) -> dict[str, Any]:
    return {**send, "to": _target(send.get("to"))}


def _target(to: Any) -> Any:
    """A target as the document has it: paths without `./`, a chart in place by its name."""
    if not isinstance(to, Mapping) or "machine" not in to:
        return to
    machine = to["machine"]
    if isinstance(machine, Mapping):
        return {**to, "machine": f"#{machine['statechart']}"}
    return {**to, "machine": posixpath.normpath(machine)}
