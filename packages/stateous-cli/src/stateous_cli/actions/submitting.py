"""`stateous run submit`: a chart becomes a document, a secret is made, a run starts.

The submit names the document by its checksum, and brings it along only when the control plane does
not have it. It has a fresh ``Idempotency-Key``: so its repeats start one run, and the run's id is
known before it is sent. The secret is on disk by then, so that no lost answer loses it
(`docs/spec/statechart.md` 17).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from stateous.errors import JsonError
from stateous.graph.hashes import checksum
from stateous.json import read_json
from stateous.limits import MAX_GRAPH_DEPTH
from stateous.statechart.run_ids import submitted_id
from stateous.visible import visible
from stateous_cli.answer import Answer
from stateous_cli.arguments import json_value
from stateous_cli.failures import CommandError
from stateous_cli.optional import needed
from stateous_cli.patience import patiently
from stateous_cli.starters import Starters, new_secret
from stateous_client import Client, GraphNotFound, Refused, Run
from stateous_client.run_methods import NO_INPUT

_WORKFLOW: Final = ".py"
_COMPILED: Final = ".json"


def submit(
    url: str, file: Path, input_json: str | None, *, key: str | None, run_id: str | None
) -> Answer:
    """Start a run of the chart or compiled document in ``file``; the line is its id.

    Raises:
        ProblemsFound: the chart is not valid.
        CommandError: the file cannot be read, or holds no statechart.
    """
    value = NO_INPUT if input_json is None else json_value(input_json, "--input")
    document, warnings = _document(file)
    idempotency_key = secrets.token_hex(16)
    expected = submitted_id(idempotency_key) if run_id is None else run_id
    starters = Starters.of(os.environ)
    known = starters.secret(expected, url)
    secret = known or new_secret()
    with Client(url) as client:
        if known is None:
            starters.keep(expected, url, secret)

        def ask() -> Run:
            return client.submit(
                checksum(document),
                value,
                key=key,
                id=run_id,
                idempotency_key=idempotency_key,
                starter=secret,
            )

        try:
            run = _submitted(client, document, ask)
        except Refused:
            if known is None:
                starters.forget(expected)
            raise
    return Answer(run, [visible(run["id"])], warnings)


def _submitted(client: Client, document: dict[str, Any], ask: Callable[[], Run]) -> Run:
    try:
        return patiently(ask)
    except GraphNotFound:
        client.put_graph(document)
        return patiently(ask)


def _document(file: Path) -> tuple[dict[str, Any], list[str]]:
    """The document of a chart or compiled file, and the compiler's warnings as lines."""
    if file.suffix == _COMPILED:
        return _compiled(file), []
    if file.suffix == _WORKFLOW:
        raise CommandError(f"{file} is no chart: `stateous compile {file}` is for workflows")
    with needed("stateous-compiler", by="run submit"):
        from stateous_cli.actions.charting import problems_of
        from stateous_compiler.errors import InvalidChart
        from stateous_compiler.statechart.compile import check_chart
    try:
        checked = check_chart(file)
    except InvalidChart as error:
        raise problems_of(error) from None
    warnings = [f"warning: {visible(str(warning))}" for warning in checked.warnings]
    return checked.document.raw, warnings


def _compiled(file: Path) -> dict[str, Any]:
    # Whether the definition is valid is the control plane's to judge: it has the rules.
    try:
        value = read_json(file.read_bytes(), max_depth=MAX_GRAPH_DEPTH)
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror or error}") from None
    except JsonError as error:
        reason = str(error).removeprefix("the body is ")
        raise CommandError(f"{file} is no compiled document: {reason}") from None
    if isinstance(value, dict) and "workflow" in value:
        raise CommandError(
            f"{file} is the graph file of a workflow: `stateous serve {file}` serves it, and "
            "`stateous token start ID` starts a token"
        )
    if not isinstance(value, dict) or "statechart" not in value:
        raise CommandError(
            f"{file} is no compiled statechart; `stateous compile review.yaml` writes one"
        )
    return value
