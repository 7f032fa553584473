"""A decision on two families at once: a send to a key is delivered (`docs/spec/statechart.md` 7).

Its family is the sender's and the receiver's laid together. What it changes belongs to one of them,
or to a new one that it started: the effects are parted again by the top token of each row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from stateous_controlplane.engine.effects import Effects
from stateous_controlplane.engine.family import Family


def joined(sender: Family, receiver: Family) -> Family:
    """Both families as one; a pause holds what is the receiver's."""
    return Family(
        tokens={**sender.tokens, **receiver.tokens},
        tasks={**sender.tasks, **receiver.tasks},
        timers={**sender.timers, **receiver.timers},
        keys={**sender.keys, **receiver.keys},
        memory={**sender.memory, **receiver.memory},
        held={**sender.held, **receiver.held},
        holding=receiver.holding,
        tickets={**sender.tickets, **receiver.tickets},
        kept={**sender.kept, **receiver.kept},
        outbox={**sender.outbox, **receiver.outbox},
    )


def parted(effects: Effects, top_of: Callable[[str], str]) -> Mapping[str, Effects]:
    """What ``effects`` change of each family, by its top token; entries and counts are left out."""
    parts: dict[str, Effects] = defaultdict(Effects)
    for token in effects.tokens.values():
        parts[token.top].tokens[token.token] = token
    for task in effects.tasks.values():
        parts[top_of(task.token)].tasks[task.id] = task
    for timer in effects.timers.values():
        parts[top_of(timer.token)].timers[timer.id] = timer
    for key, use in effects.keys.items():
        parts[top_of(key[0])].keys[key] = use
    for place, value in effects.memory.items():
        parts[top_of(place[0])].memory[place] = value
    for token_id in effects.forgotten:
        parts[top_of(token_id)].forgotten.add(token_id)
    for held in effects.held:
        parts[held.top].held.append(held)
    for released in effects.released:
        parts[top_of(released[0])].released.add(released)
    for digest, ticket in effects.tickets.items():
        parts[top_of(ticket.token)].tickets[digest] = ticket
    for kept in effects.kept:
        parts[kept.top].kept.append(kept)
    for unkept in effects.unkept:
        parts[top_of(unkept[0])].unkept.add(unkept)
    for sent in effects.outbox:
        parts[top_of(sent.token)].outbox.append(sent)
    for delivered in effects.delivered:
        parts[top_of(delivered[0])].delivered.add(delivered)
    return parts
