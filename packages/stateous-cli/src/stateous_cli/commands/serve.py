"""`stateous serve` (`docs/spec/wire.md` 6.3, `docs/spec/statechart.md` 17)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from stateous_cli.database_url import DEFAULT_DB, database_url
from stateous_cli.optional import needed
from stateous_cli.shell import run


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command()(serve)


def serve(
    graph: Annotated[
        Path | None,
        typer.Argument(
            metavar="GRAPH",
            help="The graph file. Without it no token starts, and those on record go on; runs of "
            "charts are served with and without it.",
        ),
    ] = None,
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            envvar="STATEOUS_DB",
            metavar="URL",
            show_default=DEFAULT_DB,
            help="The database: sqlite:///FILE, relative to the current folder, or "
            "postgresql://USER:PASSWORD@HOST:PORT/NAME. The file STATEOUS_DB_FILE may hold it.",
        ),
    ] = None,
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            envvar="STATEOUS_LISTEN",
            metavar="HOST:PORT",
            help="Where to listen. Port 0 picks a free one.",
        ),
    ] = "127.0.0.1:8080",
    supervise: Annotated[
        Path | None,
        typer.Option(
            "--supervise",
            metavar="FOLDER",
            help="Also run the supervisor of this folder, in the same process.",
        ),
    ] = None,
    scripts: Annotated[
        bool,
        typer.Option(
            "--scripts",
            help="Also run the scripts of charts, 4 at a time, each in a process of its own. For "
            "development.",
        ),
    ] = False,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            envvar="STATEOUS_KEY_FILE",
            metavar="PATH",
            show_default="<database file>.key",
            help="What keeps the key that values of tickets are derived with; made when missing. "
            "Without it a Postgres database keeps the key itself.",
        ),
    ] = None,
    lease: Annotated[
        str,
        typer.Option(
            "--lease",
            envvar="STATEOUS_LEASE",
            metavar="DURATION",
            help="How long a silent supervisor keeps its tasks, at least 4s.",
        ),
    ] = "2m",
    max_connections: Annotated[
        int,
        typer.Option(
            "--max-connections",
            envvar="STATEOUS_MAX_CONNECTIONS",
            metavar="N",
            min=1,
            help="How many connections may be open at once.",
        ),
    ] = 1000,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A further name of this host; may be repeated. [env var: STATEOUS_ALLOW_HOSTS, "
            "with commas]",
        ),
    ] = None,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Log a line for each request.")
    ] = False,
    log_format: Annotated[
        Literal["text", "json"],
        typer.Option("--log-format", envvar="STATEOUS_LOG_FORMAT", help="How log lines look."),
    ] = "text",
    standby: Annotated[
        bool,
        typer.Option("--standby", help="While the database is held, wait instead of giving up."),
    ] = False,
    standby_file: Annotated[
        Path | None,
        typer.Option(
            "--standby-file",
            envvar="STATEOUS_STANDBY_FILE",
            metavar="FILE",
            help="Touch this file each second while standing by, for health checks.",
        ),
    ] = None,
) -> None:
    """Serve a workflow and runs of charts: the HTTP API and the clock, until Ctrl-C."""
    hosts = allow_host or os.environ.get("STATEOUS_ALLOW_HOSTS", "").split(",")

    def process() -> int:
        with needed("stateous-controlplane", by="serve"):
            from stateous_cli.actions.serving import serve_until_stopped
            from stateous_controlplane.settings import ServeSettings
        return serve_until_stopped(
            ServeSettings(
                graph,
                db=database_url(db, os.environ),
                listen=listen,
                lease=lease,
                max_connections=max_connections,
                allow_hosts=tuple(host.strip() for host in hosts if host.strip()),
                access_log=access_log,
                log_format=log_format,
                standby=standby,
                key_file=key_file,
                standby_file=standby_file,
            ),
            supervise,
            scripts=scripts,
        )

    run(process)
