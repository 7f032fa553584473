"""Which database a URL names, and how it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from stateous_controlplane.store.opening import open_store
from stateous_controlplane.store.port import StoreError
from stateous_controlplane.store.url import masked, sqlite_file


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///stateous.db", "{here}/stateous.db"),
        ("sqlite:///some folder/é%20.db", "{here}/some folder/é%20.db"),
        ("sqlite:///../up.db", "{up}/up.db"),
        ("sqlite:////var/lib/stateous.db", "/var/lib/stateous.db"),
    ],
)
def test_an_sqlite_url_names_a_file(
    url: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path.resolve() / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert str(sqlite_file(url)) == file.format(here=here, up=here.parent)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://me:secret@[::1/stateous", "'postgresql://me:***@[::1/stateous'"),
        ("postgresql://me:secr%zz@db/stateous", "'postgresql://me:***@db/stateous'"),
        ("postgres://db/stateous?password=secret&colour=red", "password=***&colour=red"),
        ("postgresql+psycopg://me:secret@db/stateous", "'postgresql+psycopg://me:***@db/stateous'"),
        ("mysql://me:se:cr@et@db:3306/x", "'mysql://me:***@db:3306/x'"),
        ("sqlite://", "'sqlite://'"),
        ("sqlite:///", "'sqlite:///'"),
        ("sqlite:///:memory:", "'sqlite:///:memory:'"),
        ("sqlite:///a.db?mode=ro", "has options"),
        ("stateous.db", "'stateous.db'"),
        ("", "''"),
        ("SQLITE:///a.db", "'SQLITE:///a.db'"),
    ],
)
def test_any_other_url_is_refused_in_one_sentence_without_its_password(url: str, told: str) -> None:
    with pytest.raises(StoreError) as refused:
        open_store(url)
    sentence = str(refused.value)
    assert told in sentence
    assert "secr" not in sentence
    assert "%zz" not in sentence
    assert "cr@et" not in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:pw@db/x", "postgresql://me:***@db/x"),
        ("postgresql://me@db/x", "postgresql://me@db/x"),
        ("postgresql://:pw@db/x", "postgresql://:***@db/x"),
        ("postgresql://me:p/w@db/x", "postgresql://me:***@db/x"),
        ("postgresql://db/x?user=me&password=pw&a=b", "postgresql://db/x?user=me&password=***&a=b"),
        ("postgresql://db:5432/x", "postgresql://db:5432/x"),
        (
            "postgresql://db/x?sslkey=k&sslpassword=pw&PASSWORD=pw",
            "postgresql://db/x?sslkey=k&sslpassword=***&PASSWORD=***",
        ),
        ("sqlite:///a:b.db", "sqlite:///a:b.db"),
    ],
)
def test_a_password_is_shown_as_stars(url: str, shown: str) -> None:
    assert masked(url) == shown
