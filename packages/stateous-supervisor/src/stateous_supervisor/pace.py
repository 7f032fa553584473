"""Every duration that a supervisor goes by, in seconds (`docs/spec/authoring.md` 8.6, 8.7)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """The durations of one supervisor, in seconds. Tests shorten them; nobody else should."""

    #: How long a claim may wait in the control plane. Whole seconds, shorter than `http_timeout`.
    claim_wait: int = 20
    #: After an empty answer that came within this time, the next claim waits as long again.
    claim_pause: float = 1.0
    #: How long a claim in flight may still take once the supervisor stops, before it is cut.
    claim_grace: float = 0.5
    #: The first waits between tries of a call that gets no answer; the last one repeats.
    backoff: tuple[float, ...] = (1, 2, 4, 8, 16, 30)
    #: Between heartbeats of a control plane that announces no lease.
    heartbeat: float = 30.0
    #: A heartbeat that is not answered within this time is left alone; the next one is begun.
    beat_timeout: float = 10.0
    #: A routine that blocks the routines' event loop for longer is named, and no longer renewed.
    blocked: float = 60.0
    http_timeout: float = 30.0
    #: How long an answered message may stay on disk, so as to leave it with what is put next.
    removal_wait: float = 0.1
    #: After the second signal: for cancelled routines to end, then for what is left to be sent.
    cancel_grace: float = 5.0
    send_grace: float = 2.0
