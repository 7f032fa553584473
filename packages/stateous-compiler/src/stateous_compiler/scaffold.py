"""`stateous init`: the files of a new workflow and of a supervisor's folder (7.4 to 7.6)."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from stateous.errors import GraphError, StateousError
from stateous.graph.document import GraphDocument
from stateous.graph.documents import read_document
from stateous.graph.schemas import compile_schemas
from stateous.names import is_name
from stateous.statechart.document import ChartDocument
from stateous_compiler import starter
from stateous_compiler.compile import check_flow, compile_flow
from stateous_compiler.contract import contract_text
from stateous_compiler.errors import CompileError
from stateous_compiler.files import write_whole
from stateous_compiler.front_end import is_chart
from stateous_compiler.job_stubs import job_stubs_of
from stateous_compiler.routines import jobs_in, routines_in
from stateous_compiler.stubs import Stub, stubs_of

#: The lowest releases that fit what is written here.
NEEDS_COMPILER: Final = "stateous-compiler>=0.1.0"
NEEDS_SUPERVISOR: Final = "stateous-supervisor>=0.1.0"

_LOCAL_URL: Final = "http://127.0.0.1:8080"

Action = Literal["wrote", "kept", "skipped", "unused"]


@dataclass(frozen=True, slots=True)
class FileAction:
    """What was done with one file; ``note`` says more, or is None. Prints as the command's line."""

    action: Action
    path: Path
    note: str | None = None

    def __str__(self) -> str:
        return f"{self.action:<8} {self._rest()}"

    def _rest(self) -> str:
        if self.note is None:
            return str(self.path)
        match self.action:
            case "wrote":
                return f"{self.path} ({self.note})"
            case "kept":
                return self.note
            case "skipped" | "unused":
                return f"{self.path}: {self.note}"


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The files of one ``init``, in the order of its lines, and the commands to type next."""

    files: tuple[FileAction, ...]
    next: tuple[str, ...]


def init_workflow(name: str, *, find_links: str | Path | None = None) -> Scaffold:
    """Write the starter workflow ``name`` into a folder of that name, and compile it.

    Raises:
        CompileError: the name breaks the rule, the folder has a ``flow.py``, ``find_links`` holds
            no wheel of Stateous, or a file cannot be written.
        FlowImportError, InvalidWorkflow: an older ``schemas.py`` of the folder does not fit the
            starter. The files stay.
    """
    if not is_name(name):
        raise CompileError(
            f"{name!r} cannot name a workflow: write a small letter and at most 63 more letters,"
            " digits, '-' and '_'"
        )
    folder = Path(name)
    flow = folder / "flow.py"
    if flow.exists():
        raise CompileError(f"{name} already has flow.py: give a different name, or edit that file")
    wheels = _wheels(find_links)
    files = [
        _write(flow, starter.flow_text(name)),
        _write_new(folder / "schemas.py", starter.SCHEMAS),
        _write_new(folder / "pyproject.toml", _pyproject(folder, NEEDS_COMPILER, wheels)),
    ]
    graph = compile_flow(flow).graph
    files.append(FileAction("wrote", graph))
    commands = (
        f"stateous serve {graph}",
        f"stateous init supervisor {flow} {name}-supervisor",
    )
    return Scaffold(tuple(files), commands)


def init_supervisor(
    source: str,
    folder: str | Path,
    *,
    fetch: Callable[[str], bytes],
    find_links: str | Path | None = None,
) -> Scaffold:
    """Write or renew a supervisor's folder for the workflow or the chart at ``source``.

    ``source`` is a URL, a ``.py``, a ``.yaml`` or a ``.json`` file. Routines of a chart need no
    contract. ``fetch`` asks the control plane at a URL
    for its graph document and raises a StateousError when it cannot.

    Raises:
        CompileError: the source gives no workflow, its names cannot be written in Python,
            ``find_links`` holds no wheel of Stateous, or a file cannot be written.
    """
    target = Path(folder)
    wheels = _wheels(find_links)
    document = _source_of(source, fetch)
    if isinstance(document, ChartDocument):
        files = [*_routines_of_chart(document, target)]
    else:
        files = [*_routines_of_workflow(document, source, target)]
    url = source if _is_url(source) else _LOCAL_URL
    files.append(_write_new(target / "stateous.yaml", _settings(url)))
    project = _pyproject(target, NEEDS_SUPERVISOR, wheels)
    files.append(_write_new(target / "pyproject.toml", project))
    return Scaffold(tuple(files), (f"stateous supervise {shlex.quote(str(target))}",))


def _source_of(source: str, fetch: Callable[[str], bytes]) -> GraphDocument | ChartDocument:
    if _is_url(source):
        try:
            data = fetch(source)
        except StateousError as error:
            raise CompileError(f"cannot fetch the workflow from {source}: {error}") from None
        return _read(source, data)
    path = Path(source)
    if path.suffix == ".py" and path.is_file():
        return check_flow(source).document
    if is_chart(path) and path.is_file():
        # What reads YAML and CEL takes longer to load than a workflow to compile.
        from stateous_compiler.statechart.compile import check_chart

        return check_chart(source).document
    if path.suffix == ".json" and path.is_file():
        try:
            return _read(source, path.read_bytes())
        except OSError as error:
            raise CompileError(f"cannot read {source}: {error.strerror or error}") from None
    raise CompileError(
        f"{source} is neither a flow.py, nor a chart such as review.yaml, nor a graph file such as"
        " build/orders.json, nor the URL of a control plane"
    )


def _read(source: str, data: bytes) -> GraphDocument | ChartDocument:
    try:
        document = read_document(data)
        if isinstance(document, GraphDocument):
            compile_schemas(document)
        return document
    except GraphError as error:
        raise CompileError(f"cannot use {source}: {error}") from None


def _routines_of_workflow(
    document: GraphDocument, source: str, folder: Path
) -> Iterator[FileAction]:
    try:
        contract = contract_text(document)
    except GraphError as error:
        raise CompileError(f"cannot use {source}: {error}") from None
    yield _write(folder / "contract.py", contract)
    present, stubs = routines_in(folder), stubs_of(document)
    yield from _stubs(stubs, present, folder)
    for state in _left_over(stubs, present):
        name = "/".join(state.split(".")[1:])
        for path in present[state]:
            yield FileAction("unused", path, f"the workflow has no state {name!r}")


def _routines_of_chart(document: ChartDocument, folder: Path) -> Iterator[FileAction]:
    stubs = job_stubs_of(document)
    if not stubs:
        raise CompileError(
            f"no job of the chart {document.name!r} is a routine: its scripts are run by"
            " `stateous supervise --scripts`, without a folder"
        )
    present = jobs_in(folder)
    yield from _stubs(stubs, present, folder)
    for job in _left_over(stubs, present):
        for path in present[job]:
            yield FileAction("unused", path, f"the chart has no routine {job!r}")


def _stubs(
    stubs: list[Stub], present: Mapping[str, list[Path]], folder: Path
) -> Iterator[FileAction]:
    for stub in stubs:
        path = folder / stub.file
        if stub.path in present:
            yield FileAction("kept", present[stub.path][0], f"the routine of {stub.name!r}")
        elif path.exists():
            note = f"the file exists and has no routine for {stub.name!r}"
            yield FileAction("skipped", path, note)
        else:
            write_whole(path, stub.text)
            yield FileAction("wrote", path, stub.note)


def _left_over(stubs: list[Stub], present: Mapping[str, list[Path]]) -> list[str]:
    known = {stub.path for stub in stubs}
    return [name for name in present if name not in known]


def _write(path: Path, text: str) -> FileAction:
    write_whole(path, text)
    return FileAction("wrote", path)


def _write_new(path: Path, text: str) -> FileAction:
    return FileAction("kept", path) if path.exists() else _write(path, text)


def _is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _settings(url: str) -> str:
    return (
        "# The settings of this supervisor. A flag or an environment variable wins over them.\n"
        f"url: {json.dumps(url)}\n"
        "tasks: 4\n"
        '# name: "box-1"  # the name in histories and claims; without it, the name of the host\n'
    )


def _wheels(find_links: str | Path | None) -> Path | None:
    if find_links is None:
        return None
    folder = Path(find_links)
    if not any(folder.glob("stateous_*.whl")):
        raise CompileError(f"{find_links} holds no wheel stateous_*.whl")
    return folder.resolve()


def _pyproject(folder: Path, dependency: str, wheels: Path | None) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "-", folder.resolve().name).strip("._-") or "supervisor"
    text = (
        "# What this folder needs to run.\n"
        "[project]\n"
        f"name = {json.dumps(name)}\n"
        'version = "0.1.0"\n'
        'requires-python = ">=3.11"\n'
        f"dependencies = [{json.dumps(dependency)}]\n"
    )
    if wheels is not None:
        # TOML knows no surrogate pairs, and wants U+007F escaped.
        links = json.dumps(str(wheels), ensure_ascii=False).replace("\x7f", "\\u007f")
        text += f"\n[tool.uv]\nfind-links = [{links}]\n"
    return text
