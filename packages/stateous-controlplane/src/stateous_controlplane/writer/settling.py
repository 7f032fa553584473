"""Settling a batch: committed as a whole, else one by one, so that the guilty stands alone.

What may have been committed is not tried again: it would be done twice. What had to give way to
another transaction is tried once more as it is. What could not begin a transaction is not tried
again either: those behind it would only wait as long. A delivery behind a failed one that it must not
overtake is left where it is, in the outbox.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from stateous_controlplane.store.port import CommitUnknown, TransactionConflict
from stateous_controlplane.writer.outgoing import overtakes
from stateous_controlplane.writer.submission import Submission


@dataclass(frozen=True, slots=True)
class Failed:
    """Submissions that could not be committed, and why. ``began``: there was a transaction."""

    batch: list[Submission]
    error: Exception
    began: bool


#: Commits a batch in one transaction, and answers it; or says why not.
Attempt: TypeAlias = Callable[[list[Submission]], Failed | None]


def settle(batch: list[Submission], attempt: Attempt) -> list[Failed]:
    """Commit ``batch``; what could not be, in portions that failed for the same reason."""
    failed = _patiently(batch, attempt)
    if failed is None:
        return []
    if len(batch) == 1 or not failed.began or isinstance(failed.error, CommitUnknown):
        return [failed]
    failures: list[Failed] = []
    for position, submission in enumerate(batch):
        if overtakes(submission.request, [each.batch[0].request for each in failures]):
            continue
        failed = _patiently([submission], attempt)
        if failed is not None and not failed.began:
            return [*failures, replace(failed, batch=batch[position:])]
        if failed is not None:
            failures.append(failed)
    return failures


def _patiently(batch: list[Submission], attempt: Attempt) -> Failed | None:
    """Once more when it had to give way to another transaction."""
    failed = attempt(batch)
    if failed is not None and isinstance(failed.error, TransactionConflict):
        failed = attempt(batch)
    return failed
