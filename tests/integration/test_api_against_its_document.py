"""The whole API against its OpenAPI document: schemathesis makes requests, and judges the answers.

A control plane serves a parallel workflow, on each database. Each operation gets requests that fit the
document and some that do not; families of tokens are also led through sequences of all operations.
Most requests are aimed at what exists (a family, its tasks, states and events), so that they get
past the first look-up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi import checks

from stateous.graph.hashes import checksum
from stateous.json import read_json
from stateous.limits import MAX_CLAIM_WAIT, MAX_READ_WAIT
from stateous_controlplane.api.openapi import document
from tests.support.databases import ServedDatabase
from tests.support.live_api import LiveApi, live_api

GRAPH = Path(__file__).parents[1] / "conformance" / "data" / "wire" / "parallel-all.json"

PROFILE = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

STEPS = 15

CHILDREN = [".reviews.1.design-review", ".reviews.1.security-review"]
EVENTS = ["done", "hurry", "firm", "skip", "more", "approved", "close", "refused", "timeout"]
QUEUES = ["coding", "merging", "security-review/triage", "design-review/triage"]

#: A chart with a ticket, a job, a timer and an event that it keeps.
CHART = {
    "stateous": 1,
    "statechart": "desk",
    "initial": "open",
    "states": {
        "open": {
            "job": {"script": "look.js"},
            "ticket": "verdict",
            "timers": [{"timer": "late", "text": "48h", "after": 172800}],
            "defer": ["later"],
            "on": {
                "verdict": [{"go": "closed", "when": "event.data.ok"}],
                "again": [{"go": "open"}],
                "progress": [{}],
                "done": [{}],
                "failed": [{}],
            },
        },
        "closed": {"end": "done", "output": "${event.data}"},
    },
    "scripts": {"look.js": "return 1"},
    "machines": {},
}
CHECKSUM = checksum(CHART)
RUN_EVENTS = ["again", "later", "progress", "nosuch", "done"]
STARTER = "the-starter-of-all-runs-of-this-test"

ANSWERS_FIT = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]

#: Refusals of a request for its form alone; whatever fits the document gets none of them.
FORM = {"bad_request", "unsupported_media_type", "invalid_body", "invalid_argument"}


@pytest.fixture(scope="module")
def api(
    module_database: ServedDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveApi]:
    folder = tmp_path_factory.mktemp("api")
    graph = folder / "change.json"
    graph.write_text(json.dumps(json.loads(GRAPH.read_text())["graph"]), "utf-8")
    with live_api(graph, module_database.url) as live:
        assert requests.put(f"{live.url}/graphs/{CHECKSUM}", json=CHART, timeout=30).ok
        yield live
        assert live.broken == []


def _schema() -> Any:
    made = schemathesis.openapi.from_dict(document("Stateous", "1"))
    made.config.generation.update(allow_x00=False)
    return made


SCHEMA = _schema()
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]


@dataclass
class Family:
    """A token in the parallel state `reviews`, with two children; their tasks are claimed.

    And a run that waits for an answer, whose job is claimed.
    """

    url: str
    session: requests.Session
    token: str

    @property
    def run(self) -> str:
        return f"R-{self.token}"

    def start_run(self) -> None:
        body = {"graph": CHECKSUM, "id": self.run, "key": self.run}
        headers = {"Stateous-Starter": STARTER}
        self.session.post(f"{self.url}/runs", json=body, headers=headers, timeout=30)
        assert self.post("/tasks/claim", supervisor="box-1", jobs=["scripts"])["token"] == self.run

    def of_run(self, path: str) -> Any:
        headers = {"Stateous-Starter": STARTER}
        return self.session.get(self.url + path, headers=headers, timeout=30).json()

    def ticket(self) -> str:
        tickets = self.of_run(f"/runs/{self.run}/tickets")["tickets"]
        return tickets[0]["value"] if tickets else "tk_nosuch"

    def post(self, path: str, **body: Any) -> Any:
        answer = self.session.post(self.url + path, json=body, timeout=30)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def tasks(self, token: str) -> list[int]:
        answer = self.session.get(f"{self.url}/tasks", params={"token": token}, timeout=30)
        return [task["task"] for task in answer.json()]

    def aim(self, draw: Any, case: Any, *, body: bool) -> None:
        """Put what exists into a request."""
        token = draw(st.sampled_from([self.token, *(self.token + name for name in CHILDREN)]))
        path = case.path_parameters
        if "token" in path:
            path["token"] = token
        if "id" in path or "value" in path or "checksum" in path:
            self._aim_at_run(draw, case)
        elif "event" in path:
            path["event"] = draw(st.sampled_from(EVENTS))
        if "task" in path:
            tasks = self.tasks(token) or [1]
            tasks += [job["task"] for job in self.of_run(f"/runs/{self.run}")["jobs"]]
            # What is drawn must not depend on the state of the server: examples are replayed.
            path["task"] = tasks[draw(st.integers(0, 99)) % len(tasks)]
        if not body or not isinstance(case.body, dict):
            return
        known = {
            "supervisor": st.just("box-1"),
            "states": st.lists(st.sampled_from(QUEUES), max_size=4),
            "jobs": st.lists(st.sampled_from(["scripts", "desk/price"]), max_size=2),
            "graph": st.sampled_from([CHECKSUM, CHART]),
            "first": st.integers(1, 3),
            "values": st.lists(
                st.sampled_from([{"event": "progress", "data": 1}, {"event": "later"}]), max_size=3
            ),
            "event": st.sampled_from(EVENTS),
            "attempt": st.integers(1, 2),
            "payload": st.sampled_from([{}, {"score": 1}, {"score": 10**30}]),
            "context": st.sampled_from([{}, {"repo": "y"}, {"level": 2}]),
            "schedules": st.sampled_from([[], [{"event": "done", "after": "1h"}]]),
        }
        for key in known.keys() & case.body.keys():
            case.body[key] = draw(known[key])

    def _aim_at_run(self, draw: Any, case: Any) -> None:
        path = case.path_parameters
        if "id" in path:
            path["id"] = self.run
        if "event" in path:
            path["event"] = draw(st.sampled_from(RUN_EVENTS))
        if "value" in path:
            path["value"] = draw(st.sampled_from([self.ticket, lambda: "tk_x"]))()
        if "checksum" in path:
            path["checksum"] = CHECKSUM
        if case.headers is not None and draw(st.booleans()):
            case.headers["Stateous-Starter"] = STARTER


NUMBERS = count(1)


@contextmanager
def family(api: LiveApi) -> Iterator[Family]:
    with requests.Session() as session:
        made = Family(api.url, session, f"F-{next(NUMBERS)}")
        made.post("/tokens", token=made.token, context={"repo": "x"})
        made.post(f"/tokens/{made.token}/events/done")
        # No other family is live: these are its tasks.
        for _ in CHILDREN:
            assert made.post("/tasks/claim", supervisor="box-1", states=QUEUES) is not None
        made.start_run()
        try:
            yield made
        finally:
            session.post(f"{api.url}/tokens/{made.token}/cancel", timeout=30)
            for status in ("active", "paused"):
                for run in made.of_run(f"/runs?status={status}&limit=1000")["runs"]:
                    session.post(f"{api.url}/runs/{run['id']}/cancel", timeout=30)


def wait_briefly(case: Any) -> None:
    """Nobody waits in a test for what does not come."""
    wait = case.query.get("wait")
    if str(wait).isdecimal() and int(str(wait)) <= MAX_READ_WAIT:
        case.query["wait"] = 0
    wait = case.body.get("wait") if isinstance(case.body, dict) else None
    if type(wait) is int and 0 <= wait <= MAX_CLAIM_WAIT:
        case.body["wait"] = 0


def say_what_no_schema_can(value: Any, key: str = "") -> Any:
    """A value that fits a schema, made to fit the document's words.

    To a schema 1.0 is a whole number, and the sentence that bounds a duration is none.
    """
    if isinstance(value, dict):
        return {name: say_what_no_schema_can(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [say_what_no_schema_can(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if key == "after" and isinstance(value, str):
        return value[:2].rstrip("smhd") + value[-1]
    return value


def asked(case: Any, target: Family) -> tuple[Any, dict[str, Any]]:
    """The answer, and the refusal that it is."""
    wait_briefly(case)
    answer = case.call(base_url=target.url, session=target.session)
    assert answer.status_code < 500, (answer.status_code, answer.text)
    value = read_json(answer.content) if answer.content else {}
    return answer, value if isinstance(value, dict) and "code" in value else {}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda found: found.label)
def test_what_the_document_allows_is_answered_as_it_says(operation: Any, api: LiveApi) -> None:
    with family(api) as target:

        @PROFILE
        @given(st.data())
        def check(data: st.DataObject) -> None:
            case = data.draw(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
            send_what_fits(data.draw, case, target)

        check()


def send_what_fits(draw: Any, case: Any, target: Family) -> None:
    if draw(st.sampled_from([True, True, True, False])):
        target.aim(draw, case, body=True)
    case.body = say_what_no_schema_can(case.body)
    case.query.pop("cursor", None)  # only an answer can tell one
    answer, refusal = asked(case, target)
    # Whether it is a job, and which value comes next, is known to the task alone.
    of_task = "task" in case.path_parameters and refusal.get("code") == "invalid_body"
    assert refusal.get("code") not in FORM or of_task, (refusal, case.as_curl_command())
    case.validate_response(answer, checks=ANSWERS_FIT)


@pytest.mark.parametrize(
    "operation",
    [found for found in OPERATIONS if found.body or found.query],
    ids=lambda found: found.label,
)
def test_what_the_document_forbids_is_refused_as_it_says(operation: Any, api: LiveApi) -> None:
    with family(api) as target:

        @PROFILE
        @given(st.data())
        def check(data: st.DataObject) -> None:
            case = data.draw(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
            wrong_path = case.meta.components.get(ParameterLocation.PATH)
            if wrong_path is None or wrong_path.mode is GenerationMode.POSITIVE:
                target.aim(data.draw, case, body=False)
            answer, _ = asked(case, target)
            case.validate_response(answer, checks=[*ANSWERS_FIT, checks.negative_data_rejection])

        check()


def test_a_family_is_led_through_many_requests(api: LiveApi) -> None:
    any_case = st.sampled_from([found for found in OPERATIONS if found.path_parameters]).flatmap(
        lambda found: found.as_strategy(generation_mode=GenerationMode.POSITIVE)
    )

    @PROFILE
    @given(st.data())
    def check(data: st.DataObject) -> None:
        with family(api) as target:
            for _ in range(STEPS):
                send_what_fits(data.draw, data.draw(any_case), target)
            for path in (f"/tokens/{target.token}", f"/runs/{target.run}"):
                history = target.of_run(f"{path}/history")
                assert [entry["seq"] for entry in history] == [*range(1, len(history) + 1)]

    check()
