"""The two clients have the same methods: names, parameters, what they return, documentation."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from typing import Any

import pytest

from stateous_client import AsyncClient, Client
from stateous_client.methods import Methods
from stateous_client.run_methods import RunMethods

DECLARED: dict[str, Any] = {
    name: declared
    for kind in (Methods, RunMethods)
    for name, declared in vars(kind).items()
    if not name.startswith("_")
}
METHODS = sorted(DECLARED)
CALLS = [name for name in METHODS if inspect.isfunction(DECLARED[name])]
#: What is not a question to the control plane, and so is named after the kind of the client.
OWN = {"close", "through"}
ASYNC_OWN = {"aclose", "through"}


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_both_have_all_methods_and_no_others() -> None:
    assert public(Client) - OWN == set(METHODS)
    assert public(AsyncClient) - ASYNC_OWN == set(METHODS)


@pytest.mark.parametrize("name", CALLS)
def test_a_method_has_the_same_parameters_in_both(name: str) -> None:
    declared = inspect.signature(DECLARED[name]).parameters
    assert inspect.signature(getattr(Client, name)).parameters == declared
    assert inspect.signature(getattr(AsyncClient, name)).parameters == declared


@pytest.mark.parametrize("name", CALLS)
def test_a_method_returns_the_same_in_both(name: str) -> None:
    blocking, waiting = getattr(Client, name), getattr(AsyncClient, name)
    returned, awaited = (typing.get_type_hints(method)["return"] for method in (blocking, waiting))
    if typing.get_origin(returned) is collections.abc.Iterator:
        assert typing.get_origin(awaited) is collections.abc.AsyncIterator
        assert typing.get_args(awaited) == typing.get_args(returned)
    else:
        assert inspect.iscoroutinefunction(waiting)
        assert awaited == returned
    assert not inspect.iscoroutinefunction(blocking)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_its_documentation_in_both(kind: type, name: str) -> None:
    documented = DECLARED[name].__doc__
    assert documented
    assert getattr(kind, name).__doc__ == documented


def test_the_constructors_are_alike() -> None:
    assert inspect.signature(Client) == inspect.signature(AsyncClient)
    assert str(inspect.signature(Client)) == (
        "(url: 'str', *, timeout: 'float' = 30.0, retries: 'int' = 3) -> 'None'"
    )
