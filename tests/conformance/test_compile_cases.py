"""The conformance set `data/compile`: each flow compiles to its document, or has its problems."""

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from stateous.graph import hashes
from stateous.graph.reading import check_graph
from stateous_compiler.compile import check_flow, compile_flow
from stateous_compiler.contract import contract_text
from stateous_compiler.errors import InvalidWorkflow

DATA = Path(__file__).parent / "data" / "compile"


CASES = sorted(path.name for path in DATA.iterdir())
COMPILING = [name for name in CASES if (DATA / name / "expected.json").exists()]
WRONG = [name for name in CASES if (DATA / name / "expected.problems.json").exists()]


def load(case: str, file: str) -> Any:
    return json.loads((DATA / case / file).read_text(encoding="utf-8"))


@pytest.fixture
def flow_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def copy(case: str) -> str:
        for file in ("flow.py", "schemas.py"):
            shutil.copy(DATA / case / file, tmp_path / file)
        monkeypatch.chdir(tmp_path)
        return "flow.py"

    return copy


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what differs between releases of pydantic."""
    return {**document, "schemas": {k: _bare(s) for k, s in document["schemas"].items()}}


def _bare(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    bare = {key: _bare(value) for key, value in schema.items() if not _differs(key, schema)}
    if isinstance(schema.get("properties"), dict):
        bare["properties"] = {name: _bare(sub) for name, sub in schema["properties"].items()}
    anyof = bare.get("anyOf")
    if isinstance(anyof, list) and {"type": "number"} in anyof:
        for member in anyof:
            member.pop("pattern", None)
    return bare


def _differs(key: str, schema: dict[str, Any]) -> bool:
    return key in {"title", "description"} and isinstance(schema[key], str)


def test_every_case_is_of_one_kind() -> None:
    assert sorted(COMPILING + WRONG) == CASES


@pytest.mark.parametrize("case", COMPILING)
def test_a_flow_compiles_to_its_document(case: str, flow_of: Any, tmp_path: Path) -> None:
    compiled = compile_flow(flow_of(case))
    expected = load(case, "expected.json")
    assert compiled.warnings == ()
    assert compiled.graph == Path("build") / f"{expected['workflow']}.json"
    written = json.loads(compiled.graph.read_bytes())
    assert comparable(written) == comparable(expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["build", "flow.py", "schemas.py"]


@pytest.mark.parametrize("case", COMPILING)
def test_a_document_has_its_hashes(case: str) -> None:
    document = load(case, "expected.json")
    assert load(case, "expected.hashes.json") == {
        "checksum": hashes.checksum(document),
        "structure": hashes.structure(document),
        "contract": hashes.contract(document),
    }


@pytest.mark.parametrize("case", COMPILING)
def test_a_document_has_its_contract(case: str) -> None:
    expected = (DATA / case / "expected.contract.py").read_text(encoding="utf-8")
    made = contract_text(check_graph(load(case, "expected.json")))
    assert ast.unparse(ast.parse(made)) == ast.unparse(ast.parse(expected))


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_flow_has_its_problems(case: str, flow_of: Any, tmp_path: Path) -> None:
    expected = load(case, "expected.problems.json")
    with pytest.raises(InvalidWorkflow) as refusal:
        check_flow(flow_of(case))
    assert refusal.value.workflow == expected["workflow"]
    found = refusal.value.problems
    assert [(problem.code, problem.place) for problem in found] == [
        (problem["code"], problem["place"]) for problem in expected["problems"]
    ]
    for problem, wanted in zip(found, expected["problems"], strict=True):
        for text in wanted["mentions"]:
            assert text in problem.text
    assert not (tmp_path / "build").exists()
