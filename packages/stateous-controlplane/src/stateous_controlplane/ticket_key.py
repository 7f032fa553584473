"""The ticket key: where it is kept, and that it is the right one (`docs/spec/statechart.md` 8.1).

It is 32 random bytes, in a file as 64 hex digits: that of `--key-file`, else one beside an SQLite
database, else the row of `control_plane`. The row has the key's fingerprint in any case. A start with
another key is refused while tickets are open, whose values could not be made again.

A key that the row has moves out of it into the file of `--key-file`: the file is written first, so
that the key is never nowhere.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
from hashlib import sha256
from pathlib import Path
from typing import Final

from stateous_controlplane.settings import ServeError
from stateous_controlplane.store.port import Store
from stateous_controlplane.store.url import is_postgres, sqlite_file

_log = logging.getLogger("stateous.serve")

_BYTES: Final = 32
_HEX: Final = re.compile(r"[0-9a-fA-F]{64}")


def fingerprint_of(key: bytes) -> str:
    """What is on record of a key: it tells two apart, and nothing of either."""
    return sha256(b"key\n" + key).hexdigest()[:16]


def key_file_for(db: str, given: Path | None) -> Path | None:
    """The file that the key of the database ``db`` is kept in; None: the database keeps it."""
    if given is not None or is_postgres(db):
        return given
    file = sqlite_file(db)
    return file.with_name(f"{file.name}.key")


def ready_ticket_key(store: Store, holder: str, file: Path | None) -> bytes:
    """The ticket key; one is made where there is none. Only under the hold.

    Raises:
        ServeError: the file cannot be used, or tickets are open that were made with another key.
    """
    record = store.ticket_key()
    on_record = None if record.key is None else bytes.fromhex(record.key)
    in_file = None if file is None else _read(file)
    key = in_file or on_record or secrets.token_bytes(_BYTES)
    fingerprint = fingerprint_of(key)
    if record.open_tickets and record.fingerprint not in (None, fingerprint):
        found = f"the key file {file} {'is missing' if in_file is None else 'has another key'}"
        raise ServeError(
            f"{found if file is not None else 'the database has no ticket key'}, and "
            f"{record.open_tickets} open ticket(s) were made with the one before; start with the "
            "key file that was used then (--key-file)"
        )
    if file is not None and in_file is None:
        _write(file, key)
    kept = key.hex() if file is None else None
    if (record.key, record.fingerprint) != (kept, fingerprint):
        store.record_ticket_key(holder, key=kept, fingerprint=fingerprint)
    return key


def warn_of_key_in_database(file: Path | None) -> None:
    """Say how to move the key out of the database, when that keeps it."""
    if file is None:
        _log.warning(
            "the ticket key is kept in the database, where whoever reads a backup finds it; start "
            "with --key-file PATH, a file that does not exist yet, to move it there"
        )


def _read(file: Path) -> bytes | None:
    try:
        text = file.read_text("ascii").strip()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        text = ""
    except OSError as error:
        raise ServeError(f"cannot read the key file {file}: {error.strerror}") from None
    if not _HEX.fullmatch(text):
        raise ServeError(f"{file} is not a key file: it must hold 64 hex digits and nothing else")
    return bytes.fromhex(text)


def _write(file: Path, key: bytes) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(key.hex() + "\n")
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as error:
        raise ServeError(f"cannot write the key file {file}: {error.strerror}") from None
