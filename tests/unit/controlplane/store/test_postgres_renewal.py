"""A renewal of the hold whose answer never came (`docs/spec/wire.md` 6.1)."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from stateous_controlplane.store import hold
from stateous_controlplane.store.port import CommitUnknown, DatabaseBusy, HoldState
from stateous_controlplane.store.postgres.store import PostgresStore

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
OURS = "box-1:4711:9f3c01aa"


@pytest.mark.parametrize(
    ("on_record", "raised"),
    [
        # Nobody could have served: the next renewal says the same as this one would have.
        (OURS, DatabaseBusy),
        # Somebody may have served, and the row may say now that nobody did.
        (None, CommitUnknown),
    ],
)
def test_a_lost_renewal_is_in_doubt_only_when_the_row_was_free(
    on_record: str | None,
    raised: type[Exception],
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = hold.found

    def found_and_cut(holder: str, serving: str | None) -> HoldState:
        """The session ends between the look at the row and the write."""
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks "
                "WHERE locktype = 'advisory' AND granted"
            )
        return found(holder, serving)

    with contextlib.closing(PostgresStore(postgres_url)) as store:
        assert store.take_hold(OURS, NOON) is None
        with psycopg.connect(postgres_url) as other:
            other.execute("UPDATE control_plane SET serving = %s", (on_record,))
        monkeypatch.setattr(hold, "found", found_and_cut)
        with pytest.raises(DatabaseBusy) as failure:
            store.renew_hold(OURS, NOON + timedelta(seconds=9))
    assert type(failure.value) is raised
