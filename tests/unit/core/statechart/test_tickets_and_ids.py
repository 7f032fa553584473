"""Values of tickets, masks, ids of runs (`docs/spec/statechart.md` 3, 8.1)."""

from __future__ import annotations

import pytest

from stateous.statechart import run_ids
from stateous.statechart.tickets import (
    cut,
    digest,
    id_of_digest,
    mask,
    ticket_id,
    ticket_value,
)

KEY = bytes(range(32))
VALUE = "tk_T3MU979gq4QZdxdck7oG-gbg066hZkkA-jlOST9zntw"


def test_the_value_of_the_specification() -> None:
    value = ticket_value(KEY, "run-bwlqz2ftv4kxm7ha", "waiting", 1, "verdict")
    assert value == VALUE
    assert len(value) == 46
    assert ticket_id(value) == "tid_5b01c9ca05cef9cd"
    assert id_of_digest(digest(value)) == ticket_id(value)


@pytest.mark.parametrize(
    "other",
    [
        ticket_value(bytes(32), "run-bwlqz2ftv4kxm7ha", "waiting", 1, "verdict"),
        ticket_value(KEY, "run-other", "waiting", 1, "verdict"),
        ticket_value(KEY, "run-bwlqz2ftv4kxm7ha", "elsewhere", 1, "verdict"),
        ticket_value(KEY, "run-bwlqz2ftv4kxm7ha", "waiting", 2, "verdict"),
        ticket_value(KEY, "run-bwlqz2ftv4kxm7ha", "waiting", 1, "other"),
    ],
)
def test_each_part_makes_another_value(other: str) -> None:
    assert other != VALUE


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("nothing", "nothing"),
        (f'{{"a":"{VALUE}"}}', '{"a":"tid_5b01c9ca05cef9cd"}'),
        (f"xx{VALUE}yy {VALUE}", "xxtid_5b01c9ca05cef9cdyy tid_5b01c9ca05cef9cd"),
        (VALUE[:-1], VALUE[:-1]),
    ],
)
def test_every_value_is_masked(text: str, masked: str) -> None:
    assert mask(text) == masked


def test_what_looks_like_a_value_cannot_shield_one() -> None:
    # Whichever of the two is taken for a value, the true one cannot be read any more.
    assert VALUE not in mask("tk_" + VALUE)


@pytest.mark.parametrize("most", range(1, 130))
@pytest.mark.parametrize("text", ["x" * 30 + VALUE + "y" * 40, VALUE + VALUE + "!" * 40])
def test_a_cut_leaves_no_part_of_a_value(text: str, most: int) -> None:
    left = cut(text, most)
    assert len(left) <= most
    assert (left == text) == (most >= len(text))
    assert "tk_" not in left.replace(VALUE, "")
    assert text.startswith(left.removesuffix("…"))


def test_the_id_of_a_submit_with_a_key() -> None:
    assert run_ids.submitted_id("order-17") == "run-jcuh6kzm4ydck4ki"


def test_ids_tell_what_they_come_from_apart() -> None:
    ids = {
        run_ids.random_id(bytes(10)),
        run_ids.submitted_id("a"),
        run_ids.child_id("a", "s", 1, "j"),
        run_ids.child_id("a", "s", 2, "j"),
        run_ids.sent_id("a", 1),
        run_ids.sent_id("a", 2),
    }
    assert len(ids) == 6
    assert all(len(each) == 20 for each in ids)
