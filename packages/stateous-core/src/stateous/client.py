"""The clients of `stateous-client`, for those who have it beside `stateous-core`.

The package is imported on first use of a name, so that authors of workflows and routines need no
HTTP library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stateous_client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]

_PACKAGE: Final = "stateous_client"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        package = import_module(_PACKAGE)
    except ModuleNotFoundError as error:
        if error.name != _PACKAGE:
            raise
        raise ImportError(
            f"{name} is in the package stateous-client, which is not installed: build the wheels "
            f"with `make wheels`, then run: pip install dist/{_PACKAGE}-*.whl",
            name=_PACKAGE,
        ) from None
    return getattr(package, name)
