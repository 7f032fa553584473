"""Templates: values with ``${…}`` at any depth (`docs/spec/statechart.md` 1.4, 12).

::

    template = { text | "${" expression "}" | "$${" }

Alone in its text an expression keeps its type; with text around it, it makes a text. ``$${`` stands
for ``${``. Keys of maps are texts as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from stateous.json import Json, write_json
from stateous.statechart.expressions import (
    EvaluationError,
    Expression,
    ExpressionError,
    compile_expression,
)

Scope: TypeAlias = Mapping[str, Json]

_OPEN: Final = "${"
_ESCAPED: Final = "$${"
_QUOTES: Final = ('"""', "'''", '"', "'")


@dataclass(frozen=True, slots=True)
class Source:
    """An expression's text inside a template, trimmed."""

    text: str


#: What a text is made of, in order; neighbouring texts are one.
Part: TypeAlias = str | Source


def split_text(text: str) -> tuple[Part, ...]:
    """The parts of a template. A ``}`` inside braces or a CEL text does not end an expression.

    Raises:
        ExpressionError: a ``${`` that is not closed.
    """
    parts: list[Part] = []
    plain: list[str] = []
    at = 0
    while at < len(text):
        if text.startswith(_ESCAPED, at):
            plain.append(_OPEN)
            at += len(_ESCAPED)
        elif text.startswith(_OPEN, at):
            end = _end_of(text, at + len(_OPEN))
            if plain:
                parts.append("".join(plain))
                plain.clear()
            parts.append(Source(text[at + len(_OPEN) : end].strip()))
            at = end + 1
        else:
            after = text.find("$", at + 1)
            after = len(text) if after < 0 else after
            plain.append(text[at:after])
            at = after
    if plain:
        parts.append("".join(plain))
    return tuple(parts)


def sole_expression(text: str) -> str | None:
    """The expression that ``text`` is, without ``${`` and ``}``; None when it is anything else.

    Raises:
        ExpressionError: a ``${`` that is not closed.
    """
    parts = split_text(text)
    return parts[0].text if len(parts) == 1 and isinstance(parts[0], Source) else None


def has_expression(text: str) -> bool:
    """Whether ``text`` holds a ``${`` that is not escaped, closed or not."""
    return _OPEN in text.replace(_ESCAPED, "")


def _end_of(text: str, start: int) -> int:
    """Where the ``}`` stands that closes the expression that begins at ``start``."""
    depth = 0
    at = start
    while at < len(text):
        quote = next((each for each in _QUOTES if text.startswith(each, at)), None)
        if quote is not None:
            at = _after_text(text, at, quote)
        elif text.startswith("//", at):
            line_end = text.find("\n", at)
            at = len(text) if line_end < 0 else line_end
        elif text[at] == "}" and depth == 0:
            return at
        else:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
    raise ExpressionError(f"'${{' is not closed in {_shown(text)}")


def _after_text(text: str, at: int, quote: str) -> int:
    # In a raw text (r"…", rb"…") a backslash is only a backslash.
    prefix = text[max(0, at - 2) : at].lower()
    raw = prefix.endswith(("r", "rb", "br")) and not _goes_on(text, at, prefix)
    at += len(quote)
    while at < len(text):
        if text.startswith(quote, at):
            return at + len(quote)
        at += 2 if text[at] == "\\" and not raw else 1
    return at


def _goes_on(text: str, at: int, prefix: str) -> bool:
    """Whether the letters before a quote are the end of a longer name, and no prefix."""
    length = 2 if prefix in ("rb", "br") else 1
    before = text[at - length - 1 : at - length]
    return bool(before) and (before.isalnum() or before == "_")


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 60 else repr(text[:59]) + "…"


class Template:
    """A value that is made from a scope. One without expressions is the same each time."""

    __slots__ = ("_make", "expressions")

    def __init__(
        self, make: Callable[[Scope], Json], expressions: tuple[Expression, ...] = ()
    ) -> None:
        self._make = make
        #: Every expression in it, in the order of the text.
        self.expressions = expressions

    def evaluate(self, scope: Scope) -> Json:
        """The value; nobody may change it.

        Raises:
            FailedTemplate: an expression has no value.
        """
        return self._make(scope)

    def reads(self, root: str) -> bool:
        """Whether one of its expressions reads ``root`` or something of it."""
        return any(each.reads(root) for each in self.expressions)


class FailedTemplate(EvaluationError):
    """An expression of a template failed; ``source`` is its text, ``reason`` says why."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"${{{source}}}: {reason}")
        self.source = source
        self.reason = reason


def compile_value(value: Json) -> Template:
    """The template that ``value`` is, with ``${…}`` in its texts at any depth.

    Raises:
        ExpressionError: a text in it is no template; the first one, in order.
    """
    match value:
        case str():
            return _of_text(value)
        case list():
            listed = [compile_value(member) for member in value]
            return _of_parts(listed, lambda scope: [each.evaluate(scope) for each in listed])
        case dict():
            named = {key: compile_value(member) for key, member in value.items()}
            return _of_parts(
                named.values(),
                lambda scope: {key: each.evaluate(scope) for key, each in named.items()},
            )
        case _:
            return _constant(value)


def _of_parts(parts: Iterable[Template], make: Callable[[Scope], Json]) -> Template:
    expressions = tuple(each for part in parts for each in part.expressions)
    return Template(make, expressions) if expressions else _constant(make({}))


def _of_text(text: str) -> Template:
    parts = split_text(text)
    compiled = [part if isinstance(part, str) else compile_expression(part.text) for part in parts]
    expressions = tuple(part for part in compiled if isinstance(part, Expression))
    if not expressions:
        return _constant("".join(part for part in parts if isinstance(part, str)))
    if len(compiled) == 1:
        sole = expressions[0]
        return Template(lambda scope: _value_of(sole, scope), expressions)
    return Template(
        lambda scope: "".join(
            part if isinstance(part, str) else _inside_text(part, scope) for part in compiled
        ),
        expressions,
    )


def _constant(value: Json) -> Template:
    return Template(lambda scope: value)


def _value_of(expression: Expression, scope: Scope) -> Json:
    try:
        return expression.evaluate(scope)
    except EvaluationError as error:
        raise FailedTemplate(expression.source, str(error)) from None


def _inside_text(expression: Expression, scope: Scope) -> str:
    value = _value_of(expression, scope)
    if value is None:
        raise FailedTemplate(expression.source, "null has no form inside a text")
    return value if isinstance(value, str) else write_json(value)
