"""Submitting a run (`docs/spec/statechart.md` 3, 16)."""

from __future__ import annotations

from typing import Final

from stateous.json import JsonText, same_json
from stateous.limits import MAX_RUN_KEY
from stateous.names import is_token_id
from stateous.statechart.document import ITSELF
from stateous.statechart.inputs import BadInput
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.engine.commands import SubmitRun
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.replies import Reply, TokenReply
from stateous_controlplane.engine.rows import Run, Token
from stateous_controlplane.engine.runs.agenda import run_agenda
from stateous_controlplane.engine.runs.beginning import begin_run, fit_input
from stateous_controlplane.engine.start import kept_for_a_child

CLIENT: Final = "client"
_EMPTY: Final = JsonText("{}")


def submit(draft: Draft, command: SubmitRun) -> Reply:
    """Start a run, or answer the one that was submitted so before."""
    flow = draft.situation.machines[command.graph].flow(ITSELF)
    given = fit_input(flow, command.input or _EMPTY)
    existing = draft.family.tokens.get(command.run)
    if existing is not None:
        return _again(existing, command, given)
    if isinstance(given, BadInput):
        return Refusal(Code.INVALID_INPUT, given.reason)
    refusal = _bad_id(draft, command.run) or _bad_key(draft, command.key)
    if refusal is not None:
        return refusal
    part = Run(given, command.key, starter=command.starter)
    begun = begin_run(draft, command.run, command.graph, ITSELF, part, CLIENT)
    run_agenda(draft, begun)
    return TokenReply(draft.seen(command.run), created=True)


def _again(existing: Token, command: SubmitRun, given: JsonText | BadInput) -> Reply:
    """A submit with an id that exists: the same is answered with the run, another refused."""
    run = existing.run
    same = (
        run is not None
        and existing.parent is None
        and (existing.graph, existing.workflow) == (command.graph, ITSELF)
        and run.key == command.key
        and isinstance(given, JsonText)
        and same_json(run.input.value, given.value)
    )
    if same:
        return TokenReply(existing)
    return Refusal(
        Code.RUN_EXISTS,
        f"{existing.token!r} exists already, with another graph, input or key",
    )


def _bad_id(draft: Draft, run: str) -> Refusal | None:
    if not is_token_id(run):
        return Refusal(
            Code.INVALID_RUN_ID,
            f"{run[:130]!r} is no id of a run: write 1 to 128 of the characters "
            "A-Z a-z 0-9 . _ -, the first a letter or digit",
        )
    taken_by = draft.situation.vicinity.taken_by
    if taken_by is not None:
        return Refusal(Code.RUN_EXISTS, f"the id {taken_by!r} is taken, and case does not count")
    parent = kept_for_a_child(run, draft.situation)
    if parent is not None:
        return Refusal(Code.INVALID_RUN_ID, f"{run!r} is kept for a child of the token {parent!r}")
    return None


def _bad_key(draft: Draft, key: str | None) -> Refusal | None:
    if key is not None and not 1 <= len(key) <= MAX_RUN_KEY:
        return Refusal(Code.INVALID_ARGUMENT, f"a key has 1 to {MAX_RUN_KEY} characters")
    holder = draft.situation.vicinity.key_taken_by
    if key is None or holder is None:
        return None
    return Refusal(Code.KEY_TAKEN, f"the live run {holder!r} has the key {key!r}")
