"""The packages of Stateous that a command needs and that may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stateous_cli.failures import CommandError


@contextmanager
def needed(distribution: str, *, by: str) -> Iterator[None]:
    """Imports in this block come from ``distribution``; when it is missing, say what to install.

    Raises:
        CommandError: the distribution's own package is not there. Any other import that fails
            inside it is a defect of the installation, and passes.
    """
    package = distribution.replace("-", "_")
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise CommandError(
            f"`stateous {by}` needs {distribution}, which is not installed: build the wheels with "
            f"`make wheels`, then run: pip install dist/{package}-*.whl"
        ) from None
