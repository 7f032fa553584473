"""Submitting runs and reading them, and answers to tickets (`docs/spec/statechart.md` 8, 16)."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Final, TypeAlias

from stateous.json import JsonText, write_json
from stateous.statechart.run_ids import random_id, submitted_id
from stateous.statechart.tickets import digest, mask, ticket_value
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.answers import Answer, entry_json, refused
from stateous_controlplane.api.bodies import read_object, read_value
from stateous_controlplane.api.charts import Charts
from stateous_controlplane.api.cursors import RUNS, write_newest_cursor
from stateous_controlplane.api.endpoint import Call, Sending
from stateous_controlplane.api.longpoll import Wait
from stateous_controlplane.api.ports import Desk
from stateous_controlplane.api.queries import history_page
from stateous_controlplane.api.reading import Reading
from stateous_controlplane.api.run_queries import answered_run, run_page, run_wait, wait_of
from stateous_controlplane.api.run_shapes import (
    idempotency_key_of,
    run_not_found,
    shows_starter,
    starter_of,
    submit_of,
)
from stateous_controlplane.engine.commands import AnswerTicket, SubmitRun
from stateous_controlplane.engine.rows import Status
from stateous_controlplane.run_answers import run_in_full_json, run_json, ticket_json
from stateous_controlplane.store.port import Reads
from stateous_controlplane.store.run_views import NewestPlace, RunInFull, RunState

_SECRET_BYTES: Final = 32

Enough: TypeAlias = Callable[[RunState], bool]


class Runs:
    """What can be asked about runs. Tickets' values are derived with ``ticket_key``."""

    def __init__(self, desk: Desk, reading: Reading, charts: Charts, ticket_key: bytes) -> None:
        self._desk = desk
        self._reading = reading
        self._charts = charts
        self._ticket_key = ticket_key

    # ── what changes something ──────────────────────────────────────────

    async def submit(self, sending: Sending) -> Answer:
        """`POST /runs`. A document is put on record first."""
        body = read_object(sending.body)
        if isinstance(body, Refusal):
            return refused(body)
        asked = submit_of(body)
        if isinstance(asked, Refusal):
            return refused(asked)
        key = idempotency_key_of(sending.headers)
        if isinstance(key, Refusal):
            return refused(key)
        brought = starter_of(sending.headers)
        if isinstance(brought, Refusal):
            return refused(brought)
        graph = await self._charts.on_record(asked.graph)
        if isinstance(graph, Answer):
            return graph
        run = asked.run or (
            random_id(secrets.token_bytes(10)) if key is None else submitted_id(key)
        )
        secret = _secret()
        starter = brought or sha256(secret.encode()).hexdigest()
        answer = await self._desk.ask(SubmitRun(run, graph, asked.input, asked.key, starter))
        if answer.status != 201 or answer.body is None or brought is not None:
            return answer
        return Answer(201, answer.body[:-1] + f',"starter":"{secret}"}}'.encode())

    async def answer(self, sending: Sending) -> Answer:
        """`POST /tickets/{value}`."""
        given = read_value(sending.body)
        if isinstance(given, Refusal):
            return refused(given)
        run = answered_run(sending.query)
        if isinstance(run, Refusal):
            return refused(run)
        key = idempotency_key_of(sending.headers)
        if isinstance(key, Refusal):
            return refused(key)
        looked_up = digest(sending.parameters["value"])
        return await self._desk.ask(AnswerTicket(looked_up, run, JsonText.of(given), key))

    # ── reads ───────────────────────────────────────────────────────────

    async def show(self, call: Call) -> Answer:
        """`GET /runs/{id}`."""
        asked = run_wait(call.query)
        if isinstance(asked, Refusal):
            return refused(asked)
        run = call.parameters["id"]
        if asked.wait:
            await self._until(run, call, asked.wait, _has_ended)

        def read(reads: Reads) -> Answer:
            full = reads.run(run)
            if full is None:
                return refused(run_not_found(run))
            text = run_in_full_json(full, outputs=asked.outputs)
            return _shown(text, full.starter, call)

        return await self._reading.run(read)

    async def history(self, call: Call) -> Answer:
        """`GET /runs/{id}/history`."""
        asked = history_page(call.query)
        if isinstance(asked, Refusal):
            return refused(asked)
        run = call.parameters["id"]

        def read(reads: Reads) -> Answer:
            state = reads.run_state(run)
            entries = reads.run_history(run, after=asked.after, limit=asked.limit)
            if state is None or entries is None:
                return refused(run_not_found(run))
            return _shown(f"[{','.join(map(entry_json, entries))}]", state.starter, call)

        return await self._reading.run(read)

    async def tickets(self, call: Call) -> Answer:
        """`GET /runs/{id}/tickets`."""
        wait = wait_of(call.query)
        if isinstance(wait, Refusal):
            return refused(wait)
        run = call.parameters["id"]
        state = await self._reading.run(lambda reads: reads.run_state(run))
        if state is None:
            return refused(run_not_found(run))
        if not shows_starter(call.headers, state.starter):
            sentence = f"only who started the run {run!r} may see its tickets"
            return refused(Refusal(Code.NOT_STARTER, sentence))
        if wait:
            await self._until(run, call, wait, _has_tickets)
        full = await self._reading.run(lambda reads: reads.run(run))
        return refused(run_not_found(run)) if full is None else self._tickets(full)

    async def page(self, call: Call) -> Answer:
        """`GET /runs`."""
        asked = run_page(call.query)
        if isinstance(asked, Refusal):
            return refused(asked)

        def read(reads: Reads) -> Answer:
            views, more = reads.runs(asked.where, behind=asked.behind, limit=asked.limit)
            cursor = None
            if more:
                last = NewestPlace(views[-1].started_at, views[-1].run)
                cursor = write_newest_cursor(RUNS, last)
            text = f'{{"runs":[{",".join(map(run_json, views))}],"next":{write_json(cursor)}}}'
            return Answer(200, mask(text).encode())

        return await self._reading.run(read)

    def _tickets(self, full: RunInFull) -> Answer:
        run = full.view.run
        texts = [
            ticket_json(
                each, ticket_value(self._ticket_key, run, each.state, each.visit, each.ticket)
            )
            for each in full.tickets
        ]
        return Answer(200, f'{{"tickets":[{",".join(texts)}]}}'.encode())

    async def _until(self, run: str, call: Call, seconds: int, enough: Enough) -> None:
        """Wait until ``enough`` is true of the run, it does not exist, or the time is over."""
        with self._desk.follow(run) as follower:
            async with Wait(follower, call.receive, seconds) as wait:
                while True:
                    state = await self._reading.run(lambda reads: reads.run_state(run))
                    if state is None or enough(state) or not await wait.changed():
                        return


def _has_ended(state: RunState) -> bool:
    return not Status(state.status).live


def _has_tickets(state: RunState) -> bool:
    return state.has_tickets or _has_ended(state)


def _shown(text: str, starter: str | None, call: Call) -> Answer:
    return Answer(200, (text if shows_starter(call.headers, starter) else mask(text)).encode())


def _secret() -> str:
    return "st_" + urlsafe_b64encode(secrets.token_bytes(_SECRET_BYTES)).rstrip(b"=").decode()
