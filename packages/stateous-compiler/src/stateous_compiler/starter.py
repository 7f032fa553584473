"""The starter that ``stateous init workflow`` writes (`docs/spec/authoring.md` 7.5)."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = '''"""The data of the workflow, as pydantic models."""

from pydantic import BaseModel


class Item(BaseModel):
    """The context: what a token carries from its start to its end."""

    title: str


class Verdict(BaseModel):
    """The payload of `reviewed`: what comes with the event."""

    approved: bool
    note: str = ""
'''

_FLOW: Final = '''"""The workflow '{name}': an item is drafted, and reviewed until it is approved."""

from stateous import END, START, Workflow

from schemas import Item, Verdict

# A token of this workflow carries an Item.
flow = Workflow("{name}", context=Item)

# The states. A supervisor runs a routine in each of them. A state can have a limit, for example
# timeout="2d", and retries for a routine that fails.
draft = flow.state("draft")
review = flow.state("review")

# The events. A routine reports them, or a program fires them from outside.
submitted = flow.event("submitted")
reviewed = flow.event("reviewed", payload=Verdict)

# The transitions: where an event leads. A new token begins at START and completes at END.
flow.transition(START, draft)
flow.transition(draft, review, on=submitted)

# A guard reads the payload, the context as ctx['title'], or how often an event has come as
# count('reviewed'). The transition with otherwise=True is taken when no guard is true.
flow.transition(review, END, on=reviewed, when="payload.approved == true")
flow.transition(review, draft, on=reviewed, otherwise=True)
'''


def flow_text(name: str) -> str:
    """The ``flow.py`` of a new workflow."""
    return _FLOW.replace("{name}", name)
