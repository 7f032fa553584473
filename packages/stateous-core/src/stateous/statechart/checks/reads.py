"""Expressions: whether they are some, and whether what they read can be there."""

from __future__ import annotations

from collections.abc import Iterator

from stateous.json import Json
from stateous.limits import MAX_EXPRESSION_BYTES
from stateous.statechart.document import Path
from stateous.statechart.expressions import ExpressionError, compile_expression
from stateous.statechart.facts import Facts, Findings, Value, around
from stateous.statechart.fields import near, shown
from stateous.statechart.templates import Source, split_text


def check_reads(chart: Facts, findings: Findings) -> None:
    """`expression`, `unknown-name`, and `too-large` of a long one."""
    _Reads(chart, findings).check()


class _Reads:
    def __init__(self, chart: Facts, findings: Findings) -> None:
        self._chart = chart
        self._findings = findings
        self._states = {state.name: None for state in chart.states}
        self._tickets = {ticket.state: ticket.name for ticket in chart.tickets}

    def check(self) -> None:
        for value in self._chart.values:
            for path, source in self._sources(value):
                self._expression(source, path, value)

    def _sources(self, value: Value) -> Iterator[tuple[Path, str]]:
        """Each expression in ``value``, with its place."""
        if value.bare and isinstance(value.value, str):
            yield value.path, value.value
            return
        for path, text in _texts(value.value, value.path):
            try:
                parts = split_text(text)
            except ExpressionError as error:
                self._findings.add("expression", path, str(error))
                continue
            yield from ((path, part.text) for part in parts if isinstance(part, Source))

    def _expression(self, source: str, path: Path, value: Value) -> None:
        size = len(source.encode("utf-8", "surrogatepass"))
        if size > MAX_EXPRESSION_BYTES:
            self._findings.add(
                "too-large",
                path,
                f"an expression has at most {MAX_EXPRESSION_BYTES} bytes, not {size}",
            )
            return
        try:
            names = compile_expression(source).names
        except ExpressionError as error:
            self._findings.add("expression", path, f"{shown(source)}: {error}")
            return
        for name in sorted(names):
            wrong = self._wrong(name, value) if len(name) > 1 else None
            if wrong is not None:
                self._findings.add("unknown-name", path, wrong)

    def _wrong(self, name: tuple[str, ...], value: Value) -> str | None:
        """Why what ``name`` reads is never there, or None."""
        root, member = name[0], name[1]
        match root:
            case "states" if member not in self._states:
                return f"{shown(member)} is no state{near(member, self._states)}"
            case "input" if self._chart.input is not None and member not in self._chart.input:
                return f"{shown(member)} is no declared input{near(member, self._chart.input)}"
            case "tickets":
                return self._wrong_ticket(member, value)
            case _:
                return None

    def _wrong_ticket(self, member: str, value: Value) -> str | None:
        scope = {
            self._tickets[state]
            for state in around(value.state, self._chart)
            if state in self._tickets
        }
        if member not in scope:
            return (
                f"{shown(member)} is no ticket of this state or one around it{near(member, scope)}"
            )
        if not value.entered and self._tickets.get(value.state) == member:
            return f"the ticket {shown(member)} is issued after the timers of its state are started"
        return None


def _texts(value: Json, path: Path) -> Iterator[tuple[Path, str]]:
    match value:
        case str():
            yield path, value
        case list():
            for at, member in enumerate(value):
                yield from _texts(member, (*path, at))
        case dict():
            for key, member in value.items():
                yield from _texts(member, (*path, key))
        case _:
            return
