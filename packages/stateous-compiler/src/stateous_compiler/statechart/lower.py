"""Charts and their states, from the form that people write to the normal form.

`docs/spec/statechart.md` 1.1, 1.2 and 2. What both forms write alike goes through as it is: the
checks of the normal form judge it, wrong or not. Here only that is judged which the normal form no
longer shows.
"""

from __future__ import annotations

from stateous.statechart.document import Path
from stateous.statechart.expressions import ExpressionError
from stateous.statechart.fields import CHART, near, shown
from stateous.statechart.timers import timer_entry
from stateous.statechart.times import BadTime
from stateous_compiler.statechart.gathering import Gathering
from stateous_compiler.statechart.nodes import (
    Items,
    Leaf,
    Member,
    Members,
    Node,
    Place,
    is_null,
    plain,
    text_of,
)
from stateous_compiler.statechart.rules import Rules


class Lowering:
    """Lowers the charts that stand in one file."""

    def __init__(self, gathering: Gathering, file: str) -> None:
        self._gathering = gathering
        self._file = file
        self._rules = Rules(gathering, file)

    def chart(self, source: Members, path: Path) -> Members:
        """A chart; ``path`` is its place in the document."""
        lowered: dict[str, Member] = {}
        for key, (place, node) in source.members.items():
            if key not in CHART:
                text = f"a chart has no field {shown(key)}{near(key, CHART)}"
                self._gathering.add("unknown-field", (*path, key), text, place)
            elif key == "events":
                lowered[key] = Member(place, _events(node))
            else:
                lowered[key] = Member(place, node)
        return self._with_states(Members(source.place, lowered), path)

    def _with_states(self, source: Members, path: Path) -> Members:
        """Lower the states inside, and name the only one as the initial."""
        states = source.get("states")
        if not isinstance(states, Members):
            return source
        inside = {
            name: Member(place, self._state(node, (*path, "states", name)))
            for name, (place, node) in states.members.items()
        }
        members = dict(source.members)
        place, _ = members.pop("states")
        if "initial" not in members and len(inside) == 1:
            ((only, (at, _)),) = inside.items()
            members["initial"] = Member(at, Leaf(at, only))
        members["states"] = Member(place, Members(states.place, inside))
        return Members(source.place, members)

    def _state(self, source: Node, path: Path) -> Node:
        if not isinstance(source, Members):
            return source
        if "end" in source.members:
            return _final(source)
        lowered: dict[str, Member] = {}
        for key, (place, node) in source.members.items():
            kept = self._field(key, node, (*path, key))
            if kept is not None:
                lowered[key] = Member(place, kept)
        return self._with_states(Members(source.place, lowered), path)

    def _field(self, key: str, node: Node, path: Path) -> Node | None:
        """One field of a state; None when it has nothing to say."""
        match key:
            case "job":
                return self._job(node, path)
            case "jobs":
                return self._jobs(node, path)
            case "timers":
                return self._timers(node, path)
            case "entry" | "exit":
                return self._rules.around(node, path)
            case "on":
                return self._rules.on(node, path)
            case "defer":
                return None if node == Items(node.place, ()) else node
            case _:
                return node

    def _job(self, source: Node, path: Path) -> Node:
        if not isinstance(source, Members):
            return source
        lowered: dict[str, Member] = {}
        for key, (place, node) in source.members.items():
            match key:
                case "script":
                    node = self._gathering.script(node, self._file, (*path, key))
                case "machine":
                    node = self._gathering.machine(node, self._file, (*path, key))
                case "input" if is_null(node):
                    continue
                case "allow" if node == Items(node.place, ()) and "script" in source.members:
                    continue
                case _:
                    pass
            lowered[key] = Member(place, node)
        return Members(source.place, lowered)

    def _jobs(self, source: Node, path: Path) -> Node | None:
        if not isinstance(source, Members):
            self._wrong(path, "'jobs' must be a mapping of names", source)
            return None
        named: list[Node] = []
        for name, (place, node) in source.members.items():
            here = (*path, len(named))
            job = self._job(node, here)
            if not isinstance(job, Members):
                named.append(job)
                continue
            if "job" in job.members:
                text = "a job has no field 'job': it is named by its key"
                at = job.members["job"].place
                self._gathering.add("unknown-field", (*here, "job"), text, at)
            members = {"job": Member(place, Leaf(place, name))}
            members |= {key: member for key, member in job.members.items() if key != "job"}
            named.append(Members(place, members))
        return Items(source.place, tuple(named))

    def _timers(self, source: Node, path: Path) -> Node | None:
        if not isinstance(source, Members):
            self._wrong(path, "'timers' must be a mapping of names", source)
            return None
        timers = [_timer(name, node, place) for name, (place, node) in source.members.items()]
        return Items(source.place, tuple(timers)) if timers else None

    def _wrong(self, path: Path, what: str, source: Node) -> None:
        text = f"{what}, not {shown(plain(source))}"
        self._gathering.add("bad-value", path, text, source.place)


def _final(source: Members) -> Members:
    """A final. Fields of other states go through as they are: it must not have them, even empty."""
    lowered = {
        key: member
        for key, member in source.members.items()
        if key != "output" or not is_null(member.node)
    }
    return Members(source.place, lowered)


def _events(source: Node) -> Node:
    """Declared events; an entry that was left empty is the schema that takes anything."""
    if not isinstance(source, Members):
        return source
    lowered = {
        name: Member(place, Members(node.place, {}) if is_null(node) else node)
        for name, (place, node) in source.members.items()
    }
    return Members(source.place, lowered)


def _timer(name: str, time: Node, place: Place) -> Node:
    text = text_of(time)
    entry: dict[str, Node] = {"timer": Leaf(place, name), "text": time}
    if text is not None:
        try:
            written = timer_entry(name, text)
        except (BadTime, ExpressionError):
            pass  # the checks say so, of the text that stands there
        else:
            for key, value in written.items():
                if key not in entry and isinstance(value, str | int):
                    entry[key] = Leaf(time.place, value)
    return Members(place, {key: Member(place, node) for key, node in entry.items()})
