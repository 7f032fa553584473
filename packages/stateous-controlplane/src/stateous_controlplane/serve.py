"""`stateous serve`: one control plane from its start to its end (`docs/spec/wire.md` 6.3).

Bind first, then take the database, migrate under the hold, compare the structure, put the document
on record, answer. At the end the hold is given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from stateous_controlplane.api.ports import ApiSettings
from stateous_controlplane.api.server import loop_factory
from stateous_controlplane.logs import set_up_logs
from stateous_controlplane.serving import STOP_SIGNALS, Companion, ControlPlane, Serving, say
from stateous_controlplane.settings import ServeSettings, parse_lease, parse_listen
from stateous_controlplane.standby import shown_in, wait_for_hold
from stateous_controlplane.startup import (
    Workflow,
    bind,
    put_chart_on_record,
    put_on_record,
    read_graph_file,
    take_hold,
)
from stateous_controlplane.store.opening import open_store
from stateous_controlplane.store.port import Store
from stateous_controlplane.ticket_key import (
    key_file_for,
    ready_ticket_key,
    warn_of_key_in_database,
)
from stateous_controlplane.writer.hold import holder_name

_log = logging.getLogger("stateous.serve")


def serve(settings: ServeSettings, companion: Companion | None = None) -> int:
    """Serve until a signal, and return the exit code.

    Raises:
        ServeError, StoreError: a refusal at start, or the hold was lost; the text is for a person.
    """
    set_up_logs(settings.log_format)
    code = 0
    with (
        _signals_interrupt(),
        contextlib.suppress(KeyboardInterrupt),
        contextlib.ExitStack() as opened,
    ):
        plane = _open(settings, opened)
        try:
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                code = runner.run(_serve(plane, companion))
        finally:
            _ignore_signals()
    say("stopped")
    return code


async def _serve(plane: ControlPlane, companion: Companion | None) -> int:
    return await Serving(plane, companion).until_stopped()


def _open(settings: ServeSettings, opened: contextlib.ExitStack) -> ControlPlane:
    """The steps of a start, each of which is undone when ``opened`` closes."""
    wanted = parse_listen(settings.listen)
    lease = parse_lease(settings.lease)
    graph = None if settings.graph is None else read_graph_file(settings.graph)
    holder = holder_name()
    # Who stands by does not listen: clients behind a shared name reach the one that serves.
    store = _hold(settings, holder, opened) if settings.standby else None
    listening, listen = bind(wanted)
    opened.callback(listening.close)
    if store is None:
        store = _hold(settings, holder, opened)
    key_file = key_file_for(settings.db, settings.key_file)
    key = ready_ticket_key(store, holder, key_file)
    if isinstance(graph, Workflow):
        put_on_record(store, holder, graph, _now())
    elif graph is not None:
        put_chart_on_record(store, holder, graph, _now())
    warn_of_key_in_database(key_file)
    if not listen.loopback:
        _log.warning("%s lets other computers in, and the API has no authentication", listen)
    return ControlPlane(
        store=store,
        listening=listening,
        listen=listen,
        holder=holder,
        lease=lease,
        workflow=graph if isinstance(graph, Workflow) else None,
        api=ApiSettings(
            loopback=listen.loopback,
            allow_hosts=frozenset(settings.allow_hosts),
            lease_seconds=int(lease.total_seconds()),
            access_log=settings.access_log,
            holder=holder,
            ticket_key=key,
        ),
        max_connections=settings.max_connections,
    )


def _hold(settings: ServeSettings, holder: str, opened: contextlib.ExitStack) -> Store:
    store = open_store(settings.db)
    opened.callback(store.close)
    if settings.standby:
        with shown_in(settings.standby_file, time.sleep) as sleep:
            wait_for_hold(store, holder, _now, sleep)
    else:
        take_hold(store, holder, _now)
    opened.callback(_give_up, store, holder)
    return store


def _give_up(store: Store, holder: str) -> None:
    try:
        store.give_up_hold(holder)
    except Exception as error:
        _log.warning("the hold on the database could not be given up: %s", error)


@contextlib.contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Until the event loop takes the signals over, one of them ends the start, and all is undone."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def _ignore_signals() -> None:
    """What is left takes a moment, and a further signal must not keep the hold on record."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _now() -> datetime:
    return datetime.now(UTC)
