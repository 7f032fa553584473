"""Graph documents of both kinds on their way to the record: checked, hashed, made ready to be run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from stateous.errors import GraphError, InvalidDefinition
from stateous.graph.document import GraphDocument
from stateous.graph.documents import check_document
from stateous.graph.machine import Machine
from stateous.json import Json, write_json
from stateous.wire.problems import Code, Refusal
from stateous_controlplane.store.records import GraphRecord
from stateous_controlplane.writer.catalog import frozen

if TYPE_CHECKING:
    from stateous.statechart.document import ChartDocument

Document: TypeAlias = "GraphDocument | ChartDocument"

WORKFLOW = "workflow"
STATECHART = "statechart"


class Checked(NamedTuple):
    """A document that has passed every check."""

    record: GraphRecord
    machine: Machine


def record_of(document: Document, text: str) -> GraphRecord:
    """How ``document``, whose text is ``text``, is put on record."""
    if isinstance(document, GraphDocument):
        return GraphRecord(
            checksum=document.checksum,
            kind=WORKFLOW,
            name=document.workflow,
            structure=document.structure,
            contract=document.contract,
            document=text,
        )
    machines = {path: spec.name for path, spec in document.machines.items()}
    return GraphRecord(document.checksum, STATECHART, document.name, "", "", text, machines)


def check(value: Json) -> Checked | Refusal:
    """What can be put on record of ``value``, or all that is wrong with it."""
    try:
        document = check_document(value)
        return Checked(record_of(document, write_json(value)), frozen(document))
    except InvalidDefinition as error:
        problems = tuple(problem._asdict() for problem in error.problems)
        return Refusal(Code.INVALID_DEFINITION, _sentence(problems), problems=problems)
    except GraphError as error:
        problems = ({"code": error.code, "where": "", "text": str(error)},)
        return Refusal(Code.INVALID_DEFINITION, _sentence(problems), problems=problems)


def not_a_chart(name: str) -> Refusal:
    """422: a run was asked for of a workflow's document."""
    text = f"this is the document of the workflow {name!r}, and runs are of statecharts"
    problem = {"code": "invalid_graph", "where": "", "text": text}
    return Refusal(Code.INVALID_DEFINITION, text, problems=(problem,))


def _sentence(problems: tuple[dict[str, str], ...]) -> str:
    first = problems[0]
    place = f"{first['where']}: " if first["where"] else ""
    more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
    return f"the definition is not valid: {place}{first['text']}{more}"
