"""Notes and memory writes of a routine (`docs/spec/wire.md` 3.12).

A supervisor numbers its messages. One whose number is not above the last one kept for the task and
attempt is a resend after a lost answer: it is answered like the first, and not applied again (2.6).
"""

from __future__ import annotations

from stateous.wire.problems import Refusal
from stateous_controlplane.engine.commands import AddNote, WriteMemory
from stateous_controlplane.engine.draft import Draft
from stateous_controlplane.engine.replies import Done, Reply
from stateous_controlplane.engine.rows import Task
from stateous_controlplane.engine.tasks import worked_on


def add_note(draft: Draft, command: AddNote) -> Reply:
    """Put a note into the history."""
    task = worked_on(draft, command.task, command.attempt)
    if isinstance(task, Refusal):
        return task
    if _is_new(draft, task, command.number):
        draft.record(task.token, "note", task=task.id, text=command.text)
    return Done()


def write_memory(draft: Draft, command: WriteMemory) -> Reply:
    """Set or delete one key. The ledger tells the key, never the value."""
    task = worked_on(draft, command.task, command.attempt)
    if isinstance(task, Refusal):
        return task
    if not _is_new(draft, task, command.number):
        return Done()
    if command.value is None:
        if command.key not in draft.family.memory.get((task.token, task.state), {}):
            return Done()
        kind = "memory_deleted"
    else:
        kind = "memory_set"
    draft.set_memory(task.token, task.state, command.key, command.value)
    draft.record(task.token, kind, state=task.state, memory_key=command.key)
    return Done()


def _is_new(draft: Draft, task: Task, number: int | None) -> bool:
    if number is None:
        return True
    if number <= task.last_number:
        return False
    draft.task(task.id).last_number = number
    return True
