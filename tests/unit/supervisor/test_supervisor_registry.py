import sys

import pytest

from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.registry import load_routines

HEAD = "from stateous import on_state\nfrom contract import events, states\n"
DRAFT = HEAD + "@on_state(states.draft)\ndef draft(ctx): return events.submitted()\n"
REVIEW = HEAD + "@on_state(states.review)\nasync def review(ctx): return None\n"
ASK = HEAD + "@on_state(states.tax_check.ask)\ndef ask(ctx): return None\n"


def test_each_state_that_has_a_routine_is_served(write_folder):
    folder = write_folder(draft=DRAFT, review=REVIEW, tax_check_ask=ASK)
    routines = load_routines(folder).states
    assert {state: (it.place, it.on_loop) for state, it in routines.items()} == {
        "draft": ("draft.draft", False),
        "review": ("review.review", True),
        "tax-check/ask": ("tax_check_ask.ask", False),
    }
    assert sys.path[0] == str(folder.resolve())


def test_an_imported_routine_counts_once(write_folder):
    folder = write_folder(a_draft=DRAFT, b_other="from a_draft import draft, draft as again\n")
    assert load_routines(folder).states["draft"].place == "a_draft.draft"


def test_a_second_decorator_replaces_the_first(write_folder):
    text = HEAD + "@on_state(states.review)\n@on_state(states.draft)\ndef work(ctx): ...\n"
    assert set(load_routines(write_folder(work=text)).states) == {"review"}


def test_marked_objects_that_can_be_called_are_routines(write_folder):
    text = HEAD + (
        "class Reviewer:\n    async def __call__(self, ctx): ...\n"
        "reviewer = on_state(states.review)(Reviewer())\n"
    )
    routine = load_routines(write_folder(work=text)).states["review"]
    assert routine.on_loop
    assert routine.place == "work.reviewer"


def test_files_that_begin_with_an_underscore_are_left_to_those_that_import_them(write_folder):
    folder = write_folder(
        _broken="raise ValueError", _draft=DRAFT, work="from _draft import draft\n"
    )
    assert load_routines(folder).states["draft"].place == "work.draft"


def test_two_folders_in_one_process_have_a_contract_each(write_folder):
    first = load_routines(write_folder(folder="one", draft=DRAFT)).states["draft"]
    second = load_routines(write_folder(folder="two", draft=DRAFT)).states["draft"]
    assert first.ref.emits[0] is not second.ref.emits[0]
    assert type(second.call(None)) is second.ref.emits[0]


def test_a_file_with_the_name_of_a_loaded_module_has_its_routines_and_hides_nothing(write_folder):
    import queue

    routines = load_routines(write_folder(queue=DRAFT)).states
    assert routines["draft"].place == "queue.draft"
    assert sys.modules["queue"] is queue


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (
            {"draft": DRAFT, "draft2": DRAFT},
            "'draft' has two routines: draft.draft and draft2.draft",
        ),
        (
            {
                "archive": HEAD + "from stateous import StateRef\n"
                "@on_state(StateRef('archive'))\ndef archive(ctx): ...\n"
            },
            "archive.archive is for the state 'archive', which contract.py does not have: "
            "remove it, or make contract.py again with stateous init supervisor",
        ),
        ({"draft": "raise ValueError('no\\nluck')"}, "ValueError: no\nluck"),
        (
            {"draft": "import nowhere_at_all"},
            "ModuleNotFoundError: No module named 'nowhere_at_all'",
        ),
        ({"draft": "raise SystemExit(3)"}, "SystemExit: 3"),
        (
            {"draft": "from stateous import on_state\n@on_state('draft')\ndef draft(ctx): ...\n"},
            "TypeError: on_state takes a state of contract.states, not 'draft'",
        ),
        ({}, "there is none; decorate a function with @on_state(states.<state>) first"),
    ],
    ids=["two", "unknown state", "raises", "no module", "exits", "no StateRef", "none"],
)
def test_refused_folders(write_folder, files, why):
    folder = write_folder(**files)
    with pytest.raises(SupervisorError) as refused:
        load_routines(folder)
    assert str(refused.value) == f"cannot load the routines in {folder}: {why}"
