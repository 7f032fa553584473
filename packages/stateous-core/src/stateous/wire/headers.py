"""The headers of Stateous's own (`docs/spec/wire.md` 2.2, 2.3, 2.6, `statechart.md` 8.3)."""

from __future__ import annotations

from typing import Final

#: A key of the caller's; what comes with a key that is known already is not done twice.
IDEMPOTENCY_KEY: Final = "Idempotency-Key"
#: Where the next page of a list begins.
NEXT_CURSOR: Final = "Stateous-Next"
#: The length of a lease in seconds, on the answers of health, claim and heartbeat.
LEASE: Final = "Stateous-Lease"
#: The secret of who started a run: it opens the run's tickets, and reads that mask nothing.
STARTER: Final = "Stateous-Starter"
