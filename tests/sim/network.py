"""The message layer: requests and answers are lost, doubled, late, and overtake one another.

The faults are those of HTTP over a real network. A request may be lost on its way, or arrive long
after its caller has given up. One that is safe to repeat may arrive twice, as from a proxy that
tries again. An answer may be lost or late; one that comes after its caller's deadline meets a closed
connection. A control plane notices some closed connections, and others not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from stateous_client.protocol.exchange import Answer, NoAnswer, Reply, Request
from tests.sim.timeline import Host, Timeline

#: Messages of supervisors that the protocol itself makes safe to repeat (attempts and numbers).
_SAFE: Final = ("/report", "/note")


class Server(Protocol):
    """Whoever listens."""

    host: Host

    def receive(self, request: Request[Any], answer: Callable[[Answer], None]) -> Hangup:
        """A request has arrived; what is returned is told when its connection is closed."""
        ...


class Hangup(Protocol):
    """Called when the other end of a connection is gone."""

    def __call__(self) -> None:
        """The caller is gone."""
        ...


@dataclass
class Weather:
    """How bad the network is, as probabilities; delays are in seconds."""

    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    latest: float = 0.0
    answer_lost: float = 0.0
    unnoticed: float = 0.0


@dataclass(eq=False)
class _Call:
    """One request whose caller waits."""

    request: Request[Any]
    reply: Callable[[Reply], None]
    over: bool = False
    hangups: list[Hangup] = field(default_factory=list)


class Network:
    """Carries requests to whoever listens. ``cut`` are hosts that nobody reaches now."""

    def __init__(self, timeline: Timeline, listening: Callable[[], Sequence[Server]]) -> None:
        self._timeline = timeline
        self._listening = listening
        self.weather = Weather()
        self.cut: set[str] = set()
        self.seen: set[str] = set()

    def port(self, host: Host, timeout: float) -> Callable[..., None]:
        """The way out of ``host``, where a caller waits ``timeout`` seconds for an answer."""

        def send(request: Request[Any], reply: Callable[[Reply], None]) -> None:
            call = _Call(request, reply)
            deadline = timeout + request.held
            self._timeline.after(deadline, lambda: self._give_up(call, f"{deadline:g} s are over"))
            self._set_out(host, call)

        return send

    def _set_out(self, host: Host, call: _Call) -> None:
        weather = self.weather
        copies = 1
        if self._is_safe(call.request) and self._happens("doubled", weather.doubled):
            copies = 2
        for _ in range(copies):
            if host.name in self.cut or self._happens("lost", weather.lost):
                continue
            self._timeline.after(self._delay("late request"), lambda: self._arrive(call))

    def _arrive(self, call: _Call) -> None:
        reachable = [each for each in self._listening() if each.host.name not in self.cut]
        if not reachable:
            self._give_up(call, "connection refused")
            return
        server = self._timeline.random.choice(reachable)
        hangup = server.receive(call.request, lambda answer: self._return(server, call, answer))
        call.hangups.append(hangup)
        if call.over and not self._happens("unnoticed", self.weather.unnoticed):
            hangup()

    def _return(self, server: Server, call: _Call, answer: Answer) -> None:
        if server.host.name in self.cut or self._happens("answer lost", self.weather.answer_lost):
            return
        self._timeline.after(self._delay("late answer"), lambda: self._end(call, answer))

    def _give_up(self, call: _Call, why: str) -> None:
        if call.over:
            return
        self._end(call, NoAnswer(why))
        if not self._happens("unnoticed", self.weather.unnoticed):
            for hangup in call.hangups:
                hangup()

    @staticmethod
    def _end(call: _Call, reply: Reply) -> None:
        if not call.over:
            call.over = True
            call.reply(reply)

    def _delay(self, which: str) -> float:
        draw = self._timeline.random
        if self._happens(which, self.weather.late):
            return draw.uniform(0.05, self.weather.latest)
        return draw.uniform(0.001, 0.02)

    def _happens(self, what: str, probability: float) -> bool:
        if not self._timeline.chance(probability):
            return False
        self.seen.add(what)
        return True

    @staticmethod
    def _is_safe(request: Request[Any]) -> bool:
        return request.repeatable or request.path.endswith(_SAFE)
