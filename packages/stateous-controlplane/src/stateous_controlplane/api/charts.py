"""Graph documents over HTTP: put on record, shown, listed (`docs/spec/statechart.md` 16).

Checking a document takes long for the event loop and for the writer: it is done on a thread that
reads, and the machine is handed to the writer's catalog ready made.
"""

from __future__ import annotations

from stateous.graph import hashes
from stateous.json import JsonObject, read_json, write_json
from stateous.limits import MAX_GRAPH_DEPTH
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.answers import Answer, no_chart, refused
from stateous_controlplane.api.bodies import read_object
from stateous_controlplane.api.cursors import GRAPHS, write_newest_cursor
from stateous_controlplane.api.endpoint import Call, Sending
from stateous_controlplane.api.ports import Desk, Machines
from stateous_controlplane.api.reading import Reading
from stateous_controlplane.api.run_queries import graph_page
from stateous_controlplane.api.shapes import shown
from stateous_controlplane.documents import WORKFLOW, Checked, check, not_a_chart
from stateous_controlplane.run_answers import graph_view_json
from stateous_controlplane.store.port import Reads
from stateous_controlplane.store.run_views import NewestPlace
from stateous_controlplane.writer.requests import PutGraph


class Charts:
    """What can be asked about documents. ``machines`` are those that the writer knows."""

    def __init__(self, desk: Desk, reading: Reading, machines: Machines) -> None:
        self._desk = desk
        self._reading = reading
        self._machines = machines

    async def put(self, sending: Sending) -> Answer:
        """`PUT /graphs/{checksum}`."""
        body = read_object(sending.body)
        if isinstance(body, Refusal):
            return refused(body)
        named = sending.parameters["checksum"]
        checked = await self._reading.run(lambda _: _named_so(body, named) or check(body))
        if isinstance(checked, Refusal):
            return refused(checked)
        return await self._put(checked)

    async def on_record(self, graph: str | JsonObject) -> str | Answer:
        """The checksum of the chart ``graph``, which is on record now; or why it is not."""
        if isinstance(graph, str):
            return await self._known(graph)
        checked = await self._reading.run(lambda _: check(graph))
        if isinstance(checked, Checked) and checked.record.kind == WORKFLOW:
            return refused(not_a_chart(checked.record.name))
        if isinstance(checked, Refusal):
            return refused(checked)
        answer = await self._put(checked)
        return checked.record.checksum if answer.status < 400 else answer

    async def _put(self, checked: Checked) -> Answer:
        answer = await self._desk.ask(PutGraph(checked.record))
        if answer.status < 400:
            self._machines.offer(checked.machine)
        return answer

    async def _known(self, checksum: str) -> str | Answer:
        if checksum in self._machines:
            return checksum

        def read(reads: Reads) -> Checked | Refusal:
            text = reads.graph(checksum)
            return (
                no_chart(checksum)
                if text is None
                else check(read_json(text.encode(), max_depth=MAX_GRAPH_DEPTH))
            )

        checked = await self._reading.run(read)
        if isinstance(checked, Refusal):
            return refused(checked)
        self._machines.offer(checked.machine)
        return checksum

    async def show(self, call: Call) -> Answer:
        """`GET /graphs/{checksum}`."""
        checksum = call.parameters["checksum"]

        def read(reads: Reads) -> Answer:
            text = reads.graph(checksum)
            if text is None:
                sentence = f"no document {shown(checksum)} is on record"
                return refused(Refusal(Code.GRAPH_NOT_FOUND, sentence))
            return Answer(200, text.encode())

        return await self._reading.run(read)

    async def page(self, call: Call) -> Answer:
        """`GET /graphs`."""
        asked = graph_page(call.query)
        if isinstance(asked, Refusal):
            return refused(asked)

        def read(reads: Reads) -> Answer:
            views, more = reads.graphs(behind=asked.behind, limit=asked.limit)
            cursor = None
            if more:
                cursor = write_newest_cursor(
                    GRAPHS, NewestPlace(views[-1].added_at, views[-1].graph)
                )
            listed = ",".join(map(graph_view_json, views))
            return Answer(200, f'{{"graphs":[{listed}],"next":{write_json(cursor)}}}'.encode())

        return await self._reading.run(read)


def _named_so(document: JsonObject, named: str) -> Refusal | None:
    found = hashes.checksum(document)
    if found == named:
        return None
    sentence = f"the document has the checksum {found!r}, not {shown(named)}"
    return Refusal(Code.CHECKSUM_MISMATCH, sentence)
