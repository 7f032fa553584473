"""Plays a scenario of the conformance set `statechart` on a store (its README has the format).

Charts are compiled as `stateous run submit` does. Scripts under `hold` get the longest timeout there is,
since they stay open for as long as the scenario likes; nothing else of a document is touched.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from stateous.graph.hashes import checksum
from stateous.statechart.times import Length, read_time
from stateous_compiler.errors import InvalidChart
from stateous_compiler.statechart.compile import check_chart
from stateous_controlplane.store.port import Store
from tests.support.scenarios.comparing import Seen, differences
from tests.support.scenarios.script_jobs import OVER, RUNNER, Scripts
from tests.support.scenarios.seen import STARTER, Runs
from tests.support.scenarios.service import Refused, Service
from tests.support.scenarios.virtual_time import whole_seconds

_MAIN: Final = "main"
_START: Final = "2026-06-01T09:00:00Z"
_LONGEST: Final = "3650d"
_BESIDE: Final = frozenset({"run", "result", "expect", "repeat"})
#: More instants than any scenario has at which something is due.
_MOST_INSTANTS: Final = 10_000


@dataclass(frozen=True)
class Scenario:
    """A folder of the set."""

    folder: Path

    @property
    def told(self) -> dict[str, Any]:
        """What `scenario.json` says."""
        value: dict[str, Any] = json.loads((self.folder / "scenario.json").read_bytes())
        return value


def scenarios(*folders: Path) -> list[Scenario]:
    """The scenarios in these folders that have steps, each in a folder of its own."""
    found = sorted(file for folder in folders for file in folder.glob("*/scenario.json"))
    every = [Scenario(file.parent) for file in found]
    return [each for each in every if "load" not in each.told]


async def problems_of(scenario: Scenario, store: Store, told: Mapping[str, Any]) -> list[str]:
    """Play what ``told`` says, with the scenario's files: everything that is not as expected."""
    async with _playing(scenario.folder, store, told) as player:
        for number, step in enumerate(told["steps"], 1):
            await player.play(f"step {number}", step)
        for name, expected in told.get("expect", {}).items():
            await player.compare("at the end", name, expected)
        return player.problems


@asynccontextmanager
async def _playing(folder: Path, store: Store, told: Mapping[str, Any]) -> AsyncIterator[_Player]:
    start = datetime.fromisoformat(told.get("clock", _START)).astimezone(UTC)
    service = Service(store, start)
    scripts = Scripts(service)
    await scripts.open()
    try:
        yield _Player(folder, service, scripts, told.get("hold", []))
    finally:
        await scripts.close()
        await service.close()


class _Player:
    """Does what steps say. What differs from what they expect is in :attr:`problems`."""

    def __init__(self, folder: Path, service: Service, scripts: Scripts, hold: list[str]) -> None:
        self._folder = folder
        self._service = service
        self._scripts = scripts
        self._hold = hold
        self._held: set[tuple[str, str]] = set()
        self._runs = Runs(service)
        self.problems: list[str] = []
        self._verbs: Mapping[str, Callable[[str, Any], Awaitable[str]]] = {
            "submit": self._submit,
            "send": self._send,
            "reply": self._reply,
            "finish": self._finish,
            "fail": self._fail,
            "advance": self._advance,
            "at": self._at,
            "cancel": self._cancel,
        }

    async def play(self, where: str, step: Mapping[str, Any]) -> None:
        """Do one step, and compare what it expects."""
        (verb,) = step.keys() - _BESIDE
        run = step.get("run", _MAIN)
        where = f"{where}, {verb} {run}"
        for value in _repeated(step[verb], step.get("repeat")):
            try:
                result = await self._verbs[verb](run, value)
            except Refused as refused:
                result = f"refused {refused.code}"
            await self._settle()
            self._see_result(where, verb, step.get("result"), result)
        if "expect" in step:
            await self.compare(where, run, step["expect"])

    def _see_result(self, where: str, verb: str, expected: str | None, result: str) -> None:
        if expected is None and not result.startswith("refused"):
            return
        # A step that says nothing of its result is one that works.
        if result != expected:
            self.problems.append(f"{where}: expected {expected or 'no refusal'}, got {result}")

    async def compare(self, where: str, name: str, expected: Mapping[str, Any]) -> None:
        """Compare a run with what is expected of it."""
        run = await self._runs.id_of(name)
        seen = Seen(
            await self._runs.run(run), await self._runs.history(run), await self._runs.sends(run)
        )
        meant = await self._runs.shown(run, await self._runs.meant(expected))
        self.problems += [f"{where}: {name}: {words}" for words in differences(meant, seen)]

    async def _settle(self) -> None:
        """Everything happens that can happen at this instant."""
        await self._scripts.run_all(self._held)

    # ── what clients do ─────────────────────────────────────────────────

    async def _submit(self, run: str, asked: Any) -> str:
        try:
            document = check_chart(self._folder / asked.get("chart", "chart.yaml")).document.raw
        except InvalidChart:
            raise Refused("invalid_definition", "the chart does not compile") from None
        document = self._with_holds(document)
        graph = checksum(document)
        await self._service.ask("PUT", f"/graphs/{graph}", document)
        given = {name: asked[name] for name in ("input", "key") if name in asked}
        body = await self._runs.meant({"graph": graph, **given})
        answer = await self._service.ask("POST", "/runs", body, headers=STARTER)
        self._runs.submitted[run] = answer["id"]
        return "ok"

    async def _send(self, run: str, asked: Any) -> str:
        data = await self._runs.meant(asked.get("data"))
        path = f"/runs/{await self._runs.id_of(run)}/events/{quote(asked['event'], safe='')}"
        return str((await self._service.ask("POST", path, {"data": data}))["result"])

    async def _reply(self, run: str, asked: Any) -> str:
        target = await self._runs.id_of(run)
        if "value" in asked:
            value = await self._runs.meant(asked["value"])
        else:
            value = await self._runs.ticket(target, asked["ticket"])
        answer = await self._runs.meant(asked.get("answer"))
        path = f"/tickets/{quote(value, safe='')}"
        return str((await self._service.ask("POST", path, answer, query={"run": target}))["result"])

    async def _cancel(self, run: str, asked: Any) -> str:
        assert asked is True, asked
        await self._service.ask("POST", f"/runs/{await self._runs.id_of(run)}/cancel")
        return "ok"

    # ── jobs that are held ──────────────────────────────────────────────

    async def _finish(self, run: str, asked: Any) -> str:
        output = await self._runs.meant(asked.get("output"))
        return await self._report(run, asked["job"], {"kind": "done", "output": output})

    async def _fail(self, run: str, asked: Any) -> str:
        """The attempts that are left fail, until the job has failed for good."""
        given = await self._runs.meant({n: v for n, v in asked.items() if n != "job"})
        told = "ignored"
        while (
            result := await self._report(run, asked["job"], {"kind": "failed", **given})
        ) == "ok":
            told = "ok"
            await self._settle()
        return told if result == "ignored" else result

    async def _report(self, run: str, job: str, outcome: dict[str, Any]) -> str:
        target = await self._runs.id_of(run)
        queued = [
            entry["data"]["task"]
            for entry in await self._runs.history(target)
            if entry["kind"] == "task_queued" and entry["data"]["job"] == job
        ]
        assert queued, f"{run} never had a job {job!r} to report"
        task = queued[-1]
        # A job that was over before anybody could claim it had no attempt.
        attempt = self._scripts.held[task]["attempt"] if task in self._scripts.held else 1
        body = {**outcome, "supervisor": RUNNER, "attempt": attempt}
        try:
            await self._service.ask("POST", f"/tasks/{task}/report", body)
        except Refused as refused:
            if refused.code in OVER:
                return "ignored"
            raise
        return "ok"

    def _with_holds(self, document: dict[str, Any]) -> dict[str, Any]:
        document = json.loads(json.dumps(document))
        charts = {"chart.yaml": document, **document["machines"]}
        folders = {posixpath.dirname(path) for path in charts if not path.startswith("#")}
        held = {posixpath.normpath(posixpath.join(each, s)) for each in folders for s in self._hold}
        for chart in charts.values():
            for job in _jobs(chart["states"]):
                if job.get("script") in held:
                    job["timeout"] = _LONGEST
        self._held |= {(checksum(document), path) for path in held}
        return document

    # ── time ────────────────────────────────────────────────────────────

    async def _advance(self, run: str, asked: Any) -> str:
        length = read_time(asked)
        assert isinstance(length, Length), asked
        return await self._go_to(self._service.clock.instant + timedelta(seconds=length.seconds))

    async def _at(self, run: str, asked: Any) -> str:
        return await self._go_to(whole_seconds(datetime.fromisoformat(asked)))

    async def _go_to(self, end: datetime) -> str:
        """Let time pass: whatever is due on the way happens at its own instant."""
        await self._settle()
        for _ in range(_MOST_INSTANTS):
            due = map(datetime.fromisoformat, await self._runs.due())
            instant = min([end, *map(whole_seconds, due)])
            self._service.clock.move_to(max(instant, self._service.clock.instant))
            self._service.tick()
            await self._settle()
            if instant >= end:
                return "ok"
        raise AssertionError("timers are due without end")


def _repeated(value: Any, times: int | None) -> Iterator[Any]:
    if times is None:
        yield value
        return
    for number in range(1, times + 1):
        yield {**value, "data": number} if value.get("data") == "#" else value


def _jobs(states: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for state in states.values():
        yield from [state["job"]] if "job" in state else state.get("jobs", [])
        yield from _jobs(state.get("states", {}))
