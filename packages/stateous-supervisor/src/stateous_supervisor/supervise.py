"""A supervisor's start, and the signals that end it (`docs/spec/authoring.md` 8.2, 8.7).

Its threads: the one that calls :meth:`Supervisor.run` has an event loop for claims and deliveries;
the heartbeats, the outbox's writer and the routines' event loop have one each, and so has every
`def` routine. They talk to the first by posting calls onto its loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from stateous_client import AsyncClient, BadAnswer, Client, ClientError
from stateous_supervisor import crashpoints
from stateous_supervisor.backoff import Backoff
from stateous_supervisor.clock import since_boot
from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.folder import find_contract, read_settings
from stateous_supervisor.loops.answers import refusal, unanswered
from stateous_supervisor.mailbox import Mailbox
from stateous_supervisor.messages import Message, Outgoing
from stateous_supervisor.outbox import Outbox
from stateous_supervisor.pace import Pace
from stateous_supervisor.parting import Leftovers, part
from stateous_supervisor.registry import Routines, load_routines
from stateous_supervisor.scripts.processes import ScriptProcesses
from stateous_supervisor.shift import Shift
from stateous_supervisor.unkept import UnkeptOutbox
from stateous_supervisor.work import SCRIPTS

_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
)

# A look-up may take ten seconds when the name server is away, and there is one per connection.
_MOST_LOOK_UPS: Final = 32

_log: Final = logging.getLogger("stateous.supervisor")


def supervise(
    folder: Path | None,
    *,
    url: str | None = None,
    tasks: object = None,
    name: str | None = None,
    scripts: bool = False,
) -> int:
    """Run a supervisor until SIGINT or SIGTERM ends it: the exit code.

    The arguments are those of :class:`Supervisor`.

    Called on the main thread, which gets the signals. The process ends soon after that thread then,
    also when a routine has left a thread behind that does not.

    Raises:
        SupervisorError: it could not start.
    """
    crashpoints.arm(os.environ.get(crashpoints.VARIABLE))
    leftovers = Leftovers()
    pace = Pace()
    made = Supervisor(folder, url=url, tasks=tasks, name=name, scripts=scripts, pace=pace)
    code = made.run(signals=True)
    part(leftovers.here(), code, grace=pace.cancel_grace)
    return code


class Supervisor:
    """A supervisor of one folder, of scripts, or of both. It runs once.

    Making it reads the folder's two files and touches nothing else. ``url``, ``tasks`` and ``name``
    win over the environment and the file. With ``scripts`` it claims script jobs too, and runs each in
    a process of its own. Then there may be no folder: nothing is kept on disk, and what could not be
    reported runs again (`docs/spec/statechart.md` 17).

    Raises:
        SupervisorError: the settings or the contract cannot be used; there is nothing to do; scripts
            cannot be run here.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        url: str | None = None,
        tasks: object = None,
        name: str | None = None,
        scripts: bool = False,
        pace: Pace | None = None,
        clock: Callable[[], float] = since_boot,
    ) -> None:
        if folder is None and not scripts:
            raise SupervisorError("there is nothing to supervise: name a folder, or use --scripts")
        self._folder = folder
        self._processes = ScriptProcesses() if scripts else None
        self._settings = read_settings(folder, url=url, tasks=tasks, name=name)
        self._contract = find_contract(folder) if folder is not None else None
        self._pace = pace if pace is not None else Pace()
        self._clock = clock
        self._mailbox: Mailbox | None = None
        self._shift: Shift | None = None
        # Counted, not queued: a signal handler may interrupt anything, another handler too.
        self._stops = 0
        self._stops_seen = 0
        self._stopped = asyncio.Event()
        # Why the outbox cannot be written; it may be so before there is a shift to tell.
        self._refusal: str | None = None

    def run(self, *, at: str | None = None, signals: bool = False) -> int:
        """Work until :meth:`stop`; the exit code: 0 after one stop, 1 after two.

        It blocks, on any thread. ``at`` is the control plane's URL in place of the settings', for a
        control plane that runs in the same process. With ``signals``, on the main thread only,
        SIGINT and SIGTERM (Windows: SIGBREAK too) stop it.

        Raises:
            SupervisorError: another supervisor has the folder; the control plane is none, or
                serves another workflow; the routines cannot be loaded.
        """
        return asyncio.run(self._run(at if at is not None else self._settings.url, signals))

    def stop(self) -> None:
        """First: finish what runs, and end. Second: cancel it. From any thread or signal handler.

        While the control plane is still waited for there is nothing to finish.
        """
        self._stops += 1
        self._post(self._see_stops)

    async def _run(self, url: str, signals: bool) -> int:
        loop = asyncio.get_running_loop()
        self._mailbox = Mailbox(loop)
        loop.set_default_executor(_LookUps(_MOST_LOOK_UPS, thread_name_prefix="look-up"))
        if signals:
            _call_on_signals(loop, self.stop)
        self._see_stops()
        with contextlib.closing(self._open_outbox()) as outbox:
            async with AsyncClient(url, timeout=self._pace.http_timeout, retries=0) as plane:
                health = await self._meet(plane)
                if health is None:
                    return 0
                self._check(health, plane.url)
                routines = load_routines(self._folder) if self._folder else Routines()
                served = [*sorted(routines.states), *sorted(routines.jobs)]
                _log.info(
                    "%s serves %s; the control plane is %s",
                    self._settings.name,
                    ", ".join([*served, *([SCRIPTS.name] if self._processes else [])]),
                    plane.url,
                )
                if self._processes is not None:
                    await self._processes.open()
                    if self._stopped.is_set():
                        await self._processes.close()
                        return 0
                shift = Shift(
                    plane,
                    outbox,
                    routines,
                    self._settings,
                    folder=(self._folder or Path()).resolve(),
                    processes=self._processes,
                    connect=lambda deadline: Client(url, timeout=deadline, retries=0),
                    post=self._post,
                    pace=self._pace,
                    clock=self._clock,
                )
                self._shift = shift
                if self._refusal is not None:
                    shift.outbox_refuses(self._refusal)
                self._see_stops()
                return await shift.run()

    def _open_outbox(self) -> Outgoing:
        if self._folder is None:
            return UnkeptOutbox(written=self._on_written)
        return Outbox.open(
            self._folder, written=self._on_written, refuses=self._on_refused, pace=self._pace
        )

    async def _meet(self, plane: AsyncClient) -> Mapping[str, Any] | None:
        """What the control plane says of itself; None when the supervisor is stopped before."""
        backoff = Backoff(self._pace.backoff)
        while True:
            call = asyncio.ensure_future(plane.health())
            stopped = asyncio.ensure_future(self._stopped.wait())
            await asyncio.wait((call, stopped), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if self._stopped.is_set():
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                return None
            try:
                return call.result()
            except ClientError as error:
                silence = unanswered(error)
                if silence is None:
                    raise _no_control_plane(plane.url, error) from None
            delay = backoff.unanswered()
            _log.warning(
                "cannot reach the control plane at %s (%s); trying again in %gs",
                plane.url,
                silence.reason,
                delay,
            )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._stopped.wait()
                    return None

    def _check(self, health: Mapping[str, Any], url: str) -> None:
        ours = self._contract
        if ours is None or self._folder is None:
            return  # nothing here was made from a workflow
        if ours.checksum == health.get("checksum"):
            return
        if ours.contract is not None and ours.contract == health.get("contract"):
            _log.info(
                "the workflow '%s' has changed since %s was made, but nothing that the routines use",
                health.get("workflow"),
                self._folder / "contract.py",
            )
            return
        workflow = health.get("workflow") or ours.workflow
        raise SupervisorError(
            f"{self._folder / 'contract.py'} is for another version of the workflow "
            f"'{workflow}': run stateous init supervisor {url} {self._folder} again"
        )

    def _on_written(self, messages: Sequence[Message]) -> None:
        # Messages are put by routines only, which a shift has begun.
        if self._shift is not None:
            self._post(self._shift.written, messages)

    def _on_refused(self, why: str | None) -> None:
        self._post(self._see_refusal, why)

    def _see_refusal(self, why: str | None) -> None:
        self._refusal = why
        if self._shift is not None:
            self._shift.outbox_refuses(why)

    def _post(self, call: Callable[..., None], *args: object) -> None:
        """Have the loop call ``call``; when it has ended, or not begun, there is nobody to tell."""
        if self._mailbox is not None:
            with contextlib.suppress(RuntimeError):
                self._mailbox.post(call, *args)

    def _see_stops(self) -> None:
        while self._stops_seen < self._stops:
            self._stops_seen += 1
            if self._shift is not None:
                self._shift.stop()
            elif not self._stopped.is_set():
                _log.info("stopping: nothing was claimed, so nothing runs")
                self._stopped.set()


class _LookUps(ThreadPoolExecutor):
    """Where the loop looks names up. One that hangs does not hold up the end of the loop."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)


def _call_on_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    for number in _SIGNALS:
        try:
            # Wakes the loop even when the signal comes just before it goes to sleep; a plain
            # handler would be called at the next event only.
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows, whose loop wakes at signals by itself
            signal.signal(number, lambda *_: stop())


def _no_control_plane(url: str, error: ClientError) -> SupervisorError:
    if isinstance(error, BadAnswer):
        return SupervisorError(str(error))
    refused = refusal(error)
    return SupervisorError(
        f"{url} did not answer as a Stateous control plane: HTTP {refused.status}: {refused.text}"
    )
