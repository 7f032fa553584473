"""Occurrences: events as routines report them, each a class of its own in ``contract.py``."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel

P = TypeVar("P", covariant=True)


class Occurrence(Generic[P]):
    """An event that happened, with its payload.

    Subclassed per event, with the class attribute ``name`` and the payload's model (or None) in
    the brackets::

        class reviewed(Occurrence[Verdict]):
            name = "reviewed"

    The payload is kept unchecked. It is checked when the occurrence is reported.
    """

    name: ClassVar[str]
    _payload_type: ClassVar[Any] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in cls.__dict__.get("__orig_bases__", ()):
            origin = get_origin(base)
            if isinstance(origin, type) and issubclass(origin, Occurrence):
                (argument,) = get_args(base)
                cls._payload_type = None if argument is type(None) else argument

    def __init__(self, payload: P | dict[str, Any] | None = None) -> None:
        self.payload = payload

    @classmethod
    def payload_type(cls) -> Any:
        """What stands in the brackets: the model, or another type of a contract; or None."""
        return cls._payload_type

    @classmethod
    def payload_model(cls) -> type[BaseModel] | None:
        """The model of the event's payload; None when the event carries none."""
        model = cls._payload_type
        return model if isinstance(model, type) and issubclass(model, BaseModel) else None

    def __repr__(self) -> str:
        return f"{self.name}({self.payload!r})"
