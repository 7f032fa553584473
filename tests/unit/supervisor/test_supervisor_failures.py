import textwrap

import pytest

from stateous_supervisor.failures import cut, defined_at, raised_at, shown_trace


@pytest.fixture
def module(tmp_path):
    file = tmp_path / "review.py"
    file.write_text(
        textwrap.dedent("""
        import json

        def routine(ctx):
            return check(ctx)

        def check(ctx):
            return json.loads(ctx)
        """)
    )
    scope = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    return scope


def caught(call, *arguments):
    try:
        call(*arguments)
    except Exception as error:
        return error
    raise AssertionError


def test_the_innermost_line_of_the_folders_own_code_is_told(module, tmp_path):
    error = caught(module["routine"], "{")
    assert raised_at(error.__traceback__, tmp_path) == "review.py, line 8, in check"


def test_without_a_line_of_the_folder_the_innermost_of_all_is_told(module, tmp_path):
    error = caught(module["routine"], "{")
    assert "json" in raised_at(error.__traceback__, tmp_path / "other")
    assert raised_at(None, tmp_path) is None


def test_where_a_routine_begins(module, tmp_path):
    assert defined_at(module["routine"], tmp_path) == "review.py, line 4"
    assert defined_at(len, tmp_path) == "<built-in function len>"


def test_what_nobody_reads_is_cut(module, tmp_path):
    error = ValueError("x" * 1_000_000)
    assert len(shown_trace(error, None, f"ValueError: {error}")) < 20_000
    assert len(cut("x" * 1_000_000)) < 20_000
    assert shown_trace(ValueError("boom"), None, "ValueError: boom") == "ValueError: boom"
