"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from stateous_compiler.errors import CompileError


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, by way of a temporary file beside it; parents are made.

    Raises:
        CompileError: the file cannot be written. What was there before is unchanged.
    """
    if not path.name:
        raise CompileError(f"cannot write {path}: it names a folder; name a file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise CompileError(f"cannot write {path}: {error.strerror or error}") from None
