"""Sets in defaults: the document is the same whatever order Python iterates in."""

import dataclasses
import enum
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, RootModel, create_model

from stateous_compiler.models import write_models

LETTERS = list("abcdefgh")


class Color(enum.Enum):
    """Members cannot be compared with `<`."""

    A, B, C, D, E, F, G, H = LETTERS


class Tagged(BaseModel):
    model_config = ConfigDict(extra="allow")

    tags: set[str] = set(LETTERS)


class Tags(RootModel[frozenset[str]]):
    pass


@dataclasses.dataclass
class Kept:
    tags: frozenset[str]


@pytest.mark.parametrize(
    ("kind", "default", "written"),
    [
        (set[str], set(LETTERS), LETTERS),
        (set[Color], set(Color), LETTERS),
        (frozenset[int | str], frozenset([*LETTERS, 3, 20]), [*LETTERS, 20, 3]),
        (dict[str, set[str]], {"z": set(LETTERS), "a": set()}, {"z": LETTERS, "a": []}),
        (list[set[Color]], [set(Color)], [LETTERS]),
        (tuple[int, set[str]], (1, set(LETTERS)), [1, LETTERS]),
        (list[set[frozenset[str]]], [{frozenset(LETTERS), frozenset("b")}], [[LETTERS, ["b"]]]),
        (Tagged, Tagged(), {"tags": LETTERS}),
        (Tagged, Tagged(more=set(LETTERS)), {"tags": LETTERS, "more": LETTERS}),
        (Tags, Tags(frozenset(LETTERS)), LETTERS),
        (Kept, Kept(frozenset(LETTERS)), {"tags": LETTERS}),
        (list[str], ["b", "a"], ["b", "a"]),
        (str, "ba", "ba"),
    ],
)
def test_a_set_in_a_default_is_written_sorted(kind: Any, default: Any, written: Any) -> None:
    model = create_model("Holder", field=(kind, default))
    holder: Any = write_models([model]).schemas["Holder"]
    assert holder["properties"]["field"]["default"] == written
