"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_URL = "http://127.0.0.1:8080"

Url = Annotated[
    str,
    typer.Option(
        "--url", envvar="STATEOUS_URL", metavar="URL", help="The address of the control plane."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else.")
]
FindLinks = Annotated[
    Path | None,
    typer.Option(
        "--find-links",
        metavar="DIR",
        help="A folder with the wheels of Stateous, which pyproject.toml then names for uv.",
    ),
]
