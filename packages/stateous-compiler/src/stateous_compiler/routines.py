"""Finding the routines in a supervisor's folder by parsing, never by importing (7.6)."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal, TypeAlias

#: What a decorator marks a function for: a state by its path in the contract, or a job's name.
_Mark: TypeAlias = tuple[Literal["state", "job"], str]

_STATES: Final = "contract.states."
#: What the names of these two modules are followed for.
_MODULES: Final = ("stateous", "contract")


def routines_in(folder: Path) -> dict[str, list[Path]]:
    """The states that have routines in ``folder``, as ``states.draft``, each with its files.

    Files that do not parse, and those that cannot be read, are passed over.
    """
    return _marked_in(folder, "state")


def jobs_in(folder: Path) -> dict[str, list[Path]]:
    """The jobs that have routines in ``folder``, as ``review/price``, each with its files."""
    return _marked_in(folder, "job")


def _marked_in(folder: Path, kind: Literal["state", "job"]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.py")):
        if path.name == "contract.py":
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for marked, name in dict.fromkeys(_marks_in(module.body)):
            if marked == kind:
                found.setdefault(name, []).append(path)
    return found


def _marks_in(body: Iterable[ast.stmt]) -> Iterator[_Mark]:
    names: dict[str, str] = {}
    for statement in _at_module_level(body):
        match statement:
            case ast.Import(names=imported):
                for alias in imported:
                    if alias.name in _MODULES:
                        names[alias.asname or alias.name] = alias.name
            case ast.ImportFrom(
                module=("stateous" | "contract") as module, names=imported, level=0
            ):
                for alias in imported:
                    names[alias.asname or alias.name] = f"{module}.{alias.name}"
            case ast.Assign(targets=targets, value=value):
                _assign(names, targets, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                _assign(names, [target], value)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for decorator in statement.decorator_list:
                    if (mark := _marked(decorator, names)) is not None:
                        yield mark


def _at_module_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        match statement:
            case ast.If(body=inner, orelse=rest):
                yield from _at_module_level([*inner, *rest])
            case ast.Try(body=inner, orelse=rest, handlers=handlers, finalbody=last):
                handled = [each for handler in handlers for each in handler.body]
                yield from _at_module_level([*inner, *handled, *rest, *last])
            case ast.With(body=inner):
                yield from _at_module_level(inner)


def _assign(names: dict[str, str], targets: Iterable[ast.expr], value: ast.expr) -> None:
    path = _path(value, names)
    for target in targets:
        if isinstance(target, ast.Name):
            if path is None:
                names.pop(target.id, None)
            else:
                names[target.id] = path


def _marked(decorator: ast.expr, names: dict[str, str]) -> _Mark | None:
    if not isinstance(decorator, ast.Call):
        return None
    match _path(decorator.func, names):
        case "stateous.on_job":
            match _only_argument(decorator, "name"):
                case ast.Constant(value=str(job)):
                    return "job", job
        case "stateous.on_state":
            state = _only_argument(decorator, "ref")
            path = None if state is None else _path(state, names)
            if path is not None and path.startswith(_STATES):
                return "state", path.removeprefix("contract.")
    return None


def _only_argument(call: ast.Call, name: str) -> ast.expr | None:
    match call:
        case ast.Call(args=[argument], keywords=[]):
            return argument
        case ast.Call(args=[], keywords=[ast.keyword(arg=given, value=argument)]) if given == name:
            return argument
    return None


def _path(node: ast.expr, names: dict[str, str]) -> str | None:
    """What a name or a chain of attributes stands for, as a dotted path from its module."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=value, attr=attribute):
            base = _path(value, names)
            return None if base is None else f"{base}.{attribute}"
        case _:
            return None
