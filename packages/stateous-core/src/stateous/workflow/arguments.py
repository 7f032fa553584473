"""The checks of single arguments of the authoring calls (`docs/spec/authoring.md` 2.3 to 2.5).

Each takes a value of any type whatever: a wrong one is a DefinitionError at the author's call, and
never an error of ours.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal

from pydantic import BaseModel, RootModel

from stateous.durations import parse_duration
from stateous.errors import DefinitionError, GuardError
from stateous.guards import Guard, parse_guard
from stateous.names import is_name
from stateous.workflow.places import Place

_SHOWN: Final = 60


class Arguments:
    """The arguments of one call, checked one after the other in the order of the spec."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def refuse(self, sentence: str) -> DefinitionError:
        """The error to raise: ``sentence``, at the place of the call."""
        return DefinitionError(sentence, file=self.place.file, line=self.place.line)

    def name(self, of: str, value: object, own: Collection[str] = ()) -> str:
        """The name of a workflow, a state or an event; ``own`` are names that nobody declares."""
        if isinstance(value, str) and value in own:
            raise self.refuse(f"{value!r} is Stateous's own and is never declared")
        if not isinstance(value, str) or not is_name(value):
            raise self.refuse(
                f"{shown(value)} cannot name {of}: write 1 to 64 of a-z, 0-9, _ and -, "
                "a letter first"
            )
        return plain(value)

    def model(self, of: str, value: object) -> type[BaseModel] | None:
        """A pydantic model class whose JSON is an object, or None."""
        if value is None:
            return None
        if not isinstance(value, type) or not issubclass(value, BaseModel) or value is BaseModel:
            raise self.refuse(
                f"the {of} must be a class made from pydantic's BaseModel, not {shown(value)}"
            )
        if issubclass(value, RootModel):
            raise self.refuse(
                f"the {of} must be a model with fields: {value.__name__} is a RootModel, "
                "and its JSON need not be an object"
            )
        return value

    def timeout(self, value: object) -> str | None:
        """A duration, or None."""
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.refuse(f"timeout: {shown(value)} is not a duration: write text like '15m'")
        try:
            parse_duration(value)
        except ValueError as error:
            raise self.refuse(f"timeout: {error}") from None
        return plain(value)

    def retries(self, value: object) -> int:
        """A whole number from 0."""
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.refuse(f"retries must be a whole number from 0, not {shown(value)}")
        return int(value)

    def join(self, value: object) -> Literal["all", "any"]:
        """How a parallel state waits for its children."""
        if isinstance(value, str):
            if value == "all":
                return "all"
            if value == "any":
                return "any"
        raise self.refuse(f"join must be 'all' or 'any', not {shown(value)}")

    def keys(self, of: str, value: object) -> tuple[str, ...]:
        """Keys of the context, in the order given."""
        if isinstance(value, str):
            raise self.refuse(f"{of} must be a list of keys, not one text: write [{shown(value)}]")
        listed = self.listed(of, value)
        return tuple(self.key(f"each of {of}", item) for item in listed)

    def key(self, of: str, value: object) -> str:
        """One key of the context."""
        if not isinstance(value, str) or not value:
            raise self.refuse(f"{of} must be a key of the context, not {shown(value)}")
        return plain(value)

    def into(self, value: object) -> str | None:
        """The key of the context that keeps a payload, or None."""
        return None if value is None else self.key("into", value)

    def listed(self, of: str, value: object) -> list[Any]:
        """The items of an iterable, which is read once."""
        try:
            return list(value)  # type: ignore[call-overload, no-any-return]
        except Exception as error:
            raise self.refuse(f"{of} must be a list, not {shown(value)}: {error}") from error

    def truth(self, of: str, value: object) -> bool:
        """Whether ``value`` is truthy."""
        try:
            return bool(value)
        except Exception:
            raise self.refuse(f"{of}: {shown(value)} is neither true nor false") from None

    def guard(self, value: object) -> Guard | None:
        """The guard that a text spells, or None."""
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.refuse(f"when must be the text of a guard, not {shown(value)}")
        try:
            return parse_guard(plain(value))
        except GuardError as error:
            raise self.refuse(str(error)) from None


def plain(text: str) -> str:
    """``text`` as a `str` of its own: a member of an enum is one too, but is not written as one."""
    return str.__str__(text)


def shown(value: object) -> str:
    """``value`` for a sentence: its repr, shortened; its type when it has no repr."""
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
