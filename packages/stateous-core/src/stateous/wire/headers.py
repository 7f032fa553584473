"""The headers of Stateous's own (`docs/spec/wire.md` 2.2, 2.3, 2.6)."""

from __future__ import annotations

from typing import Final

#: A key of the caller's; an event with a key that the token knows is not applied twice.
IDEMPOTENCY_KEY: Final = "Idempotency-Key"
#: Where the next page of a list begins.
NEXT_CURSOR: Final = "Stateous-Next"
#: The length of a lease in seconds, on the answers of health, claim and heartbeat.
LEASE: Final = "Stateous-Lease"
