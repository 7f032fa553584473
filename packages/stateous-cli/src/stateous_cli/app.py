"""The Typer app, and the process around it: standard streams, exit codes, closed pipes.

Nothing heavy is imported here: `stateous --help` and shell completion load Typer and the signatures
of the commands, and no other part of Stateous.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from stateous_cli.commands import compile as compile_command
from stateous_cli.commands import init, run, serve, supervise, token
from stateous_cli.commands.bare import Help, show_help_when_bare


def _print_versions(wanted: bool) -> None:
    if wanted:
        from stateous_cli.versions import installed_versions

        for name, version in installed_versions():
            typer.echo(f"{name} {version}")
        raise typer.Exit


def stateous(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_print_versions,
            help="Print the version of each installed Stateous distribution, and exit.",
        ),
    ] = False,
    show_help: Help = False,
) -> None:
    """Durable workflows: compile them, serve them, run their routines, steer their tokens."""
    show_help_when_bare(context)


def build_app(*, completion: bool) -> typer.Typer:
    """The command with all its commands; with ``completion`` also the options that install it."""
    # Plain help: Typer's own, without rich. It costs a third of the time, and pipes well.
    app = typer.Typer(
        name="stateous",
        add_completion=completion,
        add_help_option=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    )
    app.callback(invoke_without_command=True)(stateous)
    compile_command.register(app)
    serve.register(app)
    supervise.register(app)
    app.add_typer(init.app, name="init")
    app.add_typer(token.app, name="token")
    app.add_typer(run.app, name="run")
    return app


def main() -> int:
    """Run the command that ``sys.argv`` names, and return its exit code.

    0 success, 1 refusal or failure (or nobody reads stdout any more), 2 wrong usage, 130 Ctrl-C.
    """
    _encode_whatever_comes()
    try:
        build_app(completion=_may_complete())()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    else:
        code = 0
    return _flushed(code)


def _may_complete() -> bool:
    # The options of completion stand before any command, and a shell that completes says so in the
    # environment. Otherwise they are left out: Typer loads pydantic for them, whatever is typed.
    asked = any(name.endswith("_COMPLETE") for name in os.environ)
    return asked or all(word.startswith("-") for word in sys.argv[1:2])


def _encode_whatever_comes() -> None:
    # A terminal that cannot show a character shows its escape; it never ends the command.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flushed(code: int) -> int:
    # Python flushes stdout at exit, and complains on stderr when the reader has gone. Here it is
    # done first, and a closed pipe ends the command quietly.
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return code
