"""What the control plane says of itself (`docs/spec/wire.md` 2.7)."""

from __future__ import annotations

import asyncio
from typing import Final

from stateous.json import write_json
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.answers import Answer, refused
from stateous_controlplane.api.ports import Served
from stateous_controlplane.api.reading import Reading

#: How long the database may take to answer, in seconds.
READY_SECONDS: Final = 2.0


def health(served: Served | None) -> Answer:
    """`GET /health`: what is served, without a look at the database."""
    return Answer(
        200,
        write_json(
            {
                "workflow": served.workflow if served else None,
                "checksum": served.checksum if served else None,
                "contract": served.contract if served else None,
            }
        ).encode(),
    )


def workflow(served: Served | None) -> Answer:
    """`GET /workflow`: the graph document, byte by byte as the served file has it."""
    if served is None:
        return refused(Refusal(Code.NOT_FOUND, "no workflow is served"))
    return Answer(200, served.document)


async def ready(reading: Reading, holder: str, *, seconds: float = READY_SECONDS) -> Answer:
    """`GET /ready`: whether the database answers in time, and has our name on record."""
    try:
        async with asyncio.timeout(seconds):
            holds = await reading.run(lambda reads: reads.holds(holder))
    except TimeoutError:
        sentence = f"the database has not answered within {seconds:g} seconds"
        return refused(Refusal(Code.DATABASE_BUSY, sentence))
    if not holds:
        return refused(Refusal(Code.NOT_SERVING, "the database is not held by this control plane"))
    return Answer(200, b'{"ready":true}')
