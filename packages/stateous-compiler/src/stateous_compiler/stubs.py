"""Stubs: a file per state in which its routine is to be written (`docs/spec/authoring.md` 7.3)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from stateous.graph.document import FlowSpec, GraphDocument, StateSpec
from stateous.names import python_name
from stateous_compiler.contract import context_type, event_path, state_path, with_routine

# A file of such a name in the folder, which is first on the import path, would hide the module.
HIDING: Final = sys.stdlib_module_names | {"contract", "stateous"}


@dataclass(frozen=True, slots=True)
class Stub:
    """The stub of one routine.

    ``name`` is the state's, or the job's as ``review/price``; ``path`` is what its decorator says:
    how the state is reached in ``contract.py``, or the job's name. ``note`` says why the file is
    not named after the routine alone, or is None.
    """

    name: str
    path: str
    file: str
    note: str | None
    text: str


def stubs_of(document: GraphDocument) -> list[Stub]:
    """The stubs of a workflow, the top one's first."""
    listed = [(flow, state) for flow in document.flows for state in with_routine(flow)]
    stems = [_stem(document, flow, state) for flow, state in listed]
    made = []
    taken: dict[str, str] = {}
    for (flow, state), stem in zip(listed, stems, strict=True):
        free, note = stem, None
        if stem in taken:
            free = next(name for name in numbered(stem) if name not in {*stems, *taken})
            note = f"{stem}.py is the stub of {taken[stem]!r}"
        elif (natural := _natural(document, flow, state)) != stem:
            note = f"{natural}.py would hide a Python module"
        taken[free] = state.name
        path = state_path(document, flow, state.name)
        made.append(Stub(state.name, path, f"{free}.py", note, _text(document, flow, state)))
    return made


def numbered(stem: str) -> Iterator[str]:
    """``stem_2``, ``stem_3`` and on."""
    number = 2
    while True:
        yield f"{stem}_{number}"
        number += 1


def _natural(document: GraphDocument, flow: FlowSpec, state: StateSpec) -> str:
    name = state.name if flow is document.top else f"{flow.name}_{state.name}"
    return python_name(name)


def _stem(document: GraphDocument, flow: FlowSpec, state: StateSpec) -> str:
    natural = _natural(document, flow, state)
    return f"{natural}_routine" if natural in HIDING else natural


def _text(document: GraphDocument, flow: FlowSpec, state: StateSpec) -> str:
    context = context_type(flow)
    from_stateous = ["on_state"] if flow.context else [context, "on_state"]
    from_contract = [context] if flow.context else []
    from_contract += ["events", "states"] if state.emits else ["states"]
    paths = {name: event_path(document, flow, name) for name in state.emits}
    calls = [
        f"{path}({'...' if flow.events[name].payload else ''})" for name, path in paths.items()
    ]
    choices = f"{', '.join(calls)}, or None to wait" if calls else "None to wait"
    message = f"write the routine of {state.name!r}: return {choices}"
    return f'''"""The routine of the state {state.name!r} of the workflow {flow.name!r}."""

from stateous import {", ".join(from_stateous)}

from contract import {", ".join(from_contract)}


@on_state({state_path(document, flow, state.name)})
def {python_name(state.name)}(ctx: {context}) -> {" | ".join([*paths.values(), "None"])}:
    raise NotImplementedError("{message}")
'''
