import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stateous_supervisor.command import main

SUBMIT = (
    "from stateous import on_state\nfrom contract import events, states\n"
    "@on_state(states.draft)\ndef draft(ctx):\n    return events.submitted()\n"
)
HOLD = (
    "import asyncio\nfrom stateous import on_state\nfrom contract import events, states\n"
    "@on_state(states.draft)\nasync def draft(ctx):\n    await asyncio.sleep(60)\n"
)
COMMAND = [sys.executable, "-m", "stateous_supervisor.command"]


@pytest.fixture
def launch():
    launched = []

    def launch_(folder, *flags):
        process = subprocess.Popen(
            [*COMMAND, str(folder), *flags], stderr=subprocess.PIPE, text=True
        )
        launched.append(process)
        return process

    yield launch_
    for process in launched:
        process.kill()
        process.communicate()


def test_a_refusal_is_one_sentence_and_exit_code_1(write_folder, capsys):
    folder = write_folder()
    (folder / "stateous.yaml").write_text("tasks: true\n")
    assert main([str(folder)]) == 1
    assert capsys.readouterr().err == (
        f"error: cannot use {folder / 'stateous.yaml'}: url: the setting is needed; "
        "tasks: a whole number is needed, not true\n"
    )


def test_bad_usage_is_exit_code_2(capsys):
    with pytest.raises(SystemExit) as left:
        main([])
    assert left.value.code == 2
    assert "FOLDER" in capsys.readouterr().err


def test_the_version(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert re.fullmatch(r"stateous-supervisor \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_finishes_and_exits_with_0(plane, write_folder, launch, number):
    plane.grant(2, token="INV-7")
    process = launch(write_folder(draft=SUBMIT), "--url", plane.url, "--name", "box-b")
    lines = []
    while not lines or "reported" not in lines[-1]:
        lines.append(process.stderr.readline())
    process.send_signal(number)
    lines += process.communicate(timeout=15)[1].splitlines()
    assert process.returncode == 0
    stamp = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} stateous\.supervisor: "
    assert all(re.match(stamp, line) for line in lines), lines
    assert [re.sub(stamp, "", line.rstrip()) for line in lines] == [
        f"box-b serves draft; the control plane is {plane.url}",
        "task 2: draft of INV-7, attempt 1",
        "task 2 of INV-7: reported submitted",
        "stopping: no new tasks; waiting for 0 routine(s) (signal again to stop now)",
    ]


def test_two_signals_cancel_and_exit_with_1(plane, write_folder, launch):
    plane.grant(1)
    process = launch(write_folder(draft=HOLD), "--url", plane.url)
    plane.wait_for("/claim", count=2)
    process.send_signal(signal.SIGTERM)
    plane.wait_for("/claim", count=3)
    process.send_signal(signal.SIGINT)
    _, log = process.communicate(timeout=15)
    assert process.returncode == 1
    assert log.splitlines()[-1].endswith("stopping now: cancelling 1 routine(s)")


def test_a_killed_supervisor_sends_at_the_next_start_what_it_had_written(
    plane, write_folder, launch
):
    def away(_body):
        raise ConnectionAbortedError

    plane.answers["/report"] = away
    plane.grant(1)
    folder = write_folder(plane.url, draft=SUBMIT)
    process = launch(folder)
    plane.wait_for("/tasks/1/report")
    process.kill()
    process.communicate(timeout=15)
    plane.answers.clear()
    sent = len(plane.bodies("/tasks/1/report"))
    launch(folder)
    assert plane.wait_for("/tasks/1/report", count=sent + 1)[-1]["event"] == "submitted"


def test_the_command_is_installed():
    assert (Path(sys.executable).parent / "stateous-supervise").exists()
