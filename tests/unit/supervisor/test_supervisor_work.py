import pytest

from stateous_supervisor import work
from stateous_supervisor.work import SCRIPTS, names_of, queue_of, title_of


@pytest.mark.parametrize(
    ("grant", "queue", "title"),
    [
        ({"state": "draft", "context": {}}, work.state("draft"), "draft"),
        ({"state": "tax-check/ask", "context": {}}, work.state("tax-check/ask"), "tax-check/ask"),
        (
            {"state": "pricing", "machine": "review", "routine": "price"},
            work.job("review/price"),
            "review/price",
        ),
        (
            {
                "state": "drafting",
                "machine": "review",
                "script": {"path": "draft.js", "source": ""},
            },
            SCRIPTS,
            "draft.js",
        ),
    ],
)
def test_where_the_task_of_a_grant_waited(grant, queue, title):
    assert queue_of(grant) == queue
    assert title_of(grant) == title


def test_a_state_and_a_job_of_one_name_are_two():
    assert work.state("review/price") != work.job("review/price")
    queues = [work.state("a"), work.job("w/a"), SCRIPTS]
    assert names_of(queues, "state") == ("a",)
    assert names_of(queues, "job") == ("w/a", "scripts")
