"""Reading JSON: what is found without looking at each value is what a look at each finds."""

from __future__ import annotations

import json
import math
from itertools import product

import pytest

from stateous.errors import JsonError
from stateous.json import read_json

NUMBERS = [
    "1e308", "1e309", "-1e309", "1E+309", "1e0309", "1.5e308", "2.5e308", "1e-400", "0.1e310",
    "9" * 308, "9" * 309, "-" + "9" * 400, "1" + "0" * 299 + "e9", "1" + "0" * 298 + "e9",
    "1" + "0" * 300 + ".5e8", "0." + "0" * 320 + "1e330", "7", "-0.5", "12e3",
]  # fmt: skip
PLACES = ["{}", " {}", "[{}]", "[ {}]", "[1,{}]", '{{"a":{}}}', '{{"a" :\n{}}}', '{{"a":[[{}]]}}']


@pytest.mark.parametrize(("place", "number"), [*product(PLACES, NUMBERS)])
def test_a_number_that_no_double_fits_is_refused_wherever_it_stands(
    place: str, number: str
) -> None:
    text = place.format(number)
    whole = number.lstrip("-").isdigit()
    if not whole and math.isinf(float(number)):
        with pytest.raises(JsonError):
            read_json(text.encode())
    else:
        assert read_json(text.encode()) == json.loads(text)


@pytest.mark.parametrize("text", ["1e999", "a: 1e999", "12e45", "0" * 400, "\\\\u0000"])
def test_a_text_may_look_like_a_number_that_is_too_great(text: str) -> None:
    data = f'{{"a":"{text}"}}'.encode()
    assert read_json(data) == json.loads(data)


@pytest.mark.parametrize("place", ['"{}"', '["{}"]', '{{"{}":1}}', '{{"a":["b{}"]}}'])
def test_u0000_is_refused_wherever_it_stands(place: str) -> None:
    with pytest.raises(JsonError) as refused:
        read_json(place.format("\\u0000").encode())
    assert refused.value.problem == "invalid_body"
