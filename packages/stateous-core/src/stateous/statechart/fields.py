"""The fields of a chart's parts, and values of the kind that a field asks for.

The names here are one description: the reader, the compiler's lowering and the published JSON
Schema of the YAML form take them from here (`docs/spec/statechart.md` 1.1 to 1.3).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Final

from stateous.json import Json, JsonObject
from stateous.names import is_name
from stateous.statechart.document import Path
from stateous.statechart.facts import Findings

CHART: Final = ("statechart", "input", "events", "initial", "states")
DOCUMENT: Final = ("stateous", *CHART, "scripts", "machines")
WORK: Final = ("job", "jobs", "states")
STATE: Final = (
    *("job", "jobs", "initial", "states", "ticket", "timers", "defer", "entry", "exit", "on"),
)
FINAL: Final = ("end", "output")
WHAT_JOBS_DO: Final = ("script", "machine", "routine")
JOB: Final = (*WHAT_JOBS_DO, "input", "retries", "timeout", "allow")
TIMER: Final = ("timer", "text", "after", "at", "day", "zone", "from")
TRANSITION: Final = ("go", "when", "send")
SEND: Final = ("to", "event", "data")
TO: Final = ("key", "machine")

INPUT_TYPES: Final = ("string", "number", "integer", "boolean", "list", "object", "any")
ENDS: Final = ("done", "failed")
#: The only grant that this version knows, which grants nothing.
NO_GRANT: Final = "none"
#: The receiver that is no job.
PARENT: Final = "parent"

DONE: Final = "done"
FAILED: Final = "failed"
START: Final = "start"
TIMER_EVENT: Final = "timer"
#: Events that only the engine makes.
RESERVED: Final = frozenset({START, DONE, FAILED, TIMER_EVENT})
#: Reserved events that no rule can be for.
NO_RULE: Final = frozenset({START, TIMER_EVENT})

PART_NAME: Final = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
_PART_NAME: Final = re.compile(PART_NAME, re.ASCII)
#: Comparing a name with very many others takes long, and helps nobody.
_CANDIDATES: Final = 100


def is_part_name(text: str) -> bool:
    """Whether ``text`` can name a state, job, routine, ticket, timer or event."""
    return _PART_NAME.fullmatch(text) is not None


def shown(value: Json) -> str:
    """``value`` as a sentence holds it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping" if value else "an empty mapping"
        case list():
            return "a list" if value else "an empty list"
        case _:
            text = repr(value)
            return text if len(text) <= 60 else text[:59] + "…"


def near(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the known name that looks like ``name``, or nothing."""
    candidates = list(islice(known, _CANDIDATES))
    close = get_close_matches(name[:64], candidates, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def mapping(value: Json, path: Path, what: str, findings: Findings) -> JsonObject | None:
    """``value`` if it is a mapping; else it is a ``bad-value``."""
    if isinstance(value, dict):
        return value
    findings.add("bad-value", path, f"{what} must be a mapping, not {shown(value)}")
    return None


def filled_list(value: Json, path: Path, what: str, findings: Findings) -> list[Json]:
    """The members of ``value``, which must be a list that is not empty; else none."""
    if isinstance(value, list) and value:
        return value
    findings.add("bad-value", path, f"{what} must be a list with members, not {shown(value)}")
    return []


def text(value: Json, path: Path, what: str, findings: Findings) -> str | None:
    """``value`` if it is a text; else it is a ``bad-value``."""
    if isinstance(value, str):
        return value
    findings.add("bad-value", path, f"{what} must be a text, not {shown(value)}")
    return None


def unknown_fields(
    raw: JsonObject, fields: Collection[str], path: Path, what: str, findings: Findings
) -> None:
    """Each key of ``raw`` that is none of ``fields`` is an ``unknown-field``."""
    for key in raw:
        if key not in fields:
            findings.add(
                "unknown-field",
                (*path, key),
                f"{what} has no field {shown(key)}{near(key, fields)}",
            )


def part_name(value: Json, path: Path, what: str, findings: Findings) -> str | None:
    """``value`` if it is a text; one that is against the rule for names is a ``bad-name``."""
    name = text(value, path, f"the name of {what}", findings)
    if name is not None and not is_part_name(name):
        findings.add(
            "bad-name",
            path,
            f"{what} cannot be named {shown(name)}: a name is a letter and at most 63 more"
            " letters, digits, '-' and '_'",
        )
    return name


def chart_name(value: Json, path: Path, findings: Findings) -> str | None:
    """The name of a chart, which is in small letters."""
    name = text(value, path, "the name of a chart", findings)
    if name is not None and not is_name(name):
        findings.add(
            "bad-name",
            path,
            f"a chart cannot be named {shown(name)}: a name is a small letter and at most 63 more"
            " small letters, digits, '-' and '_'",
        )
    return name


def event_name(value: Json, path: Path, what: str, findings: Findings) -> str | None:
    """The name of an event that a chart may make up: none of the engine's own."""
    name = part_name(value, path, what, findings)
    if name in RESERVED:
        findings.add("reserved-event", path, f"{what} cannot be named {name!r}: it is reserved")
    return name
