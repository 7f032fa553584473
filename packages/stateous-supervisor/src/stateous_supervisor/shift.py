"""A supervisor at work: its parts together, from the first message to the last (8.6, 8.7).

How it ends. The first stop begins the *draining*: no new claims, running routines finish, and each
message that is not answered has one more try; it is over when no attempt is held any more. The
second stop begins the *aborting*: routines are cancelled and have some seconds to end, then what
they said has some seconds to be sent. Whatever is not sent is in the outbox in both cases.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from stateous_client import AsyncClient, Client
from stateous_supervisor.attempts import Attempts, Performer
from stateous_supervisor.folder import Settings
from stateous_supervisor.leases import Leases
from stateous_supervisor.loops.bell import Bell
from stateous_supervisor.loops.claim import ClaimLoop
from stateous_supervisor.loops.delivery import DeliveryLoop
from stateous_supervisor.loops.heartbeat import HeartbeatLoop
from stateous_supervisor.messages import Message, Outgoing
from stateous_supervisor.pace import Pace
from stateous_supervisor.registry import Routines
from stateous_supervisor.runner import RoutineWork, Runner
from stateous_supervisor.scripts.jobs import ScriptJobs
from stateous_supervisor.scripts.processes import ScriptProcesses
from stateous_supervisor.session import Phase, Session
from stateous_supervisor.watch import LoopWatch
from stateous_supervisor.work import SCRIPTS, Queue, job, state

_log: Final = logging.getLogger("stateous.supervisor")


class Shift:
    """The parts of a supervisor that has been accepted. Used on one event loop, once.

    ``folder`` is where the routines' code is. With ``processes``, which are open and are closed here,
    scripts are run too. ``post`` has that loop call a function, from any thread. ``connect`` makes a
    client for the heartbeats, whose calls take at most so many seconds.
    """

    def __init__(
        self,
        plane: AsyncClient,
        outbox: Outgoing,
        routines: Routines,
        settings: Settings,
        *,
        folder: Path,
        processes: ScriptProcesses | None = None,
        connect: Callable[[float], Client],
        post: Callable[..., None],
        pace: Pace,
        clock: Callable[[], float],
    ) -> None:
        self._outbox = outbox
        self._pace = pace
        self._bell = Bell()
        self._session = Session(
            settings.tasks, fresh_request=lambda: secrets.token_hex(16), pace=pace
        )
        self._runner = Runner(
            outbox,
            lambda attempt, outcome: post(self._attempts.ended, attempt, outcome),
            folder=folder,
        )
        self._scripts = (
            ScriptJobs(
                processes, outbox, lambda attempt, outcome: self._attempts.ended(attempt, outcome)
            )
            if processes is not None
            else None
        )
        leases = Leases(lambda: plane.lease)
        self._delivery = DeliveryLoop(
            plane,
            outbox,
            supervisor=settings.name,
            leases=leases,
            entry=lambda attempt: self._attempts.entry(attempt),
            settled=lambda attempt: self._attempts.settled(attempt),
            ran_out=lambda attempt: self._attempts.ran_out(attempt),
            stop=lambda attempt: self._attempts.lost((attempt,)),
            gone=self._message_gone,
            changed=self._bell.ring,
            pace=pace,
            clock=clock,
        )
        self._attempts = Attempts(
            self._session,
            outbox,
            self._delivery,
            leases,
            performers=self._performers(routines),
            bell=self._bell,
            post=post,
            clock=clock,
        )
        self._claims = ClaimLoop(
            self._session,
            plane,
            supervisor=settings.name,
            queues=_queues(routines, scripts=processes is not None),
            begin=self._attempts.begin,
            bell=self._bell,
            pace=pace,
            clock=clock,
        )
        self._heartbeats = HeartbeatLoop(
            supervisor=settings.name,
            url=plane.url,
            connect=connect,
            held=lambda: self._session.held,
            renewed=lambda attempts, at: post(self._attempts.renewed, attempts, at),
            lost=lambda attempts: post(self._attempts.lost, attempts),
            lease=lambda: plane.lease,
            watch=LoopWatch(self._runner.loop, limit=pace.blocked),
            pace=pace,
            clock=clock,
        )

    async def run(self) -> int:
        """Work until the stops have ended it: 0 after one, 1 after two."""
        self._heartbeats.start()
        work = asyncio.create_task(self._work())
        work.add_done_callback(lambda _: self._bell.ring())
        try:
            while not (work.done() and self._is_quiet()) and not self._aborts():
                await self._bell.wait(None)
                if work.done():
                    work.result()  # a defect in a loop ends the supervisor
            if not self._aborts():
                return 0
            self._attempts.cancel_all()
            await self._wait_until(lambda: not self._session.running, self._pace.cancel_grace)
            await self._wait_until(self._is_quiet, self._pace.send_grace)
            return 1
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await self._delivery.close()
            self._heartbeats.close(self._pace.send_grace)
            if self._scripts is not None:
                await self._scripts.close()
            self._runner.close(0.0 if self._aborts() else self._pace.cancel_grace)

    def stop(self) -> None:
        """A signal came."""
        if self._aborts():
            return
        running = self._session.running
        if self._session.stop() is Phase.DRAINING:
            _log.info(
                "stopping: no new tasks; waiting for %d routine(s) (signal again to stop now)",
                running,
            )
            self._delivery.stop()
            self._outbox.hurry()
            self._claims.cut(self._pace.claim_grace)
        else:
            _log.info("stopping now: cancelling %d routine(s)", running)
        self._bell.ring()

    def outbox_refuses(self, why: str | None) -> None:
        """The outbox cannot be written, and why; None: it can be written again."""
        if why is None:
            _log.info("the outbox %s can be written again: asking for tasks", self._outbox.path)
            self._session.outbox_takes()
            self._bell.ring()
        else:
            _log.error(
                "cannot write the outbox %s (%s): no new tasks until it can be written; reports "
                "wait in memory",
                self._outbox.path,
                why,
            )
            self._session.outbox_refuses()
            self._claims.cut(0.0)

    def written(self, messages: Sequence[Message]) -> None:
        """These messages of running attempts are on disk."""
        self._attempts.written(messages)

    def _performers(self, routines: Routines) -> dict[Queue, Performer]:
        performers: dict[Queue, Performer] = {}
        for name, of_state in routines.states.items():
            performers[state(name)] = RoutineWork(self._runner, of_state)
        for name, of_job in routines.jobs.items():
            performers[job(name)] = RoutineWork(self._runner, of_job)
        if self._scripts is not None:
            performers[SCRIPTS] = self._scripts
        return performers

    def _message_gone(self, message: Message) -> None:
        if self._scripts is not None:
            self._scripts.gone(message)

    async def _work(self) -> None:
        left = self._outbox.left
        if left:
            _log.info("sending %d message(s) left in the outbox", len(left))
            await self._delivery.send_left(left)
        await self._claims.run()

    def _aborts(self) -> bool:
        return self._session.phase is Phase.ABORTING

    def _is_quiet(self) -> bool:
        return not self._session.held and self._delivery.idle

    async def _wait_until(self, reached: Callable[[], bool], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not reached():
                    await self._bell.wait(None)
        except TimeoutError:
            pass


def _queues(routines: Routines, *, scripts: bool) -> dict[Queue, bool]:
    """What is claimed, and whether its work is done on the routines' event loop."""
    queues = {state(name): routine.on_loop for name, routine in routines.states.items()}
    queues |= {job(name): routine.on_loop for name, routine in routines.jobs.items()}
    return queues | ({SCRIPTS: False} if scripts else {})
