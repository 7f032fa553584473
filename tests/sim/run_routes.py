"""How the API reads each request about runs that changes something (`docs/spec/statechart.md` 16).

The product checks a document on a thread of its own before it is put on record; here it was checked
before the simulation began, and a machine is made of what is on record.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from stateous.json import JsonObject, JsonText
from stateous.statechart.tickets import digest
from stateous.wire.problems import Refusal
from stateous_controlplane.api import run_shapes
from stateous_controlplane.engine.commands import AnswerTicket, SubmitRun
from stateous_controlplane.writer.requests import PutGraph
from tests.sim.charts import CHARTS, TICKET_KEY

__all__ = ["ROUTES", "TICKET_KEY"]


def _put(body: JsonObject, parameters: Any, headers: Any) -> PutGraph:
    return PutGraph(CHARTS[unquote(parameters["checksum"])].record)


def _submit(body: JsonObject, parameters: Any, headers: Any) -> SubmitRun | Refusal:
    asked = run_shapes.submit_of(body)
    if isinstance(asked, Refusal):
        return asked
    assert isinstance(asked.graph, str)
    assert asked.run is not None
    return SubmitRun(asked.run, asked.graph, asked.input, asked.key)


def _answer(body: JsonObject, parameters: Any, headers: Any) -> AnswerTicket | Refusal:
    key = run_shapes.idempotency_key_of(headers)
    if isinstance(key, Refusal):
        return key
    return AnswerTicket(digest(parameters["value"]), None, JsonText.of(body), key)


ROUTES: Final[dict[str, Any]] = {
    r"PUT /graphs/(?P<checksum>[^/]+)": _put,
    r"POST /runs": _submit,
    r"POST /runs/(?P<id>[^/]+)/events/(?P<event>[^/]+)": run_shapes.event_of,
    r"POST /runs/(?P<id>[^/]+)/pause": run_shapes.pause_run_of,
    r"POST /runs/(?P<id>[^/]+)/resume": run_shapes.resume_run_of,
    r"POST /runs/(?P<id>[^/]+)/cancel": run_shapes.cancel_run_of,
    r"POST /tickets/(?P<value>[^/]+)": _answer,
    r"POST /tasks/(?P<task>\d+)/emits": run_shapes.emits_of,
}
