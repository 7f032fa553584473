"""Where `stateous serve` finds the URL of its database."""

from __future__ import annotations

from pathlib import Path

import pytest

from stateous_cli.database_url import database_url
from stateous_cli.failures import CommandError
from tests.support.served import refused_here

URL = "postgresql://stateous:s3cret@db:5432/stateous"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return tmp_path / "stateous_db"


def test_what_is_given_wins_over_the_file(secret: Path) -> None:
    secret.write_text(URL)
    assert database_url("sqlite:///a.db", {"STATEOUS_DB_FILE": str(secret)}) == "sqlite:///a.db"


@pytest.mark.parametrize("text", [URL, f"{URL}\n", f"  {URL} \r\n\n"])
def test_the_file_holds_the_url(secret: Path, text: str) -> None:
    secret.write_bytes(text.encode())
    assert database_url(None, {"STATEOUS_DB_FILE": str(secret)}) == URL


@pytest.mark.parametrize("environment", [{}, {"STATEOUS_DB_FILE": ""}])
def test_an_empty_variable_counts_as_none(environment: dict[str, str]) -> None:
    assert database_url(None, environment) == "sqlite:///stateous.db"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot read STATEOUS_DB_FILE {}: No such file or directory"),
        (b"", "cannot use STATEOUS_DB_FILE {}: it is empty"),
        (b" \n", "cannot use STATEOUS_DB_FILE {}: it is empty"),
        (b"s3cret\xff", "cannot use STATEOUS_DB_FILE {}: it is not UTF-8"),
        (b"s3cret\ns3cret\n", "cannot use STATEOUS_DB_FILE {}: it holds more than one URL"),
    ],
)
def test_a_file_that_holds_no_url_is_refused_without_its_text(
    secret: Path, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        secret.write_bytes(content)
    with pytest.raises(CommandError) as refused:
        database_url(None, {"STATEOUS_DB_FILE": str(secret)})
    assert str(refused.value) == sentence.format(secret)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Is a directory"):
        database_url(None, {"STATEOUS_DB_FILE": str(tmp_path)})


@pytest.mark.parametrize(
    ("words", "variables", "chosen"),
    [
        ((), {"STATEOUS_DB_FILE": "{file}"}, "from-file"),
        ((), {"STATEOUS_DB": "from-variable", "STATEOUS_DB_FILE": "{file}"}, "from-variable"),
        ((), {"STATEOUS_DB": "", "STATEOUS_DB_FILE": "{file}"}, "from-file"),
        (("--db", "from-flag"), {"STATEOUS_DB": "from-variable"}, "from-flag"),
        (("--db", "from-flag"), {"STATEOUS_DB_FILE": "{file}"}, "from-flag"),
    ],
)
def test_a_flag_wins_over_the_variable_and_that_over_the_file(
    words: tuple[str, ...],
    variables: dict[str, str],
    chosen: str,
    secret: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret.write_text("from-file\n")
    for name in ("STATEOUS_DB", "STATEOUS_DB_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(file=secret))
    sentence = refused_here(*words, "--listen", "127.0.0.1:0")
    assert sentence.startswith(f"'{chosen}' is not the URL of a database")
