"""Reading a chart's document: all its problems at once, or the chart (`docs/spec/statechart.md` 1.5).

`compile`, `PUT /graphs` and `POST /runs` come through here. Reading notes facts while it goes, the
checks judge them; none looks at a file, and no script is parsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

from stateous.errors import InvalidDefinition
from stateous.graph.document import FORMAT
from stateous.json import Json, JsonObject, depth_of, write_json
from stateous.limits import MAX_CHART_BYTES, MAX_JSON_DEPTH, MAX_SCRIPT_BYTES
from stateous.statechart.checks import find_problems
from stateous.statechart.document import IN_PLACE, ITSELF, KIND, ChartDocument, MachineSpec
from stateous.statechart.facts import MOST_FINDINGS, Enough, Facts, Finding, Findings
from stateous.statechart.fields import CHART, DOCUMENT, mapping, shown, unknown_fields
from stateous.statechart.tree import ChartReader


@dataclass(frozen=True, slots=True)
class Examined:
    """What reading a document gave: the chart, or why there is none."""

    chart: ChartDocument | None
    findings: tuple[Finding, ...]


def read_chart(raw: Json) -> ChartDocument:
    """The chart whose document ``raw`` is, which must come out of strict JSON.

    Raises:
        InvalidDefinition: it breaks a rule; the error carries every problem.
    """
    examined = examine(raw)
    if examined.chart is None:
        problems = [finding.problem(raw) for finding in examined.findings]
        raise InvalidDefinition(_name_in(raw), problems)
    return examined.chart


def examine(raw: Json) -> Examined:
    """Read ``raw``, and find all problems with their places as steps from the document on."""
    if depth_of(raw) > MAX_JSON_DEPTH:
        # Everything else goes down the document on the stack.
        text = f"the document nests more than {MAX_JSON_DEPTH} levels deep"
        return Examined(None, (Finding("too-large", (), text),))
    findings = Findings()
    try:
        chart = _Reading(raw, findings).chart()
    except Enough:
        more = Finding("too-large", (), f"there are more problems than these {MOST_FINDINGS}")
        return Examined(None, (*findings.found, more))
    return Examined(None if findings.found else chart, tuple(findings.found))


def _name_in(raw: Json) -> str:
    name = raw.get(KIND) if isinstance(raw, dict) else None
    return name if isinstance(name, str) else "?"


class _Reading:
    def __init__(self, raw: Json, findings: Findings) -> None:
        self._raw = raw
        self._findings = findings
        self._machines: dict[str, MachineSpec] = {}
        self._facts: dict[str, Facts] = {}

    def chart(self) -> ChartDocument | None:
        """The chart, which counts for nothing when there are findings."""
        raw = mapping(self._raw, (), "a chart's document", self._findings)
        if raw is None:
            return None
        size = len(write_json(raw).encode("utf-8", "surrogatepass"))
        if size > MAX_CHART_BYTES:
            self._findings.add(
                "too-large", (), f"the document has {size} bytes, over {MAX_CHART_BYTES}"
            )
        self._format(raw)
        unknown_fields(raw, DOCUMENT, (), "a chart's document", self._findings)
        scripts = self._scripts(raw)
        self._machine(ITSELF, raw, ())
        others = self._others(raw)
        for path, other in others.items():
            self._machine(path, other, ("machines", path))
        named = {ITSELF: raw, **others}
        find_problems(self._facts, named, scripts.keys(), self._findings)
        return ChartDocument(raw, self._machines, scripts)

    def _format(self, raw: JsonObject) -> None:
        found = raw.get("stateous")
        if type(found) is not int or found != FORMAT:
            self._findings.add(
                "bad-value",
                ("stateous",) if "stateous" in raw else (),
                f"the document has format {shown(found)}, but this Stateous reads format {FORMAT}",
            )

    def _scripts(self, raw: JsonObject) -> dict[str, str]:
        read = {}
        for path, source in self._files(raw, "scripts").items():
            place = ("scripts", path)
            if not isinstance(source, str):
                self._findings.add(
                    "bad-value", place, f"a script's source must be a text, not {shown(source)}"
                )
                source = ""
            elif len(source.encode("utf-8", "surrogatepass")) > MAX_SCRIPT_BYTES:
                self._findings.add(
                    "too-large", place, f"the script has over {MAX_SCRIPT_BYTES} bytes"
                )
            read[path] = source
        return read

    def _others(self, raw: JsonObject) -> dict[str, JsonObject]:
        read: dict[str, JsonObject] = {}
        for path, value in self._files(raw, "machines").items():
            place = ("machines", path)
            machine = mapping(value, place, "a machine", self._findings)
            if path == ITSELF:
                self._findings.add("bad-value", place, "'.' is the chart itself, and no machine")
            elif path.startswith(IN_PLACE) and machine and machine.get(KIND) != path[1:]:
                self._findings.add("bad-value", place, "the name of the machine is not its path's")
            if machine is not None and path != ITSELF:
                unknown_fields(machine, CHART, place, "a chart", self._findings)
                read[path] = machine
        return read

    def _files(self, raw: JsonObject, field: str) -> JsonObject:
        if field not in raw:
            self._findings.add("bad-value", (), f"the document needs {field!r}, by their paths")
            return {}
        files = mapping(raw[field], (field,), f"'{field}'", self._findings) or {}
        for path in files:
            if is_absolute(path):
                self._findings.add(
                    "file-not-found", (field, path), f"{shown(path)} is no path below the chart"
                )
        return files

    def _machine(self, machine: str, raw: JsonObject, path: tuple[str, ...]) -> None:
        reader = ChartReader(path, self._findings)
        spec = reader.read(raw, machine)
        self._facts[machine] = reader.facts
        if spec is not None:
            self._machines[machine] = spec


def is_absolute(path: str) -> bool:
    """Whether ``path`` begins at a root, of any system; an empty path counts as such."""
    return (
        not path
        or PurePosixPath(path).is_absolute()
        or bool(PureWindowsPath(path).drive or PureWindowsPath(path).root)
    )
