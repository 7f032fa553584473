"""A whole family as it is on record, for the engine's rules."""

from __future__ import annotations

from stateous.json import JsonText
from stateous_controlplane.engine.family import Family
from stateous_controlplane.store.held import held_event
from stateous_controlplane.store.keys import key_use
from stateous_controlplane.store.memory.tables import Tables


def family_of(tables: Tables, top: str) -> Family:
    """A whole family as it is on record, ended rows too."""
    tokens = {each.token: each for each in tables.tokens.values() if each.top == top}
    kept = {place: each for place, each in tables.kept.items() if each and each.top == top}
    held = {
        place: held_event(*place, each.top, each.arrival, entry.at, JsonText(entry.data.text))
        for place, each in kept.items()
        for entry in [tables.ledger[place]]
    }
    memory: dict[tuple[str, str], dict[str, JsonText]] = {}
    for (token, state, key), value in tables.memory.items():
        if token in tokens and value is not None:
            memory.setdefault((token, state), {})[key] = value
    return Family(
        tokens=tokens,
        tasks={each.id: each for each in tables.tasks.values() if each.token in tokens},
        timers={each.id: each for each in tables.timers.values() if each.token in tokens},
        keys={
            (each.token, each.key): key_use(each.kind, each.data)
            for each in tables.ledger.values()
            if each.key is not None and each.token in tokens
        },
        memory=memory,
        held=held,
        holding=len(held),
        tickets={each.digest: each for each in tables.tickets.values() if each.token in tokens},
        kept={
            place: each
            for place, each in tables.deferred.items()
            if each is not None and each.token in tokens
        },
    )
