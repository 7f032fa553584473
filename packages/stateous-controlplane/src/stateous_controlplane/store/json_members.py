"""Members of a JSON text, as SQL of both databases."""

from __future__ import annotations

from typing import Any

from sqlalchemy import SQLColumnExpression, Text, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from stateous_controlplane.store.columns import Whole


class JsonMember(FunctionElement[Any]):
    """The text that the key ``name`` has in a JSON text; ``name`` is plain ASCII."""

    inherit_cache = True
    type: TypeEngine[Any] = Text()

    def __init__(self, text: SQLColumnExpression[str], name: str) -> None:
        super().__init__(text, literal_column(f"'{name}'"))


class JsonNumber(JsonMember):
    """The whole number that the key ``name`` has in a JSON text."""

    inherit_cache = True
    type = Whole()


def _parts(element: JsonMember, compiler: SQLCompiler, options: Any) -> tuple[str, str]:
    text, name = element.clauses
    return compiler.process(text, **options), compiler.process(name, **options)


@compiles(JsonMember, "sqlite")
def _on_sqlite(element: JsonMember, compiler: SQLCompiler, **options: Any) -> str:
    text, name = _parts(element, compiler, options)
    return f"json_extract({text}, '$.' || {name})"


@compiles(JsonMember, "postgresql")
def _on_postgres(element: JsonMember, compiler: SQLCompiler, **options: Any) -> str:
    text, name = _parts(element, compiler, options)
    member = f"(({text})::json ->> {name})"
    return f"{member}::bigint" if isinstance(element, JsonNumber) else member
