"""Sends and transitions of a chart in their normal form, read (`docs/spec/statechart.md` 1.3)."""

from __future__ import annotations

from stateous.json import Json, JsonObject
from stateous.limits import MAX_RUN_KEY
from stateous.statechart.document import (
    Path,
    Receiver,
    SendSpec,
    ToChild,
    ToKey,
    ToMachine,
    ToParent,
    TransitionSpec,
)
from stateous.statechart.facts import ChildSend, Facts, Findings, MachineSend, Named, Value
from stateous.statechart.fields import (
    PARENT,
    SEND,
    TO,
    TRANSITION,
    event_name,
    filled_list,
    mapping,
    shown,
    text,
    unknown_fields,
)
from stateous.statechart.templates import has_expression


class Sends:
    """The reader of the sends of one state; each place has its scope and its rules."""

    def __init__(self, state: Path, facts: Facts, findings: Findings) -> None:
        self._state = state
        self._facts = facts
        self._findings = findings

    def transitions(self, value: Json, path: Path) -> tuple[TransitionSpec, ...]:
        """The transitions of one event, in order."""
        listed = filled_list(value, path, "the transitions of an event", self._findings)
        read = [self._transition(each, (*path, at)) for at, each in enumerate(listed)]
        return tuple(each for each in read if each is not None)

    def sends(self, value: Json, path: Path, *, on_exit: bool = False) -> tuple[SendSpec, ...]:
        """A list of sends, in order."""
        listed = filled_list(value, path, "sends", self._findings)
        read = [self._send(each, (*path, at), on_exit) for at, each in enumerate(listed)]
        return tuple(each for each in read if each is not None)

    def _transition(self, value: Json, path: Path) -> TransitionSpec | None:
        raw = mapping(value, path, "a transition", self._findings)
        if raw is None:
            return None
        unknown_fields(raw, TRANSITION, path, "a transition", self._findings)
        go = self._go(raw, path)
        when = self._when(raw, path)
        sends = self.sends(raw["send"], (*path, "send")) if "send" in raw else ()
        return TransitionSpec(path, go, when, sends)

    def _go(self, raw: JsonObject, path: Path) -> str | None:
        if "go" not in raw:
            return None
        place = (*path, "go")
        go = text(raw["go"], place, "the target of a transition", self._findings)
        if go is not None:
            self._facts.targets.append(Named(go, place, self._state))
        return go

    def _when(self, raw: JsonObject, path: Path) -> str | None:
        if "when" not in raw:
            return None
        when, place = raw["when"], (*path, "when")
        if not isinstance(when, str):
            self._findings.add(
                "when-not-expression",
                place,
                f"a condition is one expression, '${{…}}', and not {shown(when)}",
            )
            return None
        self._facts.values.append(Value(when, place, self._state, bare=True))
        return when

    def _send(self, value: Json, path: Path, on_exit: bool) -> SendSpec | None:
        raw = mapping(value, path, "a send", self._findings)
        if raw is None:
            return None
        unknown_fields(raw, SEND, path, "a send", self._findings)
        event = self._event(raw, path)
        to = self._receiver(raw, path, event, on_exit)
        if "data" in raw:
            self._facts.values.append(Value(raw["data"], (*path, "data"), self._state))
        if to is None or event is None:
            return None
        return SendSpec(path, to, event, raw.get("data"))

    def _event(self, raw: JsonObject, path: Path) -> str | None:
        if "event" not in raw:
            self._findings.add("bad-send", path, "a send needs the name of an 'event'")
            return None
        event, place = raw["event"], (*path, "event")
        if isinstance(event, str) and has_expression(event):
            self._findings.add(
                "bad-send", place, f"the event of a send is fixed text, not {shown(event)}"
            )
            return None
        return event_name(event, place, "the event of a send", self._findings)

    def _receiver(
        self, raw: JsonObject, path: Path, event: str | None, on_exit: bool
    ) -> Receiver | None:
        if "to" not in raw:
            self._findings.add("bad-send", path, "a send needs 'to', whom it goes to")
            return None
        to, place = raw["to"], (*path, "to")
        match to:
            case str():
                self._facts.child_sends.append(ChildSend(to, event, place, self._state, on_exit))
                return ToParent() if to == PARENT else ToChild(to)
            case dict():
                return self._keyed(to, place, event)
            case _:
                self._findings.add(
                    "bad-value",
                    place,
                    "'to' must be 'parent', the name of a machine job, or a mapping with a key,"
                    f" not {shown(to)}",
                )
                return None

    def _keyed(self, to: JsonObject, place: Path, event: str | None) -> Receiver | None:
        unknown_fields(to, TO, place, "'to'", self._findings)
        key = self._key(to, place)
        if "machine" not in to:
            return None if key is None else ToKey(key)
        where = (*place, "machine")
        machine = text(to["machine"], where, "a machine", self._findings)
        if machine is None:
            return None
        if has_expression(machine):
            self._findings.add(
                "bad-send", where, f"the machine of a send is fixed, not {shown(machine)}"
            )
            return None
        self._facts.machine_sends.append(MachineSend(machine, event, where))
        return None if key is None else ToMachine(machine, key)

    def _key(self, to: JsonObject, place: Path) -> str | None:
        if "key" not in to:
            self._findings.add("bad-send", place, "'to' needs a 'key', which names the run")
            return None
        where = (*place, "key")
        key = text(to["key"], where, "a key", self._findings)
        if key is None:
            return None
        self._facts.values.append(Value(key, where, self._state))
        if not key:
            self._findings.add("bad-value", where, "a key has at least one character")
        elif len(key) > MAX_RUN_KEY and not has_expression(key):
            self._findings.add(
                "too-large", where, f"a key has at most {MAX_RUN_KEY} characters, not {len(key)}"
            )
        return key
