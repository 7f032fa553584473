"""`init`: the files of a workflow and of a supervisor's folder, the first time and again."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from stateous.errors import StateousError
from stateous.graph.reading import check_graph
from stateous_compiler.compile import check_flow
from stateous_compiler.errors import CompileError
from stateous_compiler.routines import jobs_in, routines_in
from stateous_compiler.scaffold import Scaffold, init_supervisor, init_workflow
from stateous_compiler.statechart.compile import compile_chart
from stateous_compiler.stubs import stubs_of


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fetch_nothing(url: str) -> bytes:
    raise AssertionError(url)


def init(source: str, folder: str, **options: Any) -> Scaffold:
    return init_supervisor(source, folder, **{"fetch": fetch_nothing, **options})


def lines(scaffold: Scaffold) -> list[str]:
    return [str(action) for action in scaffold.files]


def graph(states: dict[str, list[str]], children: dict[str, list[str]] | None = None) -> Any:
    """A document with these states and what they emit, and children with these states."""

    def flow(states: dict[str, list[str]]) -> dict[str, Any]:
        events = dict.fromkeys(event for emits in states.values() for event in emits)
        return {
            "states": {name: {"emits": emits} for name, emits in states.items()},
            "events": {event: {} for event in events},
            "transitions": [],
        }

    document = {"stateous": 1, "workflow": "shelf", "schemas": {}, **flow(states)}
    document["workflows"] = {
        name: flow({state: [] for state in states}) for name, states in (children or {}).items()
    }
    return document


def test_a_new_workflow() -> None:
    made = init_workflow("invoices")
    assert lines(made) == [
        "wrote    invoices/flow.py",
        "wrote    invoices/schemas.py",
        "wrote    invoices/pyproject.toml",
        "wrote    invoices/build/invoices.json",
    ]
    assert made.next == (
        "stateous serve invoices/build/invoices.json",
        "stateous init supervisor invoices/flow.py invoices-supervisor",
    )
    checked = check_flow("invoices/flow.py")
    assert checked.warnings == ()
    assert list(checked.document.states) == ["draft", "review"]
    project = tomllib.loads(Path("invoices/pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project == {
        "name": "invoices",
        "version": "0.1.0",
        "requires-python": ">=3.11",
        "dependencies": ["stateous-compiler>=0.1.0"],
    }


def test_a_workflow_that_is_there_is_not_touched() -> None:
    init_workflow("invoices")
    Path("invoices/flow.py").write_text("mine", encoding="utf-8")
    with pytest.raises(CompileError) as refusal:
        init_workflow("invoices")
    assert str(refusal.value) == (
        "invoices already has flow.py: give a different name, or edit that file"
    )
    assert Path("invoices/flow.py").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["Invoices", "", "a/b", "../x", "1st", "a" * 65])
def test_a_workflow_needs_a_name(name: str, here: Path) -> None:
    with pytest.raises(CompileError, match="cannot name a workflow"):
        init_workflow(name)
    assert list(here.iterdir()) == []


def test_files_beside_a_new_workflow_are_kept() -> None:
    Path("invoices").mkdir()
    Path("invoices/schemas.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(StateousError, match="does not import: ImportError"):
        init_workflow("invoices")
    assert Path("invoices/schemas.py").read_text(encoding="utf-8") == "x = 1\n"
    assert Path("invoices/flow.py").exists()
    assert not Path("invoices/build").exists()


def test_a_new_supervisor() -> None:
    init_workflow("invoices")
    made = init("invoices/flow.py", "desk/first")
    assert lines(made) == [
        "wrote    desk/first/contract.py",
        "wrote    desk/first/draft.py",
        "wrote    desk/first/review.py",
        "wrote    desk/first/stateous.yaml",
        "wrote    desk/first/pyproject.toml",
    ]
    assert made.next == ("stateous supervise desk/first",)
    settings = Path("desk/first/stateous.yaml").read_text(encoding="utf-8")
    assert 'url: "http://127.0.0.1:8080"\ntasks: 4\n# name:' in settings
    assert Path("desk/first/review.py").read_text(encoding="utf-8") == (
        '"""The routine of the state \'review\' of the workflow \'invoices\'."""\n'
        "\n"
        "from stateous import on_state\n"
        "\n"
        "from contract import ItemContext, events, states\n"
        "\n"
        "\n"
        "@on_state(states.review)\n"
        "def review(ctx: ItemContext) -> events.reviewed | None:\n"
        "    raise NotImplementedError(\"write the routine of 'review':"
        ' return events.reviewed(...), or None to wait")\n'
    )


def test_a_supervisor_again() -> None:
    init_workflow("invoices")
    init("invoices/flow.py", "desk")
    Path("desk/review.py").write_text("", encoding="utf-8")
    Path("desk/stateous.yaml").write_text("url: mine", encoding="utf-8")
    Path("desk/archive.py").write_text(
        "from stateous import on_state\nfrom contract import states\n"
        "@on_state(states.archive)\nasync def archive(ctx): ...\n",
        encoding="utf-8",
    )
    made = init("invoices/build/invoices.json", "desk")
    assert lines(made) == [
        "wrote    desk/contract.py",
        "kept     the routine of 'draft'",
        "skipped  desk/review.py: the file exists and has no routine for 'review'",
        "unused   desk/archive.py: the workflow has no state 'archive'",
        "kept     desk/stateous.yaml",
        "kept     desk/pyproject.toml",
    ]
    assert Path("desk/stateous.yaml").read_text(encoding="utf-8") == "url: mine"


def test_the_source_can_be_a_control_plane() -> None:
    document = json.dumps(graph({"draft": ["done"]})).encode()
    url = "http://box-1:8080/"
    init(url, "desk", fetch={url: document}.__getitem__)
    assert f'url: "{url}"' in Path("desk/stateous.yaml").read_text(encoding="utf-8")
    assert "StateRef" in Path("desk/contract.py").read_text(encoding="utf-8")


def test_a_control_plane_that_does_not_answer() -> None:
    def fetch(url: str) -> bytes:
        raise StateousError(f"cannot reach the control plane at {url}: refused")

    with pytest.raises(CompileError) as refusal:
        init("http://127.0.0.1:9", "x", fetch=fetch)
    assert str(refusal.value) == (
        "cannot fetch the workflow from http://127.0.0.1:9:"
        " cannot reach the control plane at http://127.0.0.1:9: refused"
    )
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"stateous": 2}', "cannot use old.json: the graph file has format 2"),
        ("{", "cannot use old.json: not strict JSON"),
        (json.dumps(graph({"class": []})), "keyword"),
        (json.dumps({**graph({}), "schemas": {"A": {"type": "nope"}}}), "not a JSON Schema"),
    ],
)
def test_a_graph_file_that_cannot_be_used(text: str, words: str) -> None:
    Path("old.json").write_text(text, encoding="utf-8")
    with pytest.raises(CompileError, match=words):
        init("old.json", "x")
    assert not Path("x").exists()


@pytest.mark.parametrize("source", ["nope.py", "nope.json", "desk", "ftp://host/flow.json"])
def test_a_source_that_is_nothing(source: str) -> None:
    with pytest.raises(CompileError, match="is neither a flow"):
        init(source, "x")


@pytest.mark.parametrize("wheels", ["wheels", "Räder \U0001f6de", 'a"b\\c\x7f'])
def test_wheels_from_a_folder(wheels: str, here: Path) -> None:
    Path("graph.json").write_text(json.dumps(graph({"draft": []})), encoding="utf-8")
    Path(wheels).mkdir()
    with pytest.raises(CompileError, match="holds no wheel"):
        init("graph.json", "desk", find_links=wheels)
    assert not Path("desk").exists()
    (here / wheels / "stateous_core-0.1.0-py3-none-any.whl").touch()
    init("graph.json", "the desk's", find_links=wheels)
    project = tomllib.loads(Path("the desk's/pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["uv"]["find-links"] == [str(here / wheels)]
    assert project["project"]["name"] == "the-desk-s"
    assert project["project"]["dependencies"] == ["stateous-supervisor>=0.1.0"]


def test_stub_files_hide_no_module_and_no_other_stub() -> None:
    document = graph({"json": [], "a_b": [], "a_b_2": []}, {"a": ["b", "json"], "contract": []})
    made = stubs_of(check_graph(document))
    assert [(stub.path, stub.file, stub.note) for stub in made] == [
        ("states.json", "json_routine.py", "json.py would hide a Python module"),
        ("states.a_b", "a_b.py", None),
        ("states.a_b_2", "a_b_2.py", None),
        ("states.a.b", "a_b_3.py", "a_b.py is the stub of 'a_b'"),
        ("states.a.json", "a_json.py", None),
    ]


def test_a_stub_names_all_events_of_its_state() -> None:
    stub, stuck = stubs_of(check_graph(graph({"draft": ["on-time", "late"], "stuck": []})))
    assert "from stateous import Context, on_state\n" in stub.text
    assert "def draft(ctx: Context) -> events.on_time | events.late | None:" in stub.text
    assert "return events.on_time(), events.late(), or None to wait" in stub.text
    assert "from contract import states\n" in stuck.text
    assert "def stuck(ctx: Context) -> None:" in stuck.text


ROUTINES = [
    "import stateous\nimport contract\n@stateous.on_state(contract.states.draft)\n",
    "import stateous as s\nimport contract as c\n@s.on_state(c.states.draft)\n",
    "from stateous import on_state as x\nfrom contract import states as s\n@x(s.draft)\n",
    "from stateous import on_state\nfrom contract import states\nref = states.draft\n"
    "mark = on_state\n@mark(ref)\n",
    "from stateous import on_state\nfrom contract import states\n@on_state(states.draft)\nasync ",
    "from stateous import on_state\nfrom contract import states\n@print\n@on_state(states.draft)\n",
    "from stateous import on_state\nfrom contract import states\n@on_state(ref=states.draft)\n",
]
OTHERS = [
    "from elsewhere import on_state\nfrom contract import states\n@on_state(states.draft)\n",
    "from stateous import on_state\nfrom contract import states\n@on_state\n",
    "from stateous import on_state\nfrom contract import states\n@on_state(states.draft, 1)\n",
    "from stateous import on_state\nfrom contract import states\n@on_state(**states.draft)\n",
    "from stateous import on_state\nfrom contract import states\n@on_state(name=states.draft)\n",
    "from stateous import on_state\nfrom contract import states\nstates = 1\n"
    "@on_state(states.draft)\n",
    "from stateous import on_state\nfrom contract import events\n@on_state(events.draft)\n",
    "this does not parse\n",
]


@pytest.mark.parametrize("source", ROUTINES)
def test_a_routine_is_found_by_parsing(source: str, here: Path) -> None:
    (here / "work.py").write_text(f"{source}def f(ctx): ...\n", encoding="utf-8")
    assert routines_in(here) == {"states.draft": [here / "work.py"]}


@pytest.mark.parametrize("source", OTHERS)
def test_what_is_no_routine(source: str, here: Path) -> None:
    (here / "work.py").write_text(f"{source}def f(ctx): ...\n", encoding="utf-8")
    assert routines_in(here) == {}


def test_a_child_s_routine_is_found(here: Path) -> None:
    (here / "work.py").write_text(
        "from stateous import on_state\nfrom contract import states\ntax = states.tax_check\n"
        "@on_state(tax.ask)\ndef f(ctx): ...\n",
        encoding="utf-8",
    )
    (here / "contract.py").write_text((here / "work.py").read_text(encoding="utf-8"))
    assert routines_in(here) == {"states.tax_check.ask": [here / "work.py"]}


PRICING = """\
statechart: review
states:
  pricing:
    jobs:
      a: { routine: price }
      b: { routine: price }
      c: { machine: { statechart: check, states: { only: { job: { routine: class } } } } }
      d: { routine: json }
"""


def test_a_folder_for_the_routines_of_a_chart() -> None:
    Path("review.yaml").write_text(PRICING)
    made = init("review.yaml", "prices")
    assert lines(made) == [
        "wrote    prices/price.py",
        "wrote    prices/json_routine.py (json.py would hide another module)",
        "wrote    prices/check_class.py",
        "wrote    prices/stateous.yaml",
        "wrote    prices/pyproject.toml",
    ]
    assert made.next == ("stateous supervise prices",)
    for file, job in (
        ("price", "review/price"),
        ("json_routine", "review/json"),
        ("check_class", "check/class"),
    ):
        text = Path(f"prices/{file}.py").read_text("utf-8")
        compile(text, file, "exec")
        assert f'@on_job("{job}")' in text
    assert set(jobs_in(Path("prices"))) == {"review/price", "review/json", "check/class"}


def test_again_for_a_chart_that_has_changed() -> None:
    Path("review.yaml").write_text(PRICING)
    init("review.yaml", "prices")
    Path("prices/price.py").rename("prices/mine.py")
    Path("review.yaml").write_text(PRICING.replace("routine: json", "routine: xml"))
    compile_chart("review.yaml")
    assert lines(init("build/review.json", "prices")) == [
        "kept     the routine of 'review/price'",
        "wrote    prices/xml_routine.py (xml.py would hide another module)",
        "kept     the routine of 'check/class'",
        "unused   prices/json_routine.py: the chart has no routine 'review/json'",
        "kept     prices/stateous.yaml",
        "kept     prices/pyproject.toml",
    ]


def test_a_chart_without_routines_needs_no_folder() -> None:
    Path("review.yaml").write_text("statechart: review\nstates: { a: {} }\n")
    with pytest.raises(CompileError, match="supervise --scripts"):
        init("review.yaml", "prices")
    assert not Path("prices").exists()
