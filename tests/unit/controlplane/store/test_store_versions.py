"""What a database needs before it can be served, by its tables and version."""

from __future__ import annotations

import pytest

from stateous_controlplane.store.port import StoreError
from stateous_controlplane.store.versions import NEWEST, VERSION_TABLE, VERSIONS, Verdict, judge

OURS = VERSIONS[NEWEST]
WHOLE = {*OURS, VERSION_TABLE}


@pytest.mark.parametrize(
    ("tables", "recorded", "verdict"),
    [
        (set(), [], Verdict.EMPTY),
        ({"users", "sqlite_sequence"}, [], Verdict.EMPTY),
        (WHOLE, [NEWEST], Verdict.CURRENT),
        ({*WHOLE, "users"}, [NEWEST], Verdict.CURRENT),
    ],
)
def test_what_it_needs(tables: set[str], recorded: list[str], verdict: Verdict) -> None:
    assert judge(tables, recorded) is verdict


@pytest.mark.parametrize(
    ("tables", "recorded", "told"),
    [
        (
            WHOLE,
            ["0009"],
            f"a newer Stateous made this database (version 0009, this one knows {NEWEST}): "
            "upgrade Stateous",
        ),
        ({VERSION_TABLE}, ["9999"], "a newer Stateous made this database (version 9999"),
        (WHOLE, ["0000"], "an unknown version (0000"),
        (WHOLE, ["ab12cd"], "an unknown version (ab12cd"),
        (WHOLE, [], "an unknown version (none"),
        (WHOLE, [NEWEST, "0009"], f"an unknown version ({NEWEST}, 0009"),
        ({"tasks"}, [], "(tasks) but no version"),
        ({*OURS, "users"}, [], "but no version"),
        (WHOLE - {"kept"}, [NEWEST], f"lacks a table of its version {NEWEST} (kept)"),
        (WHOLE - {"kept", "claims"}, [NEWEST], "(claims, kept)"),
    ],
)
def test_what_is_left_alone(tables: set[str], recorded: list[str], told: str) -> None:
    with pytest.raises(StoreError) as refused:
        judge(tables, recorded)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_older_version_is_upgraded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERSIONS, "0000", frozenset({"tokens"}))
    assert judge({VERSION_TABLE, "tokens"}, ["0000"]) is Verdict.OLDER
    with pytest.raises(StoreError):
        judge({VERSION_TABLE}, ["0000"])
