"""The rules of the serving hold, apart from any database (`docs/spec/wire.md` 6.1).

One control plane serves a database. Its name, `<host>:<pid>:<8 hex digits>`, stands in the row of
`control_plane`, with `since`, when it was last renewed. Who takes the hold must first have the lock
that the database or the operating system gives; the row then tells whether a control plane on
*another* host, which the lock may not reach, is alive: it renews `since` well within
:data:`LOST_AFTER`. One on the same host would still have the lock, so its row means nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from stateous_controlplane.store.port import HoldState

#: A row that was not renewed for longer belongs to nobody.
LOST_AFTER: Final = timedelta(seconds=30)

#: A row this old is renewed. With a tick each second `since` is never over 10 s old, with room for
#: several ticks that were late.
RENEW_AFTER: Final = timedelta(seconds=5)


def host_of(holder: str) -> str:
    """The host in a holder's name."""
    return holder.rsplit(":", 2)[0]


def free_for(holder: str, *, serving: str | None, since: datetime | None, now: datetime) -> bool:
    """Whether ``holder``, which has the lock, may write its name over what the row says."""
    if serving is None or since is None or host_of(serving) == host_of(holder):
        return True
    return now - since > LOST_AFTER


def found(holder: str, serving: str | None) -> HoldState:
    """What it means for ``holder`` that ``serving`` stands in the row."""
    if serving == holder:
        return HoldState.OURS
    return HoldState.TAKEN_BACK if serving is None else HoldState.LOST


def renewal_is_due(since: datetime | None, now: datetime) -> bool:
    """Whether our own row is to be renewed; also when the clock was put back."""
    return since is None or not timedelta(0) <= now - since < RENEW_AFTER
