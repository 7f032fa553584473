import pytest

from stateous_supervisor.messages import Attempt, Draft, Message
from stateous_supervisor.verdict import (
    Refused,
    Verdict,
    failed_instead,
    judge,
    verdict_if_held,
    verdict_if_lost,
)

DROP, ASK, FAIL = Verdict.DROP, Verdict.ASK, Verdict.FAIL


def message(kind, /, **body):
    return Message(7, Attempt(2, 3), "INV-7", kind, body)


@pytest.mark.parametrize(
    ("status", "code", "of_a_report"),
    [
        (404, "task_not_found", DROP),
        (409, "attempt_over", DROP),
        (409, "task_not_held", ASK),
        (409, "event_not_allowed", ASK),
        (409, "token_not_active", ASK),
        (409, None, ASK),
        (422, "invalid_context", FAIL),
        (422, "invalid_payload", FAIL),
        (413, "bad_request", FAIL),
        (404, None, FAIL),
        (500, "unexpected", FAIL),
        (0, None, FAIL),
    ],
)
@pytest.mark.parametrize("kind", ["event", "waiting", "failed"])
def test_a_refused_message(status, code, kind, of_a_report):
    refused = Refused(status, code, "why")
    assert judge(message("report", kind=kind, error="ValueError: x"), refused) is of_a_report
    assert judge(message("note", text="x"), refused) is DROP
    assert judge(message("memory", key="x", value=1), refused) is DROP


def test_a_report_in_the_place_of_a_refused_one_is_not_replaced_again():
    refused = Refused(422, "invalid_context", "title: 5 is not of type 'string'")
    draft = failed_instead(message("report", kind="event", event="reviewed"), refused)
    assert draft == Draft(
        Attempt(2, 3),
        "INV-7",
        "report",
        {
            "kind": "failed",
            "error": "the control plane refused the report: title: 5 is not of type 'string'",
            "context": {},
            "schedules": [],
            "attempt": 3,
        },
    )
    by = Message(8, draft.attempt, draft.token, draft.kind, draft.body)
    for status in (409, 422, 500):
        assert judge(by, Refused(status, None, "again")) is DROP


@pytest.mark.parametrize(
    ("status", "code", "verdict"),
    [
        (404, "task_not_found", Verdict.STOP),
        (409, "attempt_over", Verdict.STOP),
        (409, "task_not_held", ASK),
        (409, None, ASK),
        (422, "invalid_body", DROP),
        (413, "bad_request", DROP),
        (500, "unexpected", DROP),
    ],
)
def test_a_refused_value(status, code, verdict):
    refused = Refused(status, code, "why")
    assert judge(message("emit", number=1, event="tick", data=None), refused) is verdict


def test_what_a_heartbeat_decides():
    report, value = message("report", kind="done"), message("emit", number=1)
    assert [verdict_if_held(it) for it in (report, value)] == [FAIL, DROP]
    assert [verdict_if_lost(it) for it in (report, value)] == [DROP, Verdict.STOP]
