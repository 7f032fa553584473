"""What is rehearsed: a `flow.py`, a Workflow object or a graph file, checked as in earnest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple, TypeAlias

from stateous.errors import GraphError
from stateous.graph.document import GraphDocument
from stateous.graph.reading import read_graph
from stateous.workflow import Workflow
from stateous_cli.testing.errors import RehearsalError
from stateous_compiler.compile import check_flow, check_loaded
from stateous_compiler.flow import LoadedFlow

#: A path of a `flow.py` or of a graph file (`.json`), or a Workflow.
Flow: TypeAlias = "str | os.PathLike[str] | Workflow"


class Source(NamedTuple):
    """A graph document, and its file's text."""

    document: GraphDocument
    text: str


def read_source(flow: Flow) -> Source:
    """The document of ``flow``.

    Raises:
        InvalidWorkflow: the workflow has problems; its text lists all of them.
        FlowImportError: the file does not give a workflow.
        RehearsalError: the graph file cannot be used.
    """
    if isinstance(flow, Workflow):
        checked = check_loaded(LoadedFlow(Path(flow.place.file).parent, flow))
        return Source(checked.document, checked.text)
    path = Path(flow)
    if path.suffix != ".json":
        checked = check_flow(flow)
        return Source(checked.document, checked.text)
    try:
        text = path.read_bytes()
        return Source(read_graph(text), text.decode())
    except OSError as error:
        raise RehearsalError(f"cannot read the graph file {path}: {error.strerror}") from None
    except GraphError as error:
        raise RehearsalError(f"{path} is not a graph file: {error}") from None
