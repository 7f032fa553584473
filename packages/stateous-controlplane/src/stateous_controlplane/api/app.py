"""The app: every route of the API in its place (`docs/spec/wire.md` 2).

Hot routes are Starlette's, with ASGI apps of ours as endpoints; all others are ordinary FastAPI.
Both stand in `app.routes`, which the outer layer dispatches by, and in the OpenAPI document.
"""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import version
from typing import Any, TypeAlias

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from stateous.limits import MAX_BODY_BYTES, MAX_CHART_BYTES, MAX_REPORT_BYTES
from stateous.wire.headers import LEASE, NEXT_CURSOR
from stateous_controlplane.answers import Answer, unexpected
from stateous_controlplane.api import commands, health, outcomes, run_shapes, tasks
from stateous_controlplane.api.admission import Admission
from stateous_controlplane.api.charts import Charts
from stateous_controlplane.api.endpoint import Asking, Looking, Taking
from stateous_controlplane.api.front import Contained, Front
from stateous_controlplane.api.openapi import document
from stateous_controlplane.api.paths import Place
from stateous_controlplane.api.ports import ApiSettings, Desk, Machines, Served
from stateous_controlplane.api.reading import Reading, unavailable
from stateous_controlplane.api.runs import Runs
from stateous_controlplane.api.tokens import Page, TokenReads
from stateous_controlplane.store.port import DatabaseBusy, HoldLost, Reads
from stateous_controlplane.writer.catalog import Catalog

_READ = ["GET", "HEAD"]
Endpoint: TypeAlias = Asking | Looking | Taking


class Api(FastAPI):
    """The FastAPI app behind :class:`Front`, with a document that covers all routes."""

    def __init__(self, admission: Admission, *, access_log: bool) -> None:
        super().__init__(
            title="Stateous",
            version=version("stateous-controlplane"),
            openapi_url=None,
            redirect_slashes=False,
        )
        self._admission = admission
        self._access_log = access_log

    @cached_property
    def front(self) -> Front:
        """The outer layer, over the routes that the app has when the first request comes."""
        cold = Contained(super().__call__)
        return Front(self._admission, _places(self.routes, cold), cold, access_log=self._access_log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. FastAPI's own layers stand in front of its own routes only."""
        await self.front(scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document."""
        return document(self.title, self.version)


def make_app(
    desk: Desk,
    reads: Reads,
    served: Served | None,
    settings: ApiSettings,
    machines: Machines | None = None,
) -> Api:
    """The API of one control plane; ``machines`` are those that its writer has ready."""
    api = Api(
        Admission(loopback=settings.loopback, allow_hosts=settings.allow_hosts),
        access_log=settings.access_log,
    )
    reading = Reading(desk, reads)
    token_reads = TokenReads(desk, reading, served.workflow if served else None)
    lease = str(settings.lease_seconds)
    _add_hot_routes(api, desk, token_reads, lease)
    charts = Charts(desk, reading, machines or Catalog(None))
    _add_runs(api, desk, Runs(desk, reading, charts, settings.ticket_key), charts)
    _add_lists(api, reading, token_reads)
    _add_health(api, reading, served, holder=settings.holder, lease=lease)
    _add_refusals(api)
    return api


def _add_hot_routes(api: Api, desk: Desk, reads: TokenReads, lease: str) -> None:
    announced = ((LEASE.lower().encode(), lease.encode()),)
    hot: list[tuple[str, str, Endpoint]] = [
        ("POST", "/tokens", Asking(desk, commands.start_of)),
        ("POST", "/tokens/{token}/events/{event}", Asking(desk, commands.fire_of)),
        ("POST", "/tokens/{token}/pause", Asking(desk, commands.pause_of, reads_body=False)),
        ("POST", "/tokens/{token}/resume", Asking(desk, commands.resume_of, reads_body=False)),
        ("POST", "/tokens/{token}/cancel", Asking(desk, commands.cancel_of, reads_body=False)),
        ("GET", "/tokens/{token}", Looking(reads.token)),
        ("GET", "/tokens/{token}/history", Looking(reads.history)),
        ("POST", "/tasks/claim", Asking(desk, commands.claim_of, extra=announced)),
        ("POST", "/tasks/heartbeat", Asking(desk, commands.heartbeat_of, extra=announced)),
        (
            "POST",
            "/tasks/{task}/report",
            Asking(desk, outcomes.report_of, max_body=MAX_REPORT_BYTES),
        ),
        ("POST", "/tasks/{task}/note", Asking(desk, outcomes.note_of)),
        ("PUT", "/tasks/{task}/memory", Asking(desk, outcomes.memory_of)),
        (
            "POST",
            "/tasks/{task}/emits",
            Asking(desk, run_shapes.emits_of, max_body=MAX_REPORT_BYTES),
        ),
    ]
    for method, path, endpoint in hot:
        api.router.routes.append(Route(path, endpoint, methods=[method]))


def _add_runs(api: Api, desk: Desk, runs: Runs, charts: Charts) -> None:
    routes: list[tuple[str, str, Endpoint]] = [
        ("GET", "/graphs", Looking(charts.page)),
        ("GET", "/graphs/{checksum}", Looking(charts.show)),
        ("PUT", "/graphs/{checksum}", Taking(charts.put, max_body=MAX_CHART_BYTES)),
        ("POST", "/runs", Taking(runs.submit)),
        ("GET", "/runs", Looking(runs.page)),
        ("GET", "/runs/{id}", Looking(runs.show)),
        ("GET", "/runs/{id}/history", Looking(runs.history)),
        ("GET", "/runs/{id}/tickets", Looking(runs.tickets)),
        ("POST", "/runs/{id}/events/{event}", Asking(desk, run_shapes.event_of)),
        ("POST", "/runs/{id}/pause", Asking(desk, run_shapes.pause_run_of, reads_body=False)),
        ("POST", "/runs/{id}/resume", Asking(desk, run_shapes.resume_run_of, reads_body=False)),
        ("POST", "/runs/{id}/cancel", Asking(desk, run_shapes.cancel_run_of, reads_body=False)),
        ("POST", "/tickets/{value}", Taking(runs.answer)),
    ]
    for method, path, endpoint in routes:
        api.router.routes.append(Route(path, endpoint, methods=[method]))


def _add_lists(api: Api, reading: Reading, reads: TokenReads) -> None:
    @api.api_route("/tokens", methods=_READ)
    async def list_tokens(request: Request) -> Response:
        return _page(await reads.page(request.scope["query_string"]))

    @api.api_route("/tasks", methods=_READ)
    async def list_tasks(request: Request) -> Response:
        return _page(await tasks.page_of_tasks(reading, request.scope["query_string"]))


def _add_health(
    api: Api, reading: Reading, served: Served | None, *, holder: str, lease: str
) -> None:
    @api.api_route("/workflow", methods=_READ)
    async def workflow() -> Response:
        reading.require_hold()
        return _response(health.workflow(served))

    @api.api_route("/health", methods=_READ)
    async def is_alive() -> Response:
        reading.require_hold()
        response = _response(health.health(served))
        response.headers[LEASE] = lease
        return response

    @api.api_route("/ready", methods=_READ)
    async def is_ready() -> Response:
        return _response(await health.ready(reading, holder))

    @api.api_route("/openapi.json", methods=_READ)
    async def openapi() -> Response:
        # A response: from any other type FastAPI would make a model, with pydantic.v1 (0.1 s).
        reading.require_hold()
        return JSONResponse(api.openapi())


def _add_refusals(api: Api) -> None:
    @api.exception_handler(DatabaseBusy)
    @api.exception_handler(HoldLost)
    async def not_now(request: Request, error: DatabaseBusy | HoldLost) -> Response:
        return _response(unavailable(error))

    @api.exception_handler(Exception)
    async def defect(request: Request, error: Exception) -> Response:
        return _response(unexpected())


def _page(page: Page) -> Response:
    response = _response(page.answer)
    if page.next is not None:
        response.headers[NEXT_CURSOR] = page.next
    return response


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.status, media_type="application/json")


def _places(routes: list[Any], cold: ASGIApp) -> list[Place[ASGIApp]]:
    """What each path of ``routes`` offers; all but the hot routes are reached through ``cold``."""
    places: dict[str, Place[ASGIApp]] = {}
    for route in routes:
        if not isinstance(route, Route):
            continue
        endpoint: object = route.endpoint
        app, max_body = cold, MAX_BODY_BYTES
        if isinstance(endpoint, Endpoint):
            app, max_body = endpoint, endpoint.max_body
        place = places.setdefault(route.path_format, Place(route.path_format, max_body))
        place.max_body = max(place.max_body, max_body)
        place.endpoints.update(dict.fromkeys(route.methods or (), app))
    return list(places.values())
