"""The errors of the clients (`docs/spec/wire.md` 7).

::

    ClientError
    ├── InvalidArgument (also ValueError)     nothing was sent
    ├── Unreachable                           no connection, timeout, broken answer
    ├── BadAnswer                             below 400, but not what a control plane answers
    └── Refused (status, message, code)
        ├── NotFound                          404: TokenNotFound, TaskNotFound, …
        ├── Invalid                           400, 413, 415, 422
        ├── NotStarter                        403 to who has not the starter's secret
        ├── Conflict                          409: EventNotAllowed, TokenNotActive, TicketRefused, …
        └── Unavailable                       502, 503, 504: DatabaseBusy, NotServing

Every error can be pickled. A URL in a text has ``***`` in place of its password.
"""

from __future__ import annotations

from typing import Final

from stateous.errors import StateousError

#: The note on an ``Unreachable`` whose connection was refused: a traceback ends with it.
NOBODY_LISTENS: Final = (
    "Nobody listens there: start a control plane with `stateous serve`, "
    "or give the client the URL of one that runs."
)


class ClientError(StateousError):
    """Whatever a client raises, but the TimeoutError of ``wait``."""

    code = "client_error"


class InvalidArgument(ClientError, ValueError):
    """What was handed in cannot be asked; nothing was sent.

    It is no JSON, an empty id, a bad key or URL, or the client is closed.
    """

    code = "invalid_argument"


class _OfControlPlane(ClientError):
    """Something that went wrong between the client and the control plane at ``url``."""

    def __init__(self, url: str, *facts: object) -> None:
        # The constructor's arguments are the exception's, so that a copy can be made from them.
        super().__init__(url, *facts)
        self.url = url


class Unreachable(_OfControlPlane):
    """No answer: no connection, a timeout, or an answer that broke off.

    Whether the control plane did what was asked is unknown, unless the connection was ``refused``:
    nobody listens there, and nothing was sent.
    """

    code = "unreachable"

    def __init__(self, url: str, why: str, refused: bool = False) -> None:
        super().__init__(url, why, refused)
        self.why = why
        self.refused = refused
        if refused:
            self.add_note(NOBODY_LISTENS)

    def __str__(self) -> str:
        return f"cannot reach the control plane at {self.url}: {self.why}"


class BadAnswer(_OfControlPlane):
    """An answer below 400 that no control plane gives: a redirect, a page of something else."""

    code = "bad_answer"

    def __init__(self, url: str, status: int, why: str) -> None:
        super().__init__(url, status, why)
        self.status = status
        self.why = why

    def __str__(self) -> str:
        return f"{self.url} did not answer as a Stateous control plane: {self.why}"


class Refused(_OfControlPlane):
    """An answer from 400 on.

    ``code`` is the answer's, or None when it has none; ``message`` is the answer's sentence, else
    the beginning of its text.
    """

    code: str | None  # type: ignore[assignment,misc]  # a refusal's code is the answer's own

    def __init__(self, url: str, status: int, message: str, code: str | None = None) -> None:
        super().__init__(url, status, message, code)
        self.status = status
        self.message = message
        self.code = code

    def __str__(self) -> str:
        return f"the control plane at {self.url} refused ({self.status}): {self.message}"


class NotFound(Refused):
    """404: no such path, or nothing with this id."""


class TokenNotFound(NotFound):
    """No token has this id."""


class TaskNotFound(NotFound):
    """No task has this number."""


class GraphNotFound(NotFound):
    """No graph document has this checksum."""


class RunNotFound(NotFound):
    """No run has this id."""


class NotStarter(Refused):
    """403: who asks has not shown the secret of who started the run."""


class Invalid(Refused):
    """400, 413, 415, 422: what was sent cannot be taken."""


class Conflict(Refused):
    """409: it does not fit what is there now."""


class NoWorkflow(Conflict):
    """The control plane serves no workflow that a token could start in."""


class EventNotAllowed(Conflict):
    """The event cannot move the token; the token's history has it as ``event_rejected``."""


class TokenNotActive(Conflict):
    """The token ended, or its status does not allow the call."""


class ChildToken(Conflict):
    """A child cannot be steered by itself: steer its top token."""


class RunNotActive(Conflict):
    """The run ended, or its status does not allow the call."""


class RunExists(Conflict):
    """Another run has this id."""


class KeyTaken(Conflict):
    """A live run has this key."""


class TicketRefused(Conflict):
    """The ticket's value is wrong, used or void; which of these is not told."""


class AnswerNotTaken(Conflict):
    """No rule takes the answer; the ticket stays open."""


class TaskNotHeld(Conflict):
    """The task is not worked on now, or not by this supervisor."""


class AttemptOver(Conflict):
    """A later attempt of the task has started."""


class Unavailable(Refused):
    """502, 503, 504: the control plane, or a proxy before it, cannot answer now."""


class DatabaseBusy(Unavailable):
    """The transaction could not be done, and nothing was changed as far as it is known."""


class NotServing(Unavailable):
    """Another control plane took the database; this one answers nothing any more."""


#: The class of each code that has one of its own.
BY_CODE: Final[dict[str, type[Refused]]] = {
    "token_not_found": TokenNotFound,
    "task_not_found": TaskNotFound,
    "graph_not_found": GraphNotFound,
    "run_not_found": RunNotFound,
    "no_workflow": NoWorkflow,
    "event_not_allowed": EventNotAllowed,
    "token_not_active": TokenNotActive,
    "child_token": ChildToken,
    "run_not_active": RunNotActive,
    "run_exists": RunExists,
    "key_taken": KeyTaken,
    "ticket_refused": TicketRefused,
    "answer_not_taken": AnswerNotTaken,
    "not_starter": NotStarter,
    "task_not_held": TaskNotHeld,
    "attempt_over": AttemptOver,
    "database_busy": DatabaseBusy,
    "not_serving": NotServing,
}

#: The class of each status that has one, for every other code.
BY_STATUS: Final[dict[int, type[Refused]]] = {
    400: Invalid,
    404: NotFound,
    409: Conflict,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def refusal(url: str, status: int, message: str, code: str | None) -> Refused:
    """The error for an answer from 400 on: its class by code, else by status."""
    by_status = BY_STATUS.get(status, Refused)
    kind = by_status if code is None else BY_CODE.get(code, by_status)
    return kind(url, status, message, code)


def closed(url: str) -> InvalidArgument:
    """The error of a call on a closed client."""
    return InvalidArgument(f"the client of {url} is closed; make a new one")
