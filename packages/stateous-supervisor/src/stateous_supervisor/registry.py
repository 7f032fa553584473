"""The routines of a folder: its files are imported, what `@on_state` and `@on_job` marked is found.

`docs/spec/authoring.md` 8.3 and `docs/spec/statechart.md` 10.3.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

from stateous.routine import StateRef, job_of, state_of
from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.failures import raised_at
from stateous_supervisor.signatures import misfit

_log: Final = logging.getLogger("stateous.supervisor")

# Set on each module that came from a folder, so that another folder's `contract` is told from it.
_FROM_FOLDER: Final = "__stateous_folder__"


@dataclass(frozen=True, slots=True)
class Routine:
    """The function that works on the tasks of one state.

    ``place`` is where it was found, as ``<module>.<attribute>``. ``on_loop``: it is an
    ``async def`` function, and runs on the routines' event loop.
    """

    ref: StateRef[Any]
    call: Callable[..., Any]
    place: str
    on_loop: bool


@dataclass(frozen=True, slots=True)
class JobRoutine:
    """The function that works on the jobs of one name, ``<machine>/<routine>``."""

    name: str
    call: Callable[..., Any]
    place: str
    on_loop: bool


@dataclass(frozen=True, slots=True)
class Routines:
    """The routines of a folder, by the names of states and of jobs as a claim has them."""

    states: dict[str, Routine] = field(default_factory=dict)
    jobs: dict[str, JobRoutine] = field(default_factory=dict)


_R = TypeVar("_R", Routine, JobRoutine)


def load_routines(folder: Path) -> Routines:
    """Import ``folder/*.py`` and find the routines.

    The folder is put first on the import path, and stays there. Files whose names start with `_`
    are left to those that import them.

    Raises:
        SupervisorError: a file does not import; two routines for one state or one job; a routine
            for a state that the contract does not have; no routine at all.
    """
    home = folder.resolve()
    sys.path.insert(0, str(home))
    importlib.invalidate_caches()
    paths = sorted(path for path in home.glob("*.py") if not path.name.startswith("_"))
    _forget_other_folders(home, {path.stem for path in home.glob("*.py")})
    try:
        modules = [_import(path, home) for path in paths]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        place = None
        if not isinstance(error, SyntaxError):  # which names its own
            place = raised_at(error.__traceback__, home)
        if place is not None:
            _log.error("the import ended at %s", place)
        raise _refusal(folder, f"{type(error).__name__}: {error}") from error
    return _collect(folder, modules)


def _forget_other_folders(home: Path, stems: set[str]) -> None:
    """Drop the modules of a folder that this process loaded before under the same names."""
    for stem in stems:
        other = getattr(sys.modules.get(stem), _FROM_FOLDER, None)
        if other is not None and other != str(home):
            del sys.modules[stem]


def _import(path: Path, home: Path) -> ModuleType:
    module = sys.modules.get(path.stem)
    if module is not None and not _is_of(module, path):
        # The name is taken by a module that Python has loaded already, `queue` for example. The
        # file still has its routines, and nobody else loses his module.
        module = _import_beside(path)
    else:
        module = importlib.import_module(path.stem)
    setattr(module, _FROM_FOLDER, str(home))
    return module


def _is_of(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path


def _import_beside(path: Path) -> ModuleType:
    name = f"{path.stem}@{path.parent}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _collect(folder: Path, modules: list[ModuleType]) -> Routines:
    known = _states_of_contract(modules)
    found = Routines()
    seen: set[int] = set()
    for module in modules:
        for attribute, value in vars(module).items():
            ref, name = state_of(value), job_of(value)
            if (ref is None and name is None) or id(value) in seen:
                continue
            seen.add(id(value))
            place = f"{module.__name__.partition('@')[0]}.{attribute}"
            wrong = misfit(place, value)
            if wrong is not None:
                raise _refusal(folder, wrong)
            if name is not None:
                routine = JobRoutine(name, value, place, _is_async(value))
                _add(folder, found.jobs, name, routine)
            if ref is not None:
                if ref.name not in found.states and ref.name not in known:
                    raise _refusal(
                        folder,
                        f"{place} is for the state '{ref.name}', which contract.py does not have: "
                        f"remove it, or make contract.py again with stateous init supervisor",
                    )
                _add(folder, found.states, ref.name, Routine(ref, value, place, _is_async(value)))
    if not found.states and not found.jobs:
        raise _refusal(
            folder,
            f"there is none; decorate a function with {_mark_of(modules)} first",
        )
    return found


def _mark_of(modules: list[ModuleType]) -> str:
    if any(module.__name__ == "contract" for module in modules):
        return "@on_state(states.<state>)"
    return '@on_job("<machine>/<routine>")'


def _add(folder: Path, found: dict[str, _R], name: str, routine: _R) -> None:
    other = found.setdefault(name, routine)
    if other is not routine:
        raise _refusal(folder, f"'{name}' has two routines: {other.place} and {routine.place}")


def _states_of_contract(modules: list[ModuleType]) -> set[str]:
    contract = next((module for module in modules if module.__name__ == "contract"), None)
    return set(_names_in(getattr(contract, "states", None)))


def _names_in(scope: object) -> Iterator[str]:
    """The states of `contract.states`, and of the classes in it that stand for child workflows."""
    if not isinstance(scope, type):
        return
    for value in vars(scope).values():
        if isinstance(value, StateRef):
            yield value.name
        else:
            yield from _names_in(value)


def _is_async(routine: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(routine) or inspect.iscoroutinefunction(
        getattr(routine, "__call__", None)  # noqa: B004 an object with an `async def __call__`
    )


def _refusal(folder: Path, why: str) -> SupervisorError:
    return SupervisorError(f"cannot load the routines in {folder}: {why}")
