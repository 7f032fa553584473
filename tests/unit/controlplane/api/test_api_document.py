"""The OpenAPI document is valid, and has each route of the app."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from fastapi.openapi.models import OpenAPI
from starlette.routing import Route

from stateous.wire.problems import STATUS, Code


@pytest.fixture
def document(client: Any) -> Any:
    return client.document


def inner(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict):
        for member in value.values():
            yield from inner(member)
    elif isinstance(value, list):
        for member in value:
            yield from inner(member)


def test_it_has_the_form_of_openapi_3_1(document: Any) -> None:
    assert document["openapi"].startswith("3.1")
    OpenAPI.model_validate(document)
    for name, schema in document["components"]["schemas"].items():
        assert jsonschema_rs.meta.is_valid(schema), name
    for value in inner(document["paths"]):
        if isinstance(value, dict) and "schema" in value:
            assert jsonschema_rs.meta.is_valid(value["schema"])


def test_every_reference_leads_somewhere(document: Any) -> None:
    for value in inner(document):
        if isinstance(value, dict) and "$ref" in value:
            place = document
            for step in value["$ref"].removeprefix("#/").split("/"):
                place = place[step]


def test_every_operation_has_a_name_of_its_own(document: Any) -> None:
    names = [
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
    ]
    assert len(names) == len(set(names))


def test_it_has_each_route_and_no_other(client: Any, document: Any) -> None:
    app = client._transport.app
    routes = {
        (method.lower(), route.path_format)
        for route in app.routes
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD"
    }
    documented = {
        (method, path) for path, operations in document["paths"].items() for method in operations
    }
    assert routes == documented


def test_a_path_names_its_parameters(document: Any) -> None:
    for path, operations in document["paths"].items():
        named = {part.strip("{}") for part in path.split("/") if part.startswith("{")}
        for operation in operations.values():
            parameters = operation.get("parameters", [])
            assert {p["name"] for p in parameters if p["in"] == "path"} == named


def test_every_code_stands_at_its_status(document: Any) -> None:
    # No method of the document is ever refused as one that the path does not take.
    for code in set(Code) - {Code.METHOD_NOT_ALLOWED}:
        refused = document["components"]["responses"][f"Refused{STATUS[code]}"]
        schema = refused["content"]["application/json"]["schema"]
        assert code.value in schema["allOf"][1]["properties"]["code"]["enum"]


async def test_it_is_what_the_api_answers(client: Any, document: Any) -> None:
    assert (await client.get("/openapi.json")).json() == document
