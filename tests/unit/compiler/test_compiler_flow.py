"""Importing a flow.py: what fails with which sentence, and that nothing of it stays behind."""

import sys
from pathlib import Path

import pytest

from stateous_compiler.compile import check_flow, compile_flow
from stateous_compiler.errors import CompileError, FlowImportError
from stateous_compiler.flow import load_flow

GOOD = """\
from stateous import END, START, Workflow
flow = Workflow("kettle")
boil = flow.state("boil")
ready = flow.event("ready")
flow.transition(START, boil)
flow.transition(boil, END, on=ready)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "orders").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "orders"


FAILURES = [
    ({}, "orders/flow.py: no such file"),
    ({"flow.py": "x = (\n"}, "orders/flow.py, line 1: '(' was never closed"),
    (
        {"flow.py": "import parts\n", "parts.py": "\n\ndef (:\n"},
        "orders/parts.py, line 3: invalid syntax",
    ),
    (
        {"flow.py": "\nimport nothing_of_this_name\n"},
        "orders/flow.py does not import: ModuleNotFoundError:"
        " No module named 'nothing_of_this_name' (flow.py:2)",
    ),
    (
        {"flow.py": "import parts\n", "parts.py": "x = {}\n\nx['a']\n"},
        "orders/flow.py does not import: KeyError: 'a' (parts.py:3)",
    ),
    (
        {"flow.py": "raise ValueError('one\\ntwo')\n"},
        "orders/flow.py does not import: ValueError: one two (flow.py:1)",
    ),
    (
        {"flow.py": "import sys\nsys.exit(3)\n"},
        "orders/flow.py does not import: SystemExit: 3 (flow.py:2)",
    ),
    ({"flow.py": "raise KeyError\n"}, "orders/flow.py does not import: KeyError (flow.py:1)"),
    (
        {"flow.py": "from stateous import Workflow\n\nw = Workflow('Bad')\nw.state(5)\n"},
        "flow.py:3: 'Bad' cannot name a workflow: write 1 to 64 of a-z, 0-9, _ and -,"
        " a letter first",
    ),
    ({"flow.py": "x = 1\n"}, "orders/flow.py defines no Workflow at module level"),
    (
        {"flow.py": "from stateous import Workflow\nall = [Workflow('a')]\n"},
        "orders/flow.py defines no Workflow at module level",
    ),
    (
        {"flow.py": "from stateous import Workflow\na = Workflow('a')\nb = c = Workflow('b')\n"},
        "orders/flow.py defines 2 workflows ('a', 'b'); keep one per file",
    ),
    (
        {
            "flow.py": "from stateous import Workflow\na = Workflow('a')\nb = Workflow('b')\n"
            "a.state('s', parallel=[b])\nb.state('s', parallel=[a])\n"
        },
        "orders/flow.py defines 2 workflows ('a', 'b'); keep one per file",
    ),
]


@pytest.mark.parametrize(("files", "sentence"), FAILURES)
def test_what_gives_no_workflow(folder: Path, files: dict[str, str], sentence: str) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(FlowImportError) as refusal:
        load_flow("orders/flow.py")
    assert str(refusal.value) == sentence
    assert refusal.value.code == "does_not_import"


def test_a_folder_is_no_file() -> None:
    with pytest.raises(FlowImportError, match=r"^orders: no such file$"):
        load_flow("orders")


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("price.js", "let sum = 0;\n", "price.js, line 1: invalid syntax"),
        ("orders.json", "{}\n", "orders.json defines no Workflow at module level"),
    ],
)
def test_of_a_file_of_another_kind_it_is_told_what_is_compiled(
    folder: Path, name: str, text: str, why: str
) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(FlowImportError) as refusal:
        load_flow(f"orders/{name}")
    assert str(refusal.value) == (
        f"orders/{why}; a workflow is Python, as flow.py, and a chart YAML, as review.yaml"
    )


def test_a_mistake_in_a_part_has_the_part_s_place(folder: Path) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "reviews.py").write_text(
        "from stateous import Workflow\nreview = Workflow('review', context=5)\n", encoding="utf-8"
    )
    (folder / "flow.py").write_text("from parts import reviews\n", encoding="utf-8")
    with pytest.raises(FlowImportError, match=r"^parts/reviews\.py:2: "):
        load_flow("orders/flow.py")


def test_children_need_not_be_at_module_level(folder: Path) -> None:
    text = GOOD + (
        "def make(name, *parts):\n"
        "    child = Workflow(name)\n"
        "    child.state('s', parallel=parts)\n"
        "    return child\n"
        "inner = make('inner')\n"
        "flow.state('p', parallel=[make('outer', inner)])\n"
    )
    (folder / "flow.py").write_text(text, encoding="utf-8")
    assert load_flow("orders/flow.py").workflow.name == "kettle"


def test_an_imported_workflow_counts(folder: Path) -> None:
    (folder / "kettle.py").write_text(GOOD, encoding="utf-8")
    (folder / "flow.py").write_text("from kettle import flow as mine\n", encoding="utf-8")
    loaded = load_flow("orders/flow.py")
    assert (loaded.workflow.name, loaded.folder) == ("kettle", folder)


def test_the_import_leaves_no_traces(folder: Path) -> None:
    (folder / "flow.py").write_text("import parts_of_kettle\n" + GOOD, encoding="utf-8")
    (folder / "parts_of_kettle.py").write_text("x = 1\n", encoding="utf-8")
    path, modules, bytecode = list(sys.path), set(sys.modules), sys.dont_write_bytecode
    load_flow("orders/flow.py")
    assert sys.path == path
    assert not {"flow", "parts_of_kettle"} & (set(sys.modules) - modules)
    assert sys.dont_write_bytecode is bytecode
    assert sorted(entry.name for entry in folder.iterdir()) == ["flow.py", "parts_of_kettle.py"]


def test_a_library_stays_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "env").mkdir()
    (folder / "env" / "a_library.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(folder / "env")
    (folder / "flow.py").write_text("import a_library\n" + GOOD, encoding="utf-8")
    load_flow("orders/flow.py")
    assert sys.modules.pop("a_library").x == 1


def test_a_failed_import_leaves_no_traces_either(folder: Path) -> None:
    (folder / "flow.py").write_text("import parts_of_kettle\n1 / 0\n", encoding="utf-8")
    (folder / "parts_of_kettle.py").write_text("x = 1\n", encoding="utf-8")
    path = list(sys.path)
    with pytest.raises(FlowImportError):
        load_flow("orders/flow.py")
    assert sys.path == path
    assert "parts_of_kettle" not in sys.modules


def test_two_flows_have_their_own_modules(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "parts.py").write_text(f"NAME = {name!r}\n", encoding="utf-8")
        text = "import parts\n" + GOOD.replace('"kettle"', "parts.NAME")
        (tmp_path / name / "flow.py").write_text(text, encoding="utf-8")
    names = [load_flow(f"{name}/flow.py").workflow.name for name in ("one", "two", "one")]
    assert names == ["one", "two", "one"]


def test_a_file_beside_it_is_found_before_a_loaded_module(folder: Path) -> None:
    (folder / "hypothesis.py").write_text("NAME = 'mine'\n", encoding="utf-8")
    text = "import hypothesis\n" + GOOD.replace('"kettle"', "hypothesis.NAME")
    (folder / "flow.py").write_text(text, encoding="utf-8")
    import hypothesis

    assert load_flow("orders/flow.py").workflow.name == "mine"
    assert sys.modules["hypothesis"] is hypothesis


@pytest.mark.parametrize("name", ["json.py", "stateous.py", "my-flow.py", "flow", "my.flow.py"])
def test_a_flow_can_have_any_file_name(folder: Path, name: str) -> None:
    import json

    (folder / name).write_text(GOOD, encoding="utf-8")
    loaded = load_flow(f"orders/{name}")
    assert loaded.workflow.name == "kettle"
    assert Path(loaded.workflow.place.file).name == name
    assert sys.modules["json"] is json


def test_what_a_flow_prints_stays_off_stdout(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "flow.py").write_text("print('hello')\n" + GOOD, encoding="utf-8")
    load_flow("orders/flow.py")
    assert capsys.readouterr() == ("", "hello\n")


def test_the_graph_file_goes_beside_the_flow(folder: Path) -> None:
    (folder / "flow.py").write_text(GOOD, encoding="utf-8")
    compiled = compile_flow("orders/flow.py")
    assert compiled.graph == Path("orders/build/kettle.json")
    written = compiled.graph.read_bytes()
    assert written.startswith(b'{\n  "stateous": 1,\n  "workflow": "kettle",\n  "states": {')
    assert written.endswith(b"}\n")
    assert b"\r" not in written
    assert [entry.name for entry in (folder / "build").iterdir()] == ["kettle.json"]


def test_a_flow_that_goes_to_another_folder_does_not_take_the_graph_file_along(
    folder: Path, tmp_path: Path
) -> None:
    elsewhere = f"import os\nos.chdir({str(tmp_path.parent)!r})\n"
    (folder / "flow.py").write_text(elsewhere + GOOD, encoding="utf-8")
    compile_flow("orders/flow.py")
    assert (folder / "build" / "kettle.json").is_file()
    assert Path.cwd() == tmp_path


def test_out_names_the_graph_file(folder: Path, tmp_path: Path) -> None:
    (folder / "flow.py").write_text(GOOD, encoding="utf-8")
    compiled = compile_flow("orders/flow.py", out=tmp_path / "a" / "b" / "g.json")
    assert compiled.graph == tmp_path / "a" / "b" / "g.json"
    assert compiled.graph.exists()
    assert not (folder / "build").exists()


def test_a_file_that_cannot_be_written(folder: Path) -> None:
    (folder / "flow.py").write_text(GOOD, encoding="utf-8")
    (folder / "taken").mkdir()
    with pytest.raises(CompileError, match=r"^cannot write orders/taken: Is a directory$"):
        compile_flow("orders/flow.py", out="orders/taken")
    with pytest.raises(CompileError, match=r"^cannot write orders/flow\.py/g\.json: "):
        compile_flow("orders/flow.py", out="orders/flow.py/g.json")
    assert sorted(entry.name for entry in folder.iterdir()) == ["flow.py", "taken"]


def test_the_same_flow_gives_the_same_bytes(folder: Path) -> None:
    (folder / "flow.py").write_text(GOOD, encoding="utf-8")
    assert check_flow("orders/flow.py").text == check_flow("orders/flow.py").text
