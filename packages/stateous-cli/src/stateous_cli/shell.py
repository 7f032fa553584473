"""Between an action and the terminal: where its answer goes, and what a failure looks like.

An expected failure (a StateousError) is `error: <sentence>` on stderr and exit code 1; everything
else is a defect, and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import typer

from stateous.errors import StateousError
from stateous_cli.answer import Answer, Aside
from stateous_cli.failures import failure_document, failure_text
from stateous_cli.output.visible import json_text


def present(action: Callable[[], Answer], *, as_json: bool) -> None:
    """Run ``action``, and print its answer.

    With ``as_json`` stdout carries exactly one JSON document, on failure too; stderr is the same
    both ways.
    """
    follow(lambda: iter([action()]), as_json=as_json)


def follow(answers: Callable[[], Iterator[Answer | Aside]], *, as_json: bool) -> None:
    """Print each of the ``answers`` as it comes; with ``as_json`` one document a line."""
    code = 0
    try:
        for answer in answers():
            if isinstance(answer, Aside):
                typer.echo(answer.line, err=True)
                continue
            _print(answer, as_json=as_json)
            code = max(code, answer.exit_code)
    except StateousError as error:
        if as_json:
            _write_document(failure_document(error))
        raise _failed(error) from None
    if code:
        raise typer.Exit(code)


def _print(answer: Answer, *, as_json: bool) -> None:
    for line in answer.asides:
        typer.echo(line, err=True)
    if as_json:
        _write_document(answer.document)
    else:
        for line in answer.lines:
            typer.echo(line)


def run(process: Callable[[], int]) -> None:
    """Run ``process``, which writes its own log to stderr, and end with its exit code."""
    try:
        code = process()
    except StateousError as error:
        raise _failed(error) from None
    raise typer.Exit(code)


def _failed(error: StateousError) -> typer.Exit:
    typer.echo(failure_text(error), err=True)
    return typer.Exit(1)


def _write_document(document: Any) -> None:
    # JSON is UTF-8, whatever the terminal speaks.
    typer.echo(json_text(document).encode())
