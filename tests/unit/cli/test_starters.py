"""Starters' secrets on this computer, and patience (`docs/spec/statechart.md` 17)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stateous_cli.failures import CommandError
from stateous_cli.patience import patiently
from stateous_cli.starters import Starters, new_secret, state_folder
from stateous_client import Unreachable

URL = "http://127.0.0.1:8080"


@pytest.fixture
def starters(tmp_path: Path) -> Starters:
    return Starters(tmp_path / "state" / "starters")


def test_a_secret_is_kept_for_its_run_and_place(starters: Starters) -> None:
    starters.keep("run-1", URL, "st_a")
    assert starters.secret("run-1", URL) == "st_a"
    assert starters.secret("RUN-1", URL) == "st_a"
    assert starters.secret("run-2", URL) is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://localhost:8080", True),
        ("http://LOCALHOST:8080/", True),
        ("http://127.0.0.1:8081", False),
        ("https://127.0.0.1:8080", False),
        ("http://127.0.0.1:8080/prefix", False),
        ("http://example.org:8080", False),
    ],
)
def test_it_is_shown_to_no_other_place(starters: Starters, url: str, shown: bool) -> None:
    starters.keep("run-1", URL, "st_a")
    assert (starters.secret("run-1", url) == "st_a") is shown


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (URL, "http://127.0.0.1:8080"),
        ("https://ann:secret@plane.internal/x/", "https://plane.internal/x"),
        ("plane:8080", "http://plane:8080"),
    ],
)
def test_whom_it_is_kept_for_is_told_without_a_password(
    starters: Starters, url: str, place: str
) -> None:
    starters.keep("run-1", url, "st_a")
    assert starters.place("run-1") == place
    assert starters.place("run-2") is None


def test_it_goes(starters: Starters) -> None:
    starters.keep("run-1", URL, "st_a")
    starters.forget("run-1")
    starters.forget("run-1")
    assert starters.secret("run-1", URL) is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_nobody_else_reads_it(starters: Starters, tmp_path: Path) -> None:
    starters.keep("run-1", URL, "st_a")
    folder = tmp_path / "state" / "starters"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [each.stat().st_mode & 0o777 for each in folder.iterdir()] == [0o600]


def test_what_stands_there_may_be_anything(starters: Starters, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "starters"
    folder.mkdir(parents=True)
    for text in ("", "{", "[]", '{"url": 1}', '{"url": "http://h", "starter": null}'):
        (folder / "run-1").write_text(text)
        assert starters.secret("run-1", URL) is None


@pytest.mark.parametrize("run", ["../run", "a/b", "", ".", "é", "x" * 129])
def test_an_id_that_is_none_names_no_file(starters: Starters, run: str) -> None:
    starters.keep(run, URL, "st_a")
    starters.forget(run)
    assert starters.secret(run, URL) is None


def test_the_variable_counts_for_every_run(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path), "STATEOUS_STARTER": "st_given"}
    assert Starters.of(environment).secret("run-7", "http://elsewhere") == "st_given"
    assert Starters.of(environment | {"STATEOUS_STARTER": ""}).secret("run-7", URL) is None


@pytest.mark.skipif(sys.platform != "linux", reason="the rule of Linux")
def test_where_they_are_kept(tmp_path: Path) -> None:
    assert state_folder({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "stateous"
    assert state_folder({"HOME": "/homes/ann"}) == Path("/homes/ann/.local/state/stateous")
    # A relative path is to be ignored, says the rule.
    assert state_folder({"HOME": "/homes/ann", "XDG_STATE_HOME": "x"}) == Path(
        "/homes/ann/.local/state/stateous"
    )


def test_secrets_differ_and_are_long() -> None:
    first, second = new_secret(), new_secret()
    assert first != second
    assert first.startswith("st_")
    assert len(first) == 46


class Listening:
    """A control plane that listens only from some moment on, and a clock that sleeping moves."""

    def __init__(self, at: float, *, refused: bool = True) -> None:
        self.at, self.refused, self.time, self.asked = at, refused, 0.0, 0

    def ask(self) -> str:
        self.asked += 1
        if self.time < self.at:
            raise Unreachable(URL, "no", self.refused)
        return "answer"

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def test_a_refused_connection_is_tried_again() -> None:
    plane = Listening(2.0)
    assert patiently(plane.ask, sleep=plane.sleep, now=lambda: plane.time) == "answer"


def test_after_five_seconds_it_is_given_up() -> None:
    plane = Listening(9.0)
    with pytest.raises(Unreachable):
        patiently(plane.ask, sleep=plane.sleep, now=lambda: plane.time)
    assert plane.time == pytest.approx(5.0, abs=0.2)


def test_what_is_not_refused_is_not_tried_again() -> None:
    plane = Listening(1.0, refused=False)
    with pytest.raises(Unreachable):
        patiently(plane.ask, sleep=plane.sleep, now=lambda: plane.time)
    assert plane.asked == 1


def test_a_secret_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    (tmp_path / "stateous").write_text("a file where a folder should be")
    starters = Starters.of({"XDG_STATE_HOME": str(tmp_path)})
    with pytest.raises(CommandError, match=r"cannot keep the secret .*: .*; name another folder"):
        starters.keep("run-1", URL, "s" * 43)
    starters.forget("run-1")
