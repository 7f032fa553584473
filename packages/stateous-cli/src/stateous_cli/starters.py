"""The secrets of who started a run, kept on this computer (`docs/spec/statechart.md` 17).

One file for each run in the user's state directory: the control plane's URL and the secret, for the
user alone. A secret is shown to that URL only, and goes when its run has ended.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from stateous.errors import JsonError
from stateous.json import read_json, write_json
from stateous.names import is_token_id
from stateous_cli.failures import CommandError

#: Overrides what is kept.
VARIABLE: Final = "STATEOUS_STARTER"


def new_secret() -> str:
    """A secret that nobody can guess: ``st_`` and 43 characters."""
    return f"st_{secrets.token_urlsafe(32)}"


class Starters:
    """The secrets that are kept in ``folder``; ``given`` is one that counts for every run."""

    def __init__(self, folder: Path, given: str | None = None) -> None:
        self._folder = folder
        self._given = given

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Starters:
        """Those of the user whose environment this is."""
        return cls(state_folder(environment) / "starters", environment.get(VARIABLE) or None)

    def secret(self, run: str, url: str) -> str | None:
        """The secret of the run, if it may be shown to the control plane at ``url``."""
        if self._given is not None:
            return self._given
        kept = self._read(run)
        return kept[1] if kept is not None and _place(kept[0]) == _place(url) else None

    def place(self, run: str) -> str | None:
        """The control plane that the secret kept for the run is for, without its password."""
        kept = self._read(run)
        if kept is None:
            return None
        parts = urlsplit(kept[0] if "//" in kept[0] else f"http://{kept[0]}")
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    def keep(self, run: str, url: str, secret: str) -> None:
        """Keep the secret of a run. Its file is whole or not there, also when the power fails.

        Raises:
            CommandError: it cannot be kept, so that the run's tickets could never be shown.
        """
        path = self._path(run)
        if path is None:
            return
        try:
            self._write(path, url, secret)
        except OSError as error:
            raise CommandError(
                f"cannot keep the secret of who started the run in {self._folder}: "
                f"{error.strerror or error}; name another folder by XDG_STATE_HOME, or bring a secret "
                f"of your own in {VARIABLE}"
            ) from None

    def _write(self, path: Path, url: str, secret: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(write_json({"url": url, "starter": secret}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)

    def forget(self, run: str) -> None:
        """The run has ended, or was never started: its secret is of no use."""
        path = self._path(run)
        if path is not None:
            # One that cannot be removed does no harm: its run has no tickets any more.
            with suppress(OSError):
                path.unlink()

    def _read(self, run: str) -> tuple[str, str] | None:
        path = self._path(run)
        if path is None:
            return None
        try:
            value = read_json(path.read_bytes())
        except (OSError, JsonError):
            return None
        if not isinstance(value, dict):
            return None
        url, starter = value.get("url"), value.get("starter")
        return (url, starter) if isinstance(url, str) and isinstance(starter, str) else None

    def _path(self, run: str) -> Path | None:
        # Only what can be an id becomes the name of a file. Ids are alike without regard to case.
        return self._folder / run.lower() if is_token_id(run) else None


def state_folder(environment: Mapping[str, str]) -> Path:
    """Where Stateous keeps what it remembers for a user, by the platform's own rule."""
    home = Path(environment.get("HOME") or Path.home())
    given = environment.get("XDG_STATE_HOME", "")
    if given and Path(given).is_absolute():
        return Path(given) / "stateous"
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "stateous"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "stateous"
    return home / ".local" / "state" / "stateous"


def _place(url: str) -> tuple[str, str, int | None, str]:
    """What of a URL says which control plane it is; ``localhost`` is ``127.0.0.1``."""
    parts = urlsplit(url if "//" in url else f"http://{url}")
    host = (parts.hostname or "").lower()
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, "127.0.0.1" if host == "localhost" else host, port, parts.path.rstrip("/")
