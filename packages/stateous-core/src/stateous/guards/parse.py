"""The parser of guards: Python's expression grammar, then a white list (`authoring.md` 3.1, 3.2).

Python's parser makes the syntax tree; nothing is evaluated. Each node is then lowered to one of
:mod:`stateous.guards.nodes` or refused. Lowering counts the levels on its way down and stops at
the limit, so no text, however deep, makes it recurse further.
"""

from __future__ import annotations

import ast
import math
import re
import threading
import warnings
from typing import Final

from stateous.errors import GuardError
from stateous.guards.guard import Guard, guard_of
from stateous.guards.nodes import (
    BRANCH_NAMES,
    And,
    BranchContext,
    BranchName,
    BranchPayload,
    Compare,
    Constant,
    ContextKey,
    Count,
    Expression,
    ListOf,
    Not,
    Operator,
    Or,
    PayloadField,
    Quantifier,
)
from stateous.limits import MAX_GUARD_DEPTH

_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_JSON_WORDS: Final = {value: word for word, value in _WORDS.items()}
_OPERATORS: Final[dict[type[ast.cmpop], Operator]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
}
#: Nodes with a sentence of their own; every other foreign node gets a general one.
_FOREIGN: Final[tuple[tuple[type[ast.expr], str], ...]] = (
    (ast.BinOp, "there is no arithmetic in a guard"),
    (ast.Tuple, "write a list in square brackets"),
    (ast.IfExp, "there is no if in a guard: use and, or, not"),
    (ast.NamedExpr, "a guard assigns nothing"),
    (ast.JoinedStr, "a text in a guard is plain, not an f-string"),
)
#: What does not parse because it is an operator of another language, and what it is here.
_SPELLINGS: Final = (
    ("&&", "and", re.compile("&&")),
    ("||", "or", re.compile(r"\|\|")),
    ("!", "not", re.compile("!(?!=)")),
    ("===", "==", re.compile("===")),
    ("=", "==", re.compile("(?<![=<>!:])=(?!=)")),
)
_STRING: Final = re.compile(r"""'[^']*'|"[^"]*\"""")
_SHOWN: Final = 40

# `warnings.catch_warnings` swaps a list of the whole process: one thread at a time.
_quiet = threading.Lock()


def parse_guard(text: str) -> Guard:
    """The guard that ``text`` spells.

    Raises:
        GuardError: ``text`` is not of the guard language; the sentence says why.
    """
    if not isinstance(text, str):
        raise GuardError(text, "a guard is text")
    source = text.strip()
    tree = _Lowering(text, source).expression(_python_tree(text, source), 1, None)
    return guard_of(text, tree)


def _python_tree(text: str, source: str) -> ast.expr:
    try:
        with _quiet, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, mode="eval").body
    except SyntaxError as error:
        advice = "".join(f"; {told}" for told in _other_spellings(source))
        raise GuardError(text, f"it does not parse: {error.msg}{advice}") from None
    except (RecursionError, MemoryError):
        raise GuardError(text, "it is too deep to parse") from None
    except Exception as error:  # what else the parser raises differs between releases of Python
        raise GuardError(text, f"it does not parse: {error}") from None


def _other_spellings(source: str) -> list[str]:
    """What to write for the operators of other languages, the expressions of charts among them."""
    code = _STRING.sub("''", source)
    return [f"for {seen} write {ours}" for seen, ours, sign in _SPELLINGS if sign.search(code)]


class _Lowering:
    """One text on its way from Python's nodes to ours.

    ``quantifier`` is the quantifier that the node stands in, as it is written, or None.
    """

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source

    def expression(self, node: ast.expr, level: int, quantifier: str | None) -> Expression:
        self._limit(level)
        match node:
            case ast.BoolOp(op=op, values=values):
                operands = tuple(self.expression(each, level + 1, quantifier) for each in values)
                return And(operands) if isinstance(op, ast.And) else Or(operands)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self.expression(operand, level + 1, quantifier))
            case ast.Compare():
                return self._compare(node, level, quantifier)
            case ast.List(elts=elements):
                return ListOf(
                    tuple(self._element(each, level + 1, quantifier) for each in elements)
                )
            case ast.Constant() | ast.UnaryOp():
                return self._constant(node)
            case ast.Name(id=name):
                return self._name(node, name, quantifier)
            case ast.Subscript():
                return self._context_key(node)
            case ast.Attribute():
                return self._field(node, quantifier)
            case ast.Call():
                return self._call(node, level, quantifier)
            case _:
                raise self._foreign(node)

    def _compare(self, node: ast.Compare, level: int, quantifier: str | None) -> Compare:
        operators: list[Operator] = []
        for op in node.ops:
            if type(op) not in _OPERATORS:
                raise self._refusal("there is no 'is' in a guard: use == and !=")
            operators.append(_OPERATORS[type(op)])
        operands = tuple(
            self.expression(each, level + 1, quantifier) for each in (node.left, *node.comparators)
        )
        compare = Compare(operands, tuple(operators))
        for (_, operator, right), written in zip(compare.pairs(), node.comparators, strict=True):
            if operator in {"in", "not in"} and not isinstance(right, _CONTAINERS):
                raise self._refusal(
                    f"after {operator!r} comes a list or something that holds one, "
                    f"not {self._show(written)}"
                )
        return compare

    def _limit(self, level: int) -> None:
        if level > MAX_GUARD_DEPTH:
            raise self._refusal(f"it nests more than {MAX_GUARD_DEPTH} levels deep")

    def _element(self, node: ast.expr, level: int, quantifier: str | None) -> Constant | BranchName:
        self._limit(level)
        match node:
            case ast.Constant() | ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert()):
                return self._constant(node)
            case ast.Name(id=name):
                return self._name(node, name, quantifier)
            case _:
                raise self._refusal(f"a list holds plain values only, not {self._show(node)}")

    def _constant(self, node: ast.Constant | ast.UnaryOp) -> Constant:
        match node:
            case ast.Constant(value=bool() | None as value):
                raise self._refusal(f"{value} is written {_JSON_WORDS[value]} in a guard")
            case ast.Constant(value=str() as value):
                return Constant(value)
            case ast.Constant(value=(int() | float()) as number):
                return Constant(self._finite(node, number))
            case ast.UnaryOp(
                op=ast.USub(), operand=ast.Constant(value=(int() | float()) as number)
            ):
                if not isinstance(number, bool):
                    return Constant(-self._finite(node, number))
            case _:
                pass
        if isinstance(node, ast.UnaryOp):
            raise self._refusal(
                f"{self._show(node)}: a sign stands before a number only, and it is '-'"
            )
        raise self._refusal(f"{self._show(node)} is no JSON value")

    def _finite(self, node: ast.expr, number: int | float) -> int | float:
        if isinstance(number, float) and not math.isfinite(number):
            raise self._refusal(f"{self._show(node)} is too large a number")
        return number

    def _name(self, node: ast.Name, name: str, quantifier: str | None) -> Constant | BranchName:
        if name in _WORDS:
            return Constant(_WORDS[name])
        for branch_name in BRANCH_NAMES:
            if name == branch_name:
                if quantifier is None:
                    raise self._refusal(
                        f"{name!r} has a meaning only inside branches.all or branches.any"
                    )
                return BranchName(branch_name)
        match name:
            case "ctx":
                raise self._refusal("write ctx['key'] with one key")
            case "payload" | "context":
                raise self._refusal(f"write {name}.field with one field")
            case "count":
                raise self._refusal("write count('event')")
            case "branches":
                raise self._refusal("write branches.all(...) or branches.any(...)")
            case _:
                raise self._refusal(f"unknown name {self._show(node)}")

    def _context_key(self, node: ast.Subscript) -> ContextKey:
        match node:
            case ast.Subscript(value=ast.Name(id="ctx"), slice=ast.Constant(value=str() as key)):
                return ContextKey(key)
            case ast.Subscript(
                value=ast.Name(id="payload"), slice=ast.Constant(value=str() as key)
            ) if key.isidentifier():
                raise self._refusal(f"write payload.{key}, not payload[{key!r}]")
            case _:
                raise self._refusal(
                    f"{self._show(node)}: only ctx['key'] is read like that, with one key"
                )

    def _field(
        self, node: ast.Attribute, quantifier: str | None
    ) -> PayloadField | BranchPayload | BranchContext:
        match node:
            case ast.Attribute(value=ast.Name(id="payload"), attr=name):
                return PayloadField(name) if quantifier is None else BranchPayload(name)
            case ast.Attribute(value=ast.Name(id="context"), attr=name):
                if quantifier is None:
                    raise self._refusal(
                        f"'context.{name}' has a meaning only inside branches.all or "
                        f"branches.any; outside write ctx[{name!r}]"
                    )
                return BranchContext(name)
            case ast.Attribute(value=ast.Name(id="ctx"), attr=name):
                raise self._refusal(f"write ctx[{name!r}], not ctx.{name}")
            case _:
                raise self._refusal(f"{self._show(node)}: only payload.field is read like that")

    def _call(self, node: ast.Call, level: int, quantifier: str | None) -> Count | Quantifier:
        match node.func:
            case ast.Name(id="count"):
                return self._count(node)
            case ast.Attribute(value=ast.Name(id="branches"), attr=("all" | "any") as kind):
                if quantifier is not None:
                    raise self._refusal(f"branches.{kind} stands inside {quantifier}")
                if node.keywords or len(node.args) != 1:
                    raise self._refusal(f"branches.{kind} takes one condition")
                condition = self.expression(node.args[0], level + 1, f"branches.{kind}")
                return Quantifier("all" if kind == "all" else "any", condition)
            case _:
                raise self._refusal(
                    f"{self._show(node.func)} cannot be called: there are count, branches.all and "
                    f"branches.any"
                )

    def _count(self, node: ast.Call) -> Count:
        match node:
            case ast.Call(args=[ast.Constant(value=str() as event)], keywords=[]):
                return Count(event)
            case _:
                raise self._refusal("count takes the name of one event, as text: count('event')")

    def _foreign(self, node: ast.expr) -> GuardError:
        for kind, sentence in _FOREIGN:
            if isinstance(node, kind):
                return self._refusal(f"{self._show(node)}: {sentence}")
        return self._refusal(f"{self._show(node)} is not of the guard language")

    def _refusal(self, reason: str) -> GuardError:
        return GuardError(self._text, reason)

    def _show(self, node: ast.expr) -> str:
        # The author's own characters: spelling a node out again could meet a huge number.
        written = ast.get_source_segment(self._source, node) or type(node).__name__
        return repr(written if len(written) <= _SHOWN else f"{written[: _SHOWN - 1]}…")


#: What may stand to the right of `in` and `not in`.
_CONTAINERS: Final = (
    ListOf,
    ContextKey,
    PayloadField,
    Count,
    BranchContext,
    BranchPayload,
    BranchName,
)
