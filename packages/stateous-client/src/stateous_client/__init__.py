"""The client of a Stateous control plane: ``Client``, ``AsyncClient``, and their errors.

Two thin shells over one pure protocol (:mod:`stateous_client.protocol`); httpx is loaded when a
client is made.
"""

from __future__ import annotations

from stateous_client.async_client import AsyncClient
from stateous_client.client import Client
from stateous_client.errors import (
    AttemptOver,
    BadAnswer,
    ChildToken,
    ClientError,
    Conflict,
    DatabaseBusy,
    EventNotAllowed,
    GraphNotFound,
    Invalid,
    InvalidArgument,
    NotFound,
    NotServing,
    NoWorkflow,
    Refused,
    RunNotFound,
    TaskNotFound,
    TaskNotHeld,
    TokenNotActive,
    TokenNotFound,
    Unavailable,
    Unreachable,
)
from stateous_client.values import (
    Duplicate,
    EnteredBy,
    Entry,
    Grant,
    Health,
    Task,
    TaskStatus,
    Token,
    TokenStatus,
    Until,
)

__all__ = [
    "AsyncClient",
    "AttemptOver",
    "BadAnswer",
    "ChildToken",
    "Client",
    "ClientError",
    "Conflict",
    "DatabaseBusy",
    "Duplicate",
    "EnteredBy",
    "Entry",
    "EventNotAllowed",
    "Grant",
    "GraphNotFound",
    "Health",
    "Invalid",
    "InvalidArgument",
    "NoWorkflow",
    "NotFound",
    "NotServing",
    "Refused",
    "RunNotFound",
    "Task",
    "TaskNotFound",
    "TaskNotHeld",
    "TaskStatus",
    "Token",
    "TokenNotActive",
    "TokenNotFound",
    "TokenStatus",
    "Unavailable",
    "Unreachable",
    "Until",
]
