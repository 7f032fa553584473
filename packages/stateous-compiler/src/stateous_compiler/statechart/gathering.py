"""Everything that a chart names, in one document: scripts, machines, machines of machines.

Each file is read once. Lowering asks for the normal path of what it meets, and what is new waits
here until its turn comes, so that machines may name one another in circles.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path as FilePath

from stateous.json import Json, same_json
from stateous.statechart.document import IN_PLACE, ITSELF, KIND, Path
from stateous.statechart.facts import Finding
from stateous.statechart.fields import shown
from stateous.statechart.templates import has_expression
from stateous_compiler.statechart.nodes import Leaf, Members, Node, Place, plain, text_of
from stateous_compiler.statechart.problems import ChartProblem
from stateous_compiler.statechart.sources import CannotRead, Sources
from stateous_compiler.statechart.yaml_reader import read_yaml


@dataclass(frozen=True, slots=True)
class Waiting:
    """A machine that is to be lowered; ``file`` is what its own paths are relative to."""

    path: str
    file: str
    source: Members


class Gathering:
    """What was met of one chart so far, and the problems of meeting it."""

    def __init__(self, chart: FilePath) -> None:
        self.file = chart.name
        self.scripts: dict[str, Leaf] = {}
        self.machines: dict[str, Node] = {}
        #: Problems of files, which no part of the document stands for.
        self.problems: list[ChartProblem] = []
        self._findings: list[tuple[Finding, Place]] = []
        self._sources = Sources(chart)
        self._waiting: deque[Waiting] = deque()
        self._met = {ITSELF, self.file}
        #: Machines whose files are no YAML.
        self._unreadable: set[str] = set()
        #: Where the document names what is a problem already.
        self.missing: set[Path] = set()
        self._nameless = 0

    def add(self, code: str, path: Path, text: str, place: Place) -> None:
        """Note a problem that only the source form shows; ``path`` is its place in the document."""
        self._findings.append((Finding(code, path, text), place))

    def told(self, raw: Json) -> list[ChartProblem]:
        """All problems so far; ``raw`` is the document that they are about."""
        noted = []
        for finding, place in self._findings:
            code, where, text = finding.problem(raw)
            noted.append(ChartProblem(code, place, where, text))
        return [*self.problems, *noted]

    def chart(self) -> Members | None:
        """The tree of the chart itself; None when there is none.

        Raises:
            CannotRead: its file cannot be read.
        """
        return self._tree(self.file)

    def next(self) -> Waiting | None:
        """The next machine that has been met and not been lowered."""
        return self._waiting.popleft() if self._waiting else None

    def lowered(self, path: str, machine: Node) -> None:
        """Take a machine in normal form; of two different ones written in place, the first."""
        other = self.machines.setdefault(path, machine)
        if not same_json(plain(other), plain(machine)):
            text = f"two different machines are named {path.removeprefix(IN_PLACE)!r}"
            self.add("duplicate-machine", ("machines", path, KIND), text, machine.place)

    def script(self, named: Node, file: str, path: Path) -> Node:
        """The name of a script as the document has it; ``file`` names it."""
        text = text_of(named)
        if not text or has_expression(text):
            return named
        try:
            normal = self._sources.path_of(text, file)
            if normal not in self.scripts:
                self.scripts[normal] = Leaf(Place(normal, 1), self._sources.script(normal))
        except CannotRead as error:
            return self._missing(error, named, path)
        return Leaf(named.place, normal)

    def machine(self, named: Node, file: str, path: Path) -> Node:
        """The name of a machine as the document has it: a path, or what its own name makes."""
        if isinstance(named, Members):
            return self._in_place(named, file)
        text = text_of(named)
        if not text or has_expression(text) or text == ITSELF or text.startswith(IN_PLACE):
            return named
        try:
            normal = self._sources.path_of(text, file)
            if normal == self.file:
                return Leaf(named.place, ITSELF)
            if normal not in self._met:
                tree = self._tree(normal)
                self._met.add(normal)
                if tree is None:
                    self._unreadable.add(normal)
                else:
                    self._waiting.append(Waiting(normal, normal, tree))
        except CannotRead as error:
            return self._missing(error, named, path)
        if normal in self._unreadable:
            self.missing.add(path)
        return Leaf(named.place, normal)

    def _missing(self, error: CannotRead, named: Node, path: Path) -> Node:
        self.missing.add(path)
        self.add(error.code, path, str(error), named.place)
        return named

    def _in_place(self, machine: Members, file: str) -> Node:
        name = text_of(machine.get(KIND))
        if name is None:
            self._nameless += 1
            name = f"?{self._nameless}"
        path = f"{IN_PLACE}{name}"
        self._waiting.append(Waiting(path, file, machine))
        return Leaf(machine.place, path)

    def _tree(self, path: str) -> Members | None:
        tree, problems = read_yaml(self._sources.chart(path), path)
        self.problems += problems
        if tree is None or isinstance(tree, Members):
            return tree
        text = f"a chart must be a mapping, not {shown(plain(tree))}"
        self.problems.append(ChartProblem("bad-value", tree.place, "", text))
        return None
