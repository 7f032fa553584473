"""Places in a chart's document, and how a problem names them (`docs/spec/statechart.md` 1.5)."""

from __future__ import annotations

import re
from typing import Final

from stateous.json import Json
from stateous.statechart.document import Path

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
#: The members of these lists have names, by which they are known.
_NAMED: Final = {"jobs": "job", "timers": "timer"}


def spell(path: Path, raw: Json) -> str:
    """``path`` in the document ``raw`` as text: ``states.waiting.timers.t``.

    A job and a timer are named, other members of lists numbered from 0; a key that is no plain
    name, as the path of a file, stands in brackets: ``machines["m.yaml"].states.a.on.x[0]``.
    """
    steps: list[str] = []
    value: Json = raw
    for at, step in enumerate(path):
        inside = _step_into(value, step)
        if isinstance(step, int):
            name = _name_of(inside, path[at - 1] if at else None)
            steps.append(f"[{step}]" if name is None else _member(name))
        else:
            steps.append(_member(step))
        value = inside
    return "".join(steps).removeprefix(".")


def _step_into(value: Json, step: str | int) -> Json:
    match value, step:
        case dict(), str():
            return value.get(step)
        case list(), int() if step < len(value):
            return value[step]
        case _:
            return None


def _name_of(value: Json, listed_under: str | int | None) -> str | None:
    key = _NAMED.get(listed_under) if isinstance(listed_under, str) else None
    name = value.get(key) if key is not None and isinstance(value, dict) else None
    return name if isinstance(name, str) else None


def _member(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return f".{name}"
    shown = name if len(name) <= 80 else name[:79] + "…"
    return f'["{shown}"]'
