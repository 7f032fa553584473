"""The checks of a whole workflow, one family of rules per module (`docs/spec/authoring.md` 5.3).

No check hides the findings of another, except where the spec says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from stateous.workflow import Workflow
from stateous_compiler.checks import dead, exclusive, into, names, parallel, reads, shape, tree
from stateous_compiler.compilation import Compilation
from stateous_compiler.problems import (
    FLOW_CODES,
    NAME_CODES,
    TREE_CODES,
    WARNING_CODES,
    Problem,
    in_order,
)

_FLOW_CHECKS: Final[tuple[Callable[[Compilation, Workflow], Iterator[Problem]], ...]] = (
    shape.check,
    exclusive.check,
    reads.check,
    into.check,
    parallel.check,
)


def find_problems(compilation: Compilation) -> list[Problem]:
    """All problems, in their order."""
    found = in_order(tree.check(compilation), TREE_CODES)
    for flow in compilation.flows:
        if not flow.states:
            found.append(shape.no_states(compilation, flow))
            continue
        of_flow = chain.from_iterable(check(compilation, flow) for check in _FLOW_CHECKS)
        found += in_order(of_flow, FLOW_CODES)
    return found + in_order(names.check(compilation), NAME_CODES)


def find_warnings(compilation: Compilation) -> list[Problem]:
    """All warnings of a workflow without problems, in their order."""
    found: list[Problem] = []
    for flow in compilation.flows:
        unlikely = exclusive.check_coverage(compilation, flow)
        found += in_order(chain(unlikely, dead.check(compilation, flow)), WARNING_CODES)
    return found
