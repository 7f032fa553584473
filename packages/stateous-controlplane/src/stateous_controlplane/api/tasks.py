"""The list of tasks (`docs/spec/wire.md` 2.6)."""

from __future__ import annotations

from stateous.wire.problems import Refusal
from stateous_controlplane.answers import Answer, refused, task_json
from stateous_controlplane.api.cursors import write_task_cursor
from stateous_controlplane.api.queries import TaskPage, task_page
from stateous_controlplane.api.reading import Reading
from stateous_controlplane.api.tokens import Page
from stateous_controlplane.store.port import Reads


async def page_of_tasks(reading: Reading, query: bytes) -> Page:
    """`GET /tasks`."""
    asked = task_page(query)
    if isinstance(asked, Refusal):
        return Page(refused(asked))
    return await reading.run(lambda reads: read_page(reads, asked))


def read_page(reads: Reads, asked: TaskPage) -> Page:
    """The tasks that are asked for."""
    views, more = reads.tasks(asked.where, behind=asked.behind, limit=asked.limit)
    answer = Answer(200, f"[{','.join(map(task_json, views))}]".encode())
    return Page(answer, write_task_cursor(views[-1].task) if more and views else None)
