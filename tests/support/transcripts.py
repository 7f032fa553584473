"""The transcript of `docs/spec/statechart.md` 18: what is typed, and what appears."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_SECTION: Final = re.compile(r"^## 18\. Transcript$.*?^```console\n(.*?)^```$", re.M | re.S)
_END: Final = "EOF"


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it is typed, the text that it takes from behind `<<'EOF'`, and its output."""

    typed: str
    here: str
    output: str


def typed_in(page: str) -> list[Typed]:
    """The commands of the transcript, in order."""
    section = _SECTION.search(page)
    assert section is not None
    found: list[Typed] = []
    for part in re.split(r"^\$ ", section[1], flags=re.M)[1:]:
        typed, _, rest = part.partition("\n")
        here = ""
        if typed.endswith(f"<<'{_END}'"):
            here, _, rest = rest.partition(f"{_END}\n")
        found.append(Typed(typed, here, rest))
    return found
