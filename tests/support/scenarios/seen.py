"""Runs as a scenario names and sees them: everything is read from the API.

Whatever has to do with a run's past is read from its history, which is what `GET` shows to anybody.
"""

from __future__ import annotations

import re
from typing import Any, Final

from stateous.statechart.tickets import mask, ticket_id, ticket_value
from tests.support.scenarios.service import TICKET_KEY, Refused, Service

#: The secret that every submit brings.
STARTER: Final = {"Stateous-Starter": "scenario-starter-0123456789-abcdefghij"}

_TICKET: Final = re.compile(r"@ticket:(?P<run>.+):(?P<ticket>[A-Za-z0-9_-]+)(#(?P<issue>\d+))?")
_RUN: Final = re.compile(r"run-(\S+)")
_FATES: Final = {"event_accepted": "taken", "event_kept": "kept", "event_dropped": "dropped"}


class UnknownRun(Exception):
    """The scenario names a run that there is not."""


class Runs:
    """The runs of a scenario: what they are called, and how they are."""

    def __init__(self, service: Service) -> None:
        self._service = service
        #: Names that submits gave.
        self.submitted: dict[str, str] = {}

    # ── names ───────────────────────────────────────────────────────────

    async def id_of(self, name: str) -> str:
        """The id of the run with that name.

        Raises:
            UnknownRun: there is none.
        """
        if name in self.submitted:
            return self.submitted[name]
        if name.startswith("key:"):
            found = await self._service.ask("GET", "/runs", query={"key": name[4:], "limit": "1"})
            if found["runs"]:
                return str(found["runs"][0]["id"])
        parent, slash, job = name.rpartition("/")
        if slash:
            return await self._child(await self.id_of(parent), job, name)
        raise UnknownRun(f"there is no run {name!r}")

    async def _child(self, parent: str, job: str, name: str) -> str:
        job, _, number = job.partition("#")
        started = [
            entry["data"]["run"]
            for entry in await self.history(parent)
            if entry["kind"] == "branch_started" and entry["data"]["job"] == job
        ]
        position = int(number or 1)
        if not 1 <= position <= len(started):
            raise UnknownRun(
                f"there is no run {name!r}: {parent} started {len(started)} of {job!r}"
            )
        return str(started[position - 1])

    # ── what the API shows ──────────────────────────────────────────────

    async def run(self, run: str) -> Any:
        """The run in full, with the outputs of its states."""
        return await self._service.ask(
            "GET", f"/runs/{run}", query={"outputs": "true"}, headers=STARTER
        )

    async def history(self, run: str) -> Any:
        """The whole history, oldest first."""
        entries: list[Any] = []
        while True:
            after = str(entries[-1]["seq"] if entries else 0)
            page = await self._service.ask(
                "GET", f"/runs/{run}/history", query={"after": after}, headers=STARTER
            )
            if not page:
                return entries
            entries += page

    async def all(self) -> list[Any]:
        """Every run, as lists show it."""
        runs: list[Any] = []
        query = {"limit": "1000"}
        while True:
            page = await self._service.ask("GET", "/runs", query=query)
            runs += page["runs"]
            if page["next"] is None:
                return runs
            query["cursor"] = page["next"]

    async def due(self) -> list[str]:
        """When the timers of all active runs are due."""
        active = [each["id"] for each in await self.all() if each["status"] == "active"]
        return [timer["due_at"] for run in active for timer in (await self.run(run))["timers"]]

    async def sends(self, run: str) -> list[Any]:
        """What the run sent, in order, and what became of each."""
        mine = await self.history(run)
        undelivered = {e["data"]["send"] for e in mine if e["kind"] == "undelivered"}
        arrived = await self._arrived(run)
        sent: list[Any] = []
        for entry in mine:
            if entry["kind"] != "sent":
                continue
            data = entry["data"]
            fate = data.get("delivery") or arrived.get(entry["seq"])
            if entry["seq"] in undelivered:
                assert fate is None, f"{run} {entry['seq']} is undelivered, and {fate}"
                fate = "undelivered"
            told = {name: data[name] for name in ("to", "event", "data")}
            sent.append({**told, "delivered": fate})
        return sent

    async def _arrived(self, sender: str) -> dict[int, str]:
        """What became of the sender's sends at their receivers: each arrives once."""
        arrived: dict[int, str] = {}
        for run in await self.all():
            for entry in await self.history(run["id"]):
                data = entry["data"]
                if data.get("sender") != sender or data.get("send") is None:
                    continue
                fate = "started" if entry["kind"] == "started" else _FATES.get(entry["kind"])
                # What was kept is taken or dropped later: that is the same arrival.
                again = data.get("seq") is not None
                if fate is not None and not again:
                    assert data["send"] not in arrived, f"{sender} {data['send']} came twice"
                    arrived[data["send"]] = fate
        return arrived

    # ── what stands for ids and values ──────────────────────────────────

    async def ticket(self, run: str, ticket: str, issue: int | None = None) -> str:
        """The value of a ticket: of its ``issue``-th from 1, or the newest."""
        visits: dict[str, int] = {}
        issued: list[str] = []
        for entry in await self.history(run):
            data = entry["data"]
            if entry["kind"] == "entered":
                visits[data["state"]] = visits.get(data["state"], 0) + 1
                assert visits[data["state"]] == data["visit"]
            if entry["kind"] == "ticket_issued" and data["ticket"] == ticket:
                state = data["state"]
                value = ticket_value(TICKET_KEY, run, state, visits[state], ticket)
                assert data["id"] == ticket_id(value)
                issued.append(value)
        assert issued, f"{run} never issued the ticket {ticket!r}"
        return issued[-1 if issue is None else issue - 1]

    async def meant(self, value: Any) -> Any:
        """A value of the scenario, with ids of runs and values of tickets where it names them."""
        if isinstance(value, dict):
            return {name: await self.meant(each) for name, each in value.items()}
        if isinstance(value, list):
            return [await self.meant(each) for each in value]
        return await self._meant_text(value) if isinstance(value, str) else value

    async def _meant_text(self, text: str) -> str:
        named = _TICKET.fullmatch(text)
        if named is not None:
            run = await self.id_of(named["run"])
            issue = named["issue"]
            return await self.ticket(run, named["ticket"], None if issue is None else int(issue))
        for found in _RUN.finditer(text):
            try:
                text = text.replace(found[0], await self.id_of(found[1]))
            except UnknownRun:
                continue
        return text

    async def shown(self, run: str, value: Any) -> Any:
        """As the API shows ``value`` in that run: it masks tickets of a run that nobody started."""
        return value if await self._shows_tickets(run) else masked(value)

    async def _shows_tickets(self, run: str) -> bool:
        try:
            await self._service.ask("GET", f"/runs/{run}/tickets", headers=STARTER)
        except Refused as refused:
            if refused.code != "not_starter":
                raise
            return False
        return True


def masked(value: Any) -> Any:
    """``value`` with ids in place of the values of tickets."""
    if isinstance(value, dict):
        return {name: masked(each) for name, each in value.items()}
    if isinstance(value, list):
        return [masked(each) for each in value]
    return mask(value) if isinstance(value, str) else value
