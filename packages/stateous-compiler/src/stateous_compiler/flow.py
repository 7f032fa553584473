"""Importing a ``flow.py`` and choosing the workflow to compile (`docs/spec/authoring.md` 5.1).

The import leaves no traces: import path, loaded modules, bytecode switch and current folder are as
they were, and what the file prints goes to stderr, because stdout may carry a JSON document.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path, PurePath
from types import ModuleType
from typing import Final

from pydantic import BaseModel

from stateous.errors import DefinitionError
from stateous.workflow import Place, Workflow
from stateous_compiler.errors import FlowImportError
from stateous_compiler.tree import below, models_of

# Packages that a file beside flow.py never replaces, whatever it is called: the workflow would be
# made of other classes than the compiler's.
_NEVER_HIDDEN: Final = frozenset(
    {
        *sys.stdlib_module_names,
        *("stateous", "stateous_client", "stateous_compiler", "stateous_controlplane"),
        *("stateous_supervisor", "stateous_cli"),
        *("pydantic", "pydantic_core", "annotated_types", "typing_extensions"),
    }
)

_KINDS: Final = "a workflow is Python, as flow.py, and a chart YAML, as review.yaml"


@dataclass(frozen=True, slots=True)
class LoadedFlow:
    """The workflow that a ``flow.py`` declares, and the folder that places are relative to."""

    folder: Path
    workflow: Workflow


def load_flow(given: str) -> LoadedFlow:
    """Import the file ``given`` and find the one workflow in it that no other one runs.

    Raises:
        FlowImportError: there is no such file, it does not import, or it does not declare exactly
            one such workflow.
    """
    path = Path(os.path.abspath(given))  # noqa: PTH100 - as the author's frames name the file
    if not path.is_file():
        raise FlowImportError(f"{given}: no such file")
    try:
        with _isolated(path):
            module = _import(path, given)
            workflow = _choose(module, given)
            _complete(models_of(below(workflow)))
    except FlowImportError as error:
        if path.suffix == ".py":
            raise
        # Whatever is no chart is read as Python: of another kind of file this told nobody why.
        raise FlowImportError(f"{error}; {_KINDS}") from error
    return LoadedFlow(path.parent, workflow)


def shown_place(place: Place, folder: Path) -> str:
    """``place`` as ``<file>:<line>``, the file relative to ``folder`` when it lies inside."""
    return f"{_relative(place.file, folder)}:{place.line}"


def _relative(file: str, folder: Path) -> str:
    path = Path(file)
    return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()


def _import(path: Path, given: str) -> ModuleType:
    name = path.stem if path.stem not in _NEVER_HIDDEN else "__flow__"
    spec = spec_from_file_location(name, path, loader=SourceFileLoader(name, str(path)))
    if spec is None or spec.loader is None:
        raise FlowImportError(f"{given} does not import: Python cannot load such a file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    folder = path.parent
    try:
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except DefinitionError as error:
        place = shown_place(Place(error.file, error.line), folder)
        raise FlowImportError(f"{place}: {error.sentence}") from None
    except SyntaxError as error:
        raise FlowImportError(_syntax_error(error, folder, given)) from None
    except BaseException as error:
        raise FlowImportError(_does_not_import(error, folder, given)) from None
    return module


def _syntax_error(error: SyntaxError, folder: Path, given: str) -> str:
    if error.filename is None or not Path(error.filename).is_file():
        return _does_not_import(error, folder, given)
    file = _relative(error.filename, folder)
    shown = file if PurePath(file).is_absolute() else PurePath(given).parent / file
    line = "" if error.lineno is None else f", line {error.lineno}"
    return f"{shown}{line}: {error.msg}"


def _does_not_import(error: BaseException, folder: Path, given: str) -> str:
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if _is_the_authors(frame.filename, folder) and frame.lineno is not None:
            place = f" ({shown_place(Place(frame.filename, frame.lineno), folder)})"
    reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"{given} does not import: {reason}{place}"


def _choose(module: ModuleType, given: str) -> Workflow:
    found = dict.fromkeys(value for value in vars(module).values() if isinstance(value, Workflow))
    if not found:
        raise FlowImportError(f"{given} defines no Workflow at module level")
    run = {
        child
        for workflow in found
        for flow in below(workflow)
        for state in flow.states.values()
        for child in state.parallel
    }
    candidates = [workflow for workflow in found if workflow not in run] or list(found)
    if len(candidates) > 1:
        names = ", ".join(repr(workflow.name) for workflow in candidates)
        raise FlowImportError(
            f"{given} defines {len(candidates)} workflows ({names}); keep one per file"
        )
    return candidates[0]


def _complete(models: Iterable[type[BaseModel]]) -> None:
    # Forward references are looked up in the modules of the models, so it is done while these are
    # loaded. What stays open is told as a problem of the model.
    for model in models:
        try:
            model.model_rebuild(raise_errors=False)
        except Exception:  # the same error comes again when the schema is written
            continue


@contextmanager
def _isolated(path: Path) -> Iterator[None]:
    folder = path.parent
    import_path = list(sys.path)
    bytecode = sys.dont_write_bytecode
    before = dict(sys.modules)
    current = None
    with suppress(OSError):  # it may have been removed
        current = Path.cwd()
    # A module of the same name from elsewhere must not stand in for a file beside flow.py.
    beside = {entry.stem for entry in folder.iterdir()} | {path.stem}
    for name in before:
        root = name.partition(".")[0]
        if root in beside and root not in _NEVER_HIDDEN:
            del sys.modules[name]
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for name, module in list(sys.modules.items()):
            if before.get(name) is not module and _is_of_the_flow(name, module, folder):
                del sys.modules[name]
        sys.modules.update(before)
        sys.path[:] = import_path
        sys.dont_write_bytecode = bytecode
        if current is not None:
            # Where the graph file goes is told relative to it.
            os.chdir(current)
        importlib.invalidate_caches()


def _is_of_the_flow(name: str, module: ModuleType, folder: Path) -> bool:
    # Libraries that flow.py imported stay loaded: many cannot be loaded twice in one process.
    if name.partition(".")[0] in _NEVER_HIDDEN:
        return False
    spec = getattr(module, "__spec__", None)
    locations = list(getattr(spec, "submodule_search_locations", None) or ())
    if spec is not None and spec.has_location and spec.origin is not None:
        locations.append(spec.origin)
    return any(_is_the_authors(location, folder) for location in locations)


def _is_the_authors(location: str, folder: Path) -> bool:
    """Whether the file is the author's own: in ``folder``, but in no environment inside it."""
    path = Path(location)
    return path.is_relative_to(folder) and not any(
        path.is_relative_to(entry)
        for entry in map(Path, sys.path)
        if entry != folder and entry.is_relative_to(folder)
    )
