"""Which database `stateous serve` is given: a flag, a variable, or a file that a variable names.

A URL has a password in it, which does not belong into an environment that every process inherits
and `inspect` shows. Container engines put secrets into files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from stateous_cli.failures import CommandError

DEFAULT_DB: Final = "sqlite:///stateous.db"
_VARIABLE: Final = "STATEOUS_DB_FILE"


def database_url(given: str | None, environment: Mapping[str, str]) -> str:
    """``given`` (`--db`, else `STATEOUS_DB`), else what the file holds, else the default.

    White space around the URL in the file, such as the end of its line, does not count.

    Raises:
        CommandError: the file cannot be read, or holds no URL. The text has nothing of the file.
    """
    if given:
        return given
    name = environment.get(_VARIABLE)
    if not name:
        return DEFAULT_DB
    try:
        url = Path(name).read_text("utf-8").strip()
    except UnicodeDecodeError:
        raise CommandError(f"cannot use {_VARIABLE} {name}: it is not UTF-8") from None
    except OSError as error:
        raise CommandError(f"cannot read {_VARIABLE} {name}: {error.strerror}") from None
    if not url:
        raise CommandError(f"cannot use {_VARIABLE} {name}: it is empty")
    if len(url.split()) > 1:
        raise CommandError(f"cannot use {_VARIABLE} {name}: it holds more than one URL")
    return url
