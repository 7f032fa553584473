"""What a rehearsal refuses by itself; everything else has the error that it has in earnest."""

from __future__ import annotations

from stateous.errors import StateousError


class RehearsalError(StateousError):
    """Something that cannot be rehearsed as it was written; the sentence says what to write.

    The refusals of the control plane are not among it: they are ``stateous_client.Refused``. Nor
    are the problems of a workflow, which are a ``stateous_compiler.errors.CompileError``.
    """
