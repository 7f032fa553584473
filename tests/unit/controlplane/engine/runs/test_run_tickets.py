"""Tickets and their answers (`docs/spec/statechart.md` 8)."""

from __future__ import annotations

import pytest

from stateous.statechart.tickets import mask, ticket_id
from stateous_controlplane.engine.rows import TicketStatus
from tests.support.charts import chart
from tests.support.runs import R, Runs

DESK = chart(
    """
    initial: desk
    states:
      desk:
        initial: open
        ticket: boss
        on: { boss: closed }
        states:
          open:
            ticket: clerk
            on:
              clerk:
                - { go: filed, when: "${event.data == 'file'}" }
                - { when: "${event.data == 'hold'}", send: { to: parent, event: held } }
                - { when: "${event.data.odd}" }
          filed: { on: { reopen: open } }
      closed: { end: done, output: "${event}" }
    """
)


def desk() -> Runs:
    runs = Runs(DESK)
    runs.submit()
    return runs


def test_an_answer_is_the_event_of_the_ticket_and_spends_it() -> None:
    runs = desk()
    value = runs.value("clerk")
    assert runs.answer("clerk", "file") == "taken"
    assert runs.at() == "desk/filed active"
    assert runs.kinds(behind=5) == "ticket_answered event_accepted left entered"
    assert runs.said("ticket_answered") == [
        {"ticket": "clerk", "state": "open", "id": ticket_id(value)}
    ]
    assert runs.said("event_accepted") == [
        {"event": "clerk", "data": "file", "from": "open", "state": "open", "go": "filed"}
    ]
    assert runs.answer("clerk", "file") == "ticket_refused"
    assert runs.open_tickets() == ["boss"]


def test_an_answer_without_a_target_spends_the_ticket_too() -> None:
    runs = desk()
    assert runs.answer("clerk", "hold") == "taken"
    assert (runs.at(), runs.open_tickets()) == ("desk/open active", ["boss"])
    assert runs.answer("clerk", "hold") == "ticket_refused"


def test_an_answer_that_no_rule_takes_is_recorded_and_leaves_the_ticket_open() -> None:
    runs = desk()
    seq = runs.of().seq
    assert runs.answer("clerk", "shrug") == "answer_not_taken"
    assert runs.kinds(behind=seq) == "note event_rejected"
    rejected = runs.said("event_rejected")[0]
    assert rejected.keys() == {"event", "reason", "ticket", "id"}
    assert (rejected["ticket"], rejected["id"]) == ("clerk", ticket_id(runs.value("clerk")))
    assert runs.open_tickets() == ["boss", "clerk"]
    assert runs.answer("clerk", "file") == "taken"


def test_each_entry_issues_a_new_ticket_and_leaving_voids_it() -> None:
    runs = desk()
    first = runs.value("clerk")
    runs.answer("clerk", "file")
    runs.send("reopen")
    assert runs.value("clerk") != first
    assert runs.answer("clerk", "file", value=first) == "ticket_refused"
    second = runs.value("clerk")
    assert runs.answer("boss", {"sum": 7}) == "taken"
    assert runs.answer("clerk", "file", value=second) == "ticket_refused"
    assert runs.output() == {"name": "boss", "data": {"sum": 7}, "from": "desk"}
    assert sorted(each.status for each in runs.family.tickets.values()) == [
        TicketStatus.ANSWERED,
        TicketStatus.ANSWERED,
        TicketStatus.VOID,
    ]


def test_wrong_spent_and_void_values_get_one_answer_and_leave_nothing() -> None:
    runs = desk()
    seq = runs.of().seq
    assert runs.answer("clerk", value="tk_" + "x" * 43) == "ticket_refused"
    assert runs.answer("clerk", "file", of="run-2") == "ticket_refused"
    assert runs.of().seq == seq
    assert runs.answer("clerk", "file", of=R) == "taken"


def test_a_ticket_of_a_run_that_ended_is_refused_like_any_other() -> None:
    runs = desk()
    value = runs.value("clerk")
    runs.cancel()
    assert runs.answer("clerk", "file", value=value) == "ticket_refused"


def test_a_paused_run_takes_no_answer() -> None:
    runs = desk()
    runs.pause()
    assert runs.answer("clerk", "file") == "run_not_active"
    assert runs.open_tickets() == ["boss", "clerk"]
    runs.resume()
    assert runs.answer("clerk", "file") == "taken"


def test_a_client_cannot_answer_by_an_event() -> None:
    runs = desk()
    assert runs.send("clerk", "file") == "dropped"
    assert runs.open_tickets() == ["boss", "clerk"]


def test_the_value_is_in_no_row_and_no_entry() -> None:
    runs = desk()
    value = runs.value("clerk")
    runs.answer("clerk", "file")
    assert value not in repr(runs.family)
    assert value not in repr(runs.ledger)


def test_a_child_hands_its_ticket_to_its_parent() -> None:
    runs = Runs(
        chart(
            """
            initial: p
            states:
              p:
                job: { machine: m.yaml }
                on: { wanted: { send: { to: parent, event: ask, data: "${event.data}" } }, done: q }
              q: { end: done, output: "${event.data}" }
            """,
            m="""
            initial: a
            states:
              a:
                ticket: review
                entry: { send: { to: parent, event: wanted, data: "${tickets.review}" } }
                on: { review: b }
              b: { end: done, output: "${event.data}" }
            """,
        )
    )
    runs.submit()
    child = runs.child("p")
    asked = [each["data"] for each in runs.said("sent", of=R)]
    assert asked == [runs.value("review", child)]
    assert runs.answer("review", "fine", run=child) == "taken"
    assert (runs.at(), runs.output()) == ("q completed", "fine")


TOLD = chart(
    """
    initial: a
    states:
      a:
        ticket: t
        on:
          time: b
          key: { send: { to: { key: "${[tickets.t, tickets.t]}" }, event: x } }
          condition: [ { when: "${['in a list', tickets.t]}" } ]
      b: { timers: { due: "${event.data}" } }
    """
)


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ("time", "states.b.timers.due: ${event.data}: 'tid_"),
        ("key", "is no key: it must be a text"),
        ("condition", "is neither true nor false"),
    ],
)
def test_a_sentence_that_cuts_what_it_shows_has_no_part_of_a_value(
    event: str, sentence: str
) -> None:
    runs = Runs(TOLD)
    runs.submit()
    value = runs.value("t")
    runs.send(event, value)
    (told,) = [each["text"] for each in runs.said("note")] or [runs.error()]
    assert told is not None
    assert sentence in told
    assert mask(value)[:8] in told
    assert value[:8] not in told
