"""Texts between two others, samples of patterns, and numbers of any length."""

from __future__ import annotations

import re
from itertools import islice

import pytest

from stateous_compiler.exclusive.digits import decimal, whole
from stateous_compiler.exclusive.pattern_samples import samples
from stateous_compiler.exclusive.text_order import (
    ANY_LENGTH,
    Lengths,
    TextTooLongError,
    between,
    can_occur,
    few_between,
    some_between,
)

LAST = "\U0010ffff"


@pytest.mark.parametrize(
    ("low", "high", "lengths", "first"),
    [
        ("", None, ANY_LENGTH, ["\x01", "\x01\x01", "\x01\x01\x01"]),
        ("a", "a\x01", ANY_LENGTH, []),
        ("a", "a\x01\x01\x01", ANY_LENGTH, ["a\x01", "a\x01\x01"]),
        ("a", "c", Lengths(1, 1), ["b"]),
        ("a", "b", Lengths(1, 1), []),
        ("a", "aa", Lengths(3, 3), ["a\x01\x01", "a\x01\x02", "a\x01\x03"]),
        ("ab", "c", Lengths(0, 1), ["b"]),
        ("a", None, Lengths(0, 0), []),
        ("a", None, Lengths(2, 1), []),
        (LAST, None, Lengths(0, 1), []),
        (f"a{LAST}", None, Lengths(2, 2), ["b\x01", "b\x02", "b\x03"]),
        ("\ud7ff", "\ue002", Lengths(1, 1), ["\ue000", "\ue001"]),
        ("\x00", "\x02", Lengths(0, 1), ["\x01"]),
        ("a\x00b", "a\x03", Lengths(0, 2), ["a\x01", "a\x02"]),
        ("\ud800", "\ud801", ANY_LENGTH, []),
        ("a\ud800b", "b", Lengths(0, 2), ["a\ue000", "a\ue001", "a\ue002"]),
        ("a", "a\x00", ANY_LENGTH, []),
    ],
)
def test_the_texts_between_come_in_order(
    low: str, high: str | None, lengths: Lengths, first: list[str]
) -> None:
    found = list(islice(between(low, high, lengths), 3))
    assert found == first
    assert found == sorted(found)
    assert all(map(can_occur, found))


@pytest.mark.parametrize(
    ("low", "high", "lengths", "inside"),
    [
        ("", None, ANY_LENGTH, None),
        ("a", "a\x01", ANY_LENGTH, []),
        ("a", "a\x01\x01\x01", ANY_LENGTH, ["a\x01", "a\x01\x01"]),
        ("a", "a\x01\x01\x01\x01", ANY_LENGTH, None),
        ("a", "a\x02", ANY_LENGTH, None),
        ("a", "a\x00", ANY_LENGTH, []),
        ("a", "a\x01\x01\x01\x01", Lengths(3), ["a\x01\x01", "a\x01\x01\x01"]),
        ("a", "a\x01\x01\x01\x01\x01", Lengths(3), None),
        ("a", "d", Lengths(1, 1), ["b", "c"]),
        ("a", "e", Lengths(1, 1), None),
        ("\ud800", "\ud801", ANY_LENGTH, []),
        ("\ud800", None, ANY_LENGTH, None),
    ],
)
def test_a_gap_is_listed_when_few_texts_lie_in_it(
    low: str, high: str | None, lengths: Lengths, inside: list[str] | None
) -> None:
    assert few_between(low, high, lengths, 2) == inside


def test_texts_that_nobody_wants_to_see_are_not_made() -> None:
    with pytest.raises(TextTooLongError):
        next(between("", None, Lengths(10**9, None)))


@pytest.mark.parametrize(
    ("low", "high", "wanted", "found"),
    [
        ("k", "m", [ANY_LENGTH], ["l"]),
        ("", None, [ANY_LENGTH], ["a"]),
        ("", None, [Lengths(3, None)], ["aaa"]),
        ("a", "b", [ANY_LENGTH, ANY_LENGTH], ["a0", "a1"]),
        ("a", "a\x01\x01", [ANY_LENGTH], ["a\x01"]),
        ("a", "a\x01\x01", [ANY_LENGTH, ANY_LENGTH], None),
        ("", "a", [Lengths(1, 1)] * 2, ["0", "1"]),
        ("zz", None, [Lengths(0, 1)], ["{"]),
    ],
)
def test_letters_and_digits_are_preferred(
    low: str, high: str | None, wanted: list[Lengths], found: list[str] | None
) -> None:
    assert some_between(low, high, wanted) == found


@pytest.mark.parametrize(
    "pattern",
    [
        "^[A-Z]{3}$",
        r"^\d{4}-\d{2}(-\d{2})?$",
        "a|b|cde",
        r"^(?P<name>ab|cd)+\.(?:com|org)$",
        "[^a-c]*x",
        "a{2,}b?",
        r"^[\w.+-]+@[\w-]+\.[a-z]{2,}$",
        r"^\S+\s\S+$",
        r"[\]\-x]+",
        r"\(\d\)",
        "x*?y+?",
    ],
)
def test_samples_match_their_pattern(pattern: str) -> None:
    found = list(samples(pattern, 3))
    assert found
    assert all(re.search(pattern, sample) for sample in found)


@pytest.mark.parametrize(
    "pattern", ["(", ")", "[", "[a", "a{x}", "a{9999}", "\\", "(?<", "(" * 5000]
)
def test_a_pattern_that_is_not_understood_has_no_samples(pattern: str) -> None:
    assert list(samples(pattern)) == []


NUMBERS = [0, -1, 10**4000 - 1, 10**4000, -(10**9001) - 7, 16**5000]


@pytest.mark.parametrize("number", NUMBERS, ids=range(len(NUMBERS)))
def test_whole_numbers_of_any_length_are_written_and_read(number: int) -> None:
    assert whole(decimal(number)) == number


def test_short_numbers_are_written_as_python_does() -> None:
    assert [decimal(number) for number in (0, 7, -12)] == ["0", "7", "-12"]
