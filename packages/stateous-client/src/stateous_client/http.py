"""Where httpx is met: a request value onto the wire, and back a reply.

The environment is left out (``trust_env=False``): a control plane is a neighbour, and a proxy that
is set for the internet must not stand between it and its clients, on loopback least of all. TLS
trusts what the system trusts. Redirects are never followed.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from typing import Any, Final

import httpx

from stateous_client.errors import InvalidArgument, closed
from stateous_client.protocol.address import Address
from stateous_client.protocol.exchange import Answer, NoAnswer, Reply, Request
from stateous_client.wire import Wire

# A control plane closes a connection after 30 s without a request (docs/spec/wire.md 1.1). It is
# dropped well before, so that no request meets a connection that is closed at that moment.
_IDLE_FOR: Final = 20.0
_MOST_CONNECTIONS: Final = 100
_LIMITS: Final = httpx.Limits(
    max_connections=_MOST_CONNECTIONS,
    max_keepalive_connections=_MOST_CONNECTIONS,
    keepalive_expiry=_IDLE_FOR,
)


class Port:
    """The blocking way out, for one client."""

    def __init__(
        self, address: Address, timeout: float, transport: httpx.BaseTransport | None
    ) -> None:
        self._address = address
        self._timeout = timeout
        self._http = httpx.Client(
            trust_env=False, verify=_trust(address), limits=_LIMITS, transport=transport
        )

    def send(self, request: Request[Any]) -> Reply:
        """Send it once. Never raises for what the network does."""
        try:
            sent = _build(self._http, request, self._address, self._timeout)
            return _answer(self._http.send(sent))
        except httpx.RequestError as error:
            return no_answer(error, self._timeout, request.held)
        except RuntimeError:
            if self._http.is_closed:  # by another thread, meanwhile
                raise closed(self._address.masked) from None
            raise

    def close(self) -> None:
        """Close all connections."""
        self._http.close()


class AsyncPort:
    """The asyncio way out, for one client."""

    def __init__(
        self, address: Address, timeout: float, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        self._timeout = timeout
        self._way: Wire | _Through
        if transport is None:
            self._way = Wire(address, most=_MOST_CONNECTIONS, idle_for=_IDLE_FOR)
        else:
            self._way = _Through(transport, address)

    async def send(self, request: Request[Any]) -> Reply:
        """Send it once. Never raises for what the network does."""
        try:
            return await self._way.ask(request, self._timeout)
        except httpx.RequestError as error:
            return no_answer(error, self._timeout, request.held)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._way.aclose()


class _Through:
    """The way of tests, which bring a transport of httpx."""

    def __init__(self, transport: httpx.AsyncBaseTransport, address: Address) -> None:
        self._address = address
        self._http = httpx.AsyncClient(trust_env=False, transport=transport)

    async def ask(self, request: Request[Any], timeout: float) -> Answer:
        sent = _build(self._http, request, self._address, timeout)
        try:
            return _answer(await self._http.send(sent))
        except RuntimeError:
            if self._http.is_closed:  # by another coroutine, meanwhile
                raise closed(self._address.masked) from None
            raise

    async def aclose(self) -> None:
        await self._http.aclose()


def _trust(address: Address) -> ssl.SSLContext | bool:
    # Reading the certificates takes longer than the rest of a client's making.
    return ssl.create_default_context() if address.encrypted else False


def _build(
    http: httpx.Client | httpx.AsyncClient, request: Request[Any], address: Address, timeout: float
) -> httpx.Request:
    try:
        return http.build_request(
            request.method,
            address.base + request.target,
            content=request.body,
            headers=[(name.encode(), value) for name, value in request.headers],
            timeout=httpx.Timeout(timeout, read=timeout + request.held),
        )
    except httpx.InvalidURL as error:
        raise InvalidArgument(f"this cannot be asked of {address.masked}: {error}") from None


def _answer(response: httpx.Response) -> Answer:
    headers: dict[str, str] = {}
    for name, value in response.headers.multi_items():
        headers.setdefault(name.lower(), value)  # given twice: the first
    return Answer(response.status_code, headers, response.content)


def no_answer(error: httpx.RequestError, timeout: float, held: float) -> NoAnswer:
    """What came of a request that got no answer."""
    return NoAnswer(why(error, timeout, held), refused=_was_refused(error))


def why(error: httpx.RequestError, timeout: float, held: float) -> str:
    """Why there was no answer, in words: the operating system's, where it has some."""
    match error:
        case httpx.ConnectTimeout():
            return f"no connection within {timeout:g} seconds"
        case httpx.PoolTimeout():
            return f"no free connection within {timeout:g} seconds"
        case httpx.TimeoutException():
            return f"no answer within {timeout + held:g} seconds"
        case _:
            return _system_error(error) or str(error) or type(error).__name__


def _was_refused(error: BaseException) -> bool:
    return any(isinstance(layer, ConnectionRefusedError) for layer in _layers(error))


def _system_error(error: BaseException) -> str | None:
    for layer in _layers(error):
        if isinstance(layer, OSError) and layer.errno is not None:
            # asyncio has words of its own for these; the system's are the same everywhere.
            if isinstance(layer, ConnectionError):
                return f"[Errno {layer.errno}] {os.strerror(layer.errno)}"
            return str(layer)
    return None


def _layers(error: BaseException | None) -> Iterator[BaseException]:
    # httpx and the event loop's library wrap the error that tells something, in several layers.
    while error is not None:
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        yield error
        error = error.__cause__ or error.__context__
