"""Documentation that both clients share: a method without a docstring gets the declared one."""

from __future__ import annotations

from abc import ABC
from typing import Any


class Documented(ABC):  # noqa: B024 - what is abstract are the methods of its subclasses
    """A class whose methods take over the docstrings of what they override."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, own in vars(cls).items():
            if name.startswith("_") or getattr(own, "__doc__", "") is not None:
                continue
            own.__doc__ = next(
                (vars(base)[name].__doc__ for base in cls.__mro__[1:] if name in vars(base)), None
            )
