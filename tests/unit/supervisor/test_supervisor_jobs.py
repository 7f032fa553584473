"""Jobs of runs, done by a supervisor against a control plane of the test, over real HTTP."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stateous_supervisor.errors import SupervisorError
from stateous_supervisor.pace import Pace
from stateous_supervisor.scripts.processes import ScriptProcesses
from stateous_supervisor.supervise import Supervisor

QUICK = Pace(
    claim_wait=20,
    claim_pause=0.02,
    claim_grace=0.05,
    backoff=(0.01, 0.02, 0.04),
    heartbeat=0.05,
    cancel_grace=2,
    send_grace=0.5,
)
PRICE = """
from stateous import on_job

@on_job("review/price")
def price(ctx):
    ctx.emit("progress", 10)
    return {"price": ctx.input["cost"] * 2}
"""
GATED = """
import asyncio, threading
from stateous import on_job
gate = threading.Event()

@on_job("review/price")
def price(ctx):
    ctx.note("begun")
    gate.wait(30)

@on_job("review/label")
async def label(ctx):
    ctx.note("begun")
    await asyncio.sleep(30)
"""
OVER = {"code": "attempt_over", "error": "the attempt is over"}
NOT_HELD = {"code": "task_not_held", "error": "the task is not held"}


def until(reached):
    for _ in range(2000):
        if reached():
            return
        time.sleep(0.005)
    raise AssertionError("it did not happen")


@pytest.fixture
def charts(tmp_path, write_folder):
    """Writes a folder with routines of charts only."""

    def write(url, **files):
        folder = tmp_path / "charts"
        folder.mkdir()
        (folder / "stateous.yaml").write_text(f'url: "{url}"\nname: box-a\n')
        for stem, text in files.items():
            (folder / f"{stem}.py").write_text(text)
        return folder

    return write


@pytest.fixture
def start(plane, caplog):
    caplog.set_level(logging.INFO, logger="stateous.supervisor")
    started = []

    def start_(folder=None, *, scripts=True, tasks=4, **options):
        made = Supervisor(
            folder, url=plane.url, tasks=tasks, name="box-a", scripts=scripts, pace=QUICK, **options
        )
        thread = threading.Thread(target=made.run)
        thread.start()
        started.append((made, thread))
        return made

    yield start_
    for made, thread in started:
        while thread.is_alive():
            made.stop()
            thread.join(0.2)


def report(kind, **changes):
    return {"kind": kind, "attempt": 1, "supervisor": "box-a"} | changes


# Routines


def test_a_routine_emits_and_gives_its_output(plane, charts, start, caplog):
    plane.grant_job(4, routine="price", input={"cost": 3})
    start(charts(plane.url, work=PRICE), scripts=False)

    assert plane.wait_for("/tasks/4/report") == [report("done", output={"price": 6})]
    assert plane.bodies("/tasks/4/emits") == [
        {
            "supervisor": "box-a",
            "attempt": 1,
            "first": 1,
            "values": [{"event": "progress", "data": 10}],
        }
    ]
    assert plane.bodies("/claim")[0]["jobs"] == ["review/price"]
    assert plane.bodies("/claim")[0]["states"] == []
    until(lambda: "reported done" in caplog.text)
    assert f"box-a serves review/price; the control plane is {plane.url}" in caplog.messages
    assert "task 4: review/price of run-4, attempt 1" in caplog.messages


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("return None", {"kind": "done", "output": None}),
        ("pass", {"kind": "done", "output": None}),
        ("return (1, 'é', {2: True})", {"kind": "done", "output": [1, "é", {"2": True}]}),
        ("raise ValueError('no')", {"kind": "failed", "error": "ValueError: no", "status": "failed"}),
        ("raise SystemExit", {"kind": "failed", "error": "SystemExit", "status": "failed"}),
        ("ctx['title']", {"kind": "failed", "status": "failed"}),
        ("ctx.schedule(None, after='1h')", {"kind": "failed", "status": "failed"}),
        ("ctx.emit('done')", {"kind": "failed", "status": "failed"}),
        ("return object()", {"kind": "failed", "status": "failed"}),
        ("return float('nan')", {"kind": "failed", "status": "failed"}),
        ("return 'x' * (1 << 20)", {"kind": "failed", "status": "failed"}),
        ("return '\\x00'", {"kind": "failed", "status": "failed"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("head", ["def", "async def"])
def test_how_a_routine_ends(plane, charts, start, head, body, outcome):
    text = f"from stateous import on_job\n@on_job('review/price')\n{head} price(ctx):\n    {body}\n"
    plane.grant_job(1, routine="price")
    start(charts(plane.url, work=text), scripts=False)

    (got,) = plane.wait_for("/tasks/1/report")
    assert outcome.items() <= got.items()
    assert not {"context", "schedules", "event"} & set(got)


def test_a_def_that_returns_a_coroutine(plane, charts, start):
    text = (
        "from stateous import on_job\nasync def more(): pass\n"
        "@on_job('review/price')\ndef price(ctx):\n    return more()\n"
    )
    plane.grant_job(1, routine="price")
    start(charts(plane.url, work=text), scripts=False)

    (got,) = plane.wait_for("/tasks/1/report")
    assert got["error"].endswith("is a def that returned a coroutine: write it as async def")


def test_notes_and_memory_of_a_job(plane, charts, start):
    text = (
        "from stateous import on_job\n@on_job('review/price')\ndef price(ctx):\n"
        "    ctx.memory['seen'] = ctx.memory.get('seen', 0) + 1\n    ctx.note('half')\n"
    )
    plane.grant_job(1, routine="price", memory={"seen": 4})
    start(charts(plane.url, work=text), scripts=False)

    plane.wait_for("/tasks/1/report")
    (memory,) = plane.bodies("/tasks/1/memory")
    assert (memory["key"], memory["value"], memory["attempt"]) == ("seen", 5, 1)
    assert [it["text"] for it in plane.bodies("/tasks/1/note")] == ["half"]


def test_values_that_come_fast_go_together_and_in_order(plane, charts, start):
    text = (
        "from stateous import on_job\n@on_job('review/price')\nasync def price(ctx):\n"
        "    for n in range(1200):\n        ctx.emit('tick', n)\n"
    )
    plane.grant_job(1, routine="price")
    start(charts(plane.url, work=text), scripts=False)

    plane.wait_for("/tasks/1/report")
    requests = plane.bodies("/tasks/1/emits")
    assert len(requests) < 100
    told = []
    for request in requests:
        assert request["first"] == len(told) + 1
        told += [value["data"] for value in request["values"]]
    assert told == list(range(1200))


def test_values_of_several_threads_are_numbered_without_a_hole(plane, charts, start):
    text = (
        "import threading\nfrom stateous import on_job\n@on_job('review/price')\ndef price(ctx):\n"
        "    many = [threading.Thread(target=lambda: [ctx.emit('tick') for _ in range(20)])"
        " for _ in range(4)]\n"
        "    for it in many: it.start()\n    for it in many: it.join()\n"
    )
    plane.grant_job(1, routine="price")
    start(charts(plane.url, work=text), scripts=False)

    plane.wait_for("/tasks/1/report")
    numbers = [
        number
        for request in plane.bodies("/tasks/1/emits")
        for number in range(request["first"], request["first"] + len(request["values"]))
    ]
    assert numbers == list(range(1, 81))


def test_values_are_sent_again_when_no_answer_came(plane, charts, start):
    answers = iter([ConnectionAbortedError, None])

    def emits(_):
        error = next(answers)
        if error is not None:
            raise error

    plane.answers["/emits"] = emits
    plane.grant_job(1, routine="price", input={"cost": 1})
    start(charts(plane.url, work=PRICE), scripts=False)

    plane.wait_for("/tasks/1/report")
    first, second = plane.bodies("/tasks/1/emits")
    assert first == second


@pytest.mark.parametrize("routine", ["price", "label"])
def test_a_routine_has_so_much_time(plane, charts, start, caplog, routine):
    plane.grant_job(1, routine=routine, timeout=0.2)
    start(charts(plane.url, work=GATED), scripts=False)

    assert plane.wait_for("/tasks/1/report") == [
        report("failed", status="timeout", error="it ran for longer than its timeout of 0.2 s")
    ]
    assert "attempt 1 ran for longer than its timeout of 0.2 s; cancelling it" in caplog.text
    sys.modules["work"].gate.set()
    time.sleep(0.05)
    assert len(plane.bodies("/tasks/1/report")) == 1


def test_a_place_is_free_when_the_time_is_over(plane, charts, start):
    plane.grant_job(1, routine="price", timeout=0.2)
    plane.grant_job(2, routine="label", timeout=0.2)
    start(charts(plane.url, work=GATED), scripts=False, tasks=1)

    plane.wait_for("/tasks/2/report")
    sys.modules["work"].gate.set()


def test_states_and_jobs_stand_side_by_side(plane, start, write_folder):
    text = (
        "from stateous import on_job, on_state\nfrom contract import events, states\n"
        "@on_state(states.draft)\ndef draft(ctx):\n    return events.submitted()\n"
        "@on_job('review/draft')\ndef draft_job(ctx):\n    return 1\n"
    )
    plane.grant(1)
    plane.grant_job(2, routine="draft")
    start(write_folder(plane.url, work=text))

    assert plane.wait_for("/tasks/1/report")[0]["kind"] == "event"
    assert plane.wait_for("/tasks/2/report")[0]["kind"] == "done"
    claim = plane.bodies("/claim")[0]
    assert (claim["states"], claim["jobs"]) == (["draft"], ["review/draft", "scripts"])


def test_two_routines_for_one_job_refuse_the_start(plane, charts):
    folder = charts(plane.url, a=PRICE, b=PRICE)

    with pytest.raises(SupervisorError) as refused:
        Supervisor(folder).run()
    assert str(refused.value) == (
        f"cannot load the routines in {folder}: 'review/price' has two routines: a.price and b.price"
    )


def test_a_folder_without_contract_and_without_jobs_is_refused_at_once(plane, charts):
    folder = charts(plane.url, work="from stateous import on_state\n")

    with pytest.raises(SupervisorError, match="make it with stateous init supervisor"):
        Supervisor(folder)


def test_a_folder_that_imports_the_mark_and_does_not_use_it(plane, charts):
    with pytest.raises(
        SupervisorError, match=r"there is none; .*@on_job\(\"<machine>/<routine>\"\)"
    ):
        Supervisor(charts(plane.url, work="from stateous import on_job\n")).run()


# Scripts


def test_a_script_emits_and_gives_its_output(plane, start, caplog):
    plane.grant_job(4, script="emit('row', input); return input.n * 2", input={"n": 3})
    start()

    assert plane.wait_for("/tasks/4/report") == [report("done", output=6)]
    assert plane.bodies("/tasks/4/emits") == [
        {"supervisor": "box-a", "attempt": 1, "first": 1, "values": [{"event": "row", "data": {"n": 3}}]}
    ]  # fmt: skip
    claim = plane.bodies("/claim")[0]
    assert len(claim.pop("request")) == 32
    assert claim == {"supervisor": "box-a", "states": [], "jobs": ["scripts"], "wait": 20, "max": 4}
    until(lambda: "reported done" in caplog.text)
    assert f"box-a serves scripts; the control plane is {plane.url}" in caplog.messages
    assert "task 4: work.js of run-4, attempt 1" in caplog.messages


@pytest.mark.parametrize(
    ("source", "status", "error"),
    [
        ("\nthrow new Error('cannot do ' + input)", "failed", "scripts/boom.js:2: cannot do null"),
        ("\n\nrequire('http')", "denied", 'scripts/boom.js:3: denied: require("http") needs the grant net:<host>, which this version cannot give'),
        ("foo(", "failed", "scripts/boom.js:1: unexpected token in expression: '}'"),
        ("} function more() {", "failed", "scripts/boom.js:1: the script closes the function that it is the body of"),
        ("return Promise.resolve(1)", "failed", "scripts/boom.js:1: a promise is no JSON value, and nothing here waits for it"),
        ("\nreturn 'x'.repeat(1 << 20)", "failed", "scripts/boom.js:2: the output has more than 1048576 bytes as JSON"),
        ("return '\\0'", "failed", "scripts/boom.js:1: the output cannot be sent: a text holds U+0000, which cannot be stored"),
        ("const a = []; for (;;) a.push(new Uint8Array(1 << 20))", "failed", "scripts/boom.js:1: out of memory"),
    ],
)  # fmt: skip
def test_how_a_script_fails(plane, start, source, status, error):
    plane.grant_job(1, script=source, path="scripts/boom.js")
    start()

    assert plane.wait_for("/tasks/1/report") == [report("failed", status=status, error=error)]


def test_the_error_of_a_script_is_cut(plane, start):
    plane.grant_job(1, script="throw new Error('x'.repeat(5000))")
    start()

    (got,) = plane.wait_for("/tasks/1/report")
    assert len(got["error"]) == 2000


def test_a_script_has_so_much_time_and_what_it_emitted_stays(plane, start):
    plane.grant_job(1, script="emit('begun', 1); for (;;);", timeout=0.5)
    plane.grant_job(2, script="return 'beside it'")
    start()

    assert plane.wait_for("/tasks/1/report") == [
        report("failed", status="timeout", error="it ran for longer than its timeout of 0.5 s")
    ]
    assert len(plane.bodies("/tasks/1/emits")) == 1
    assert plane.wait_for("/tasks/2/report")[0]["output"] == "beside it"


def test_what_is_emitted_is_sent_while_the_script_runs(plane, start):
    plane.grant_job(1, script="emit('begun', 1); for (;;);")
    start()

    plane.wait_for("/tasks/1/emits")
    assert plane.bodies("/tasks/1/report") == []


def test_a_lost_script_is_killed_and_forgotten(plane, start, caplog):
    plane.grant_job(1, script="emit('begun', 1); for (;;);")
    start(tasks=1)
    plane.wait_for("/tasks/1/emits")
    children = running_scripts()

    plane.lost.add(1)
    until(lambda: "the control plane took it back" in caplog.text)
    until(lambda: not any(map(alive, children)))
    plane.grant_job(2, script="return 2")

    assert plane.wait_for("/tasks/2/report")[0]["output"] == 2
    assert plane.bodies("/tasks/1/report") == []


@pytest.mark.parametrize(("refusal", "lost"), [(OVER, set()), (NOT_HELD, {1})])
def test_a_script_whose_values_nobody_takes_is_killed(plane, start, caplog, refusal, lost):
    plane.answers["/tasks/1/emits"] = lambda _: (409, refusal)
    plane.lost |= lost
    plane.grant_job(
        1, script="for (;;) try { emit('tick', 1); for (let n = 0; n < 1e6; n++); } catch {}"
    )
    start(tasks=1)

    plane.wait_for("/tasks/1/emits")
    until(lambda: "the control plane took it back" in caplog.text)
    plane.grant_job(2, script="return 2")
    assert plane.wait_for("/tasks/2/report")[0]["output"] == 2
    assert plane.bodies("/tasks/1/report") == []


def test_a_script_waits_when_its_values_are_not_taken(plane, start):
    gate = threading.Event()
    plane.answers["/tasks/1/emits"] = lambda _: gate.wait(20) and None
    plane.grant_job(1, script="for (let n = 0; n < 10000; n++) emit('tick', n); return 'end'")
    start()

    plane.wait_for("/tasks/1/emits")
    time.sleep(0.2)
    assert len(plane.bodies("/tasks/1/emits")) == 1
    gate.set()
    assert plane.wait_for("/tasks/1/report")[0]["output"] == "end"
    told = [it["data"] for body in plane.bodies("/tasks/1/emits") for it in body["values"]]
    assert told == list(range(10_000))


def test_large_values_go_one_by_one(plane, start):
    plane.grant_job(1, script="for (let n = 0; n < 5; n++) emit('blob', 'x'.repeat(1 << 19))")
    start()

    plane.wait_for("/tasks/1/report")
    assert [body["first"] for body in plane.bodies("/tasks/1/emits")] == [1, 2, 3, 4, 5]


def test_so_many_scripts_run_at_once(plane, start):
    for task in range(1, 7):
        plane.grant_job(task, script="emit('begun', 1); for (;;);")
    start(tasks=3)

    for task in (1, 2, 3):
        plane.wait_for(f"/tasks/{task}/emits")
    assert plane.bodies("/tasks/4/emits") == []
    assert plane.bodies("/claim")[0]["max"] == 3


def test_a_first_stop_lets_scripts_finish(plane, start):
    plane.grant_job(
        1, script="emit('begun'); const end = Date.now() + 300; while (Date.now() < end); return 1"
    )
    supervisor = start()
    plane.wait_for("/tasks/1/emits")
    supervisor.stop()

    assert plane.wait_for("/tasks/1/report")[0]["output"] == 1


def test_a_stop_while_the_script_processes_start_is_not_lost(plane, monkeypatch):
    supervisor = Supervisor(None, url=plane.url, name="box-a", scripts=True, pace=QUICK)
    opened = ScriptProcesses.open

    async def stopped_meanwhile(processes):
        await opened(processes)
        supervisor.stop()
        await asyncio.sleep(0.05)

    monkeypatch.setattr(ScriptProcesses, "open", stopped_meanwhile)
    codes = []
    thread = threading.Thread(target=lambda: codes.append(supervisor.run()), daemon=True)
    thread.start()
    thread.join(20)
    assert codes == [0]
    assert plane.bodies("/claim") == []


def test_a_second_stop_kills_them_and_says_nothing(plane, start):
    plane.grant_job(1, script="emit('begun'); for (;;);")
    supervisor = start()
    plane.wait_for("/tasks/1/emits")
    children = running_scripts()
    supervisor.stop()
    supervisor.stop()

    until(lambda: not any(map(alive, children)))
    assert plane.bodies("/tasks/1/report") == []


def test_without_a_folder_nothing_is_written(plane, start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plane.grant_job(1, script="return 1")
    start()
    plane.wait_for("/tasks/1/report")

    assert list(tmp_path.iterdir()) == []


def test_with_nothing_to_do_nothing_begins():
    with pytest.raises(SupervisorError, match="name a folder, or use --scripts"):
        Supervisor(None)


def test_the_settings_without_a_folder(monkeypatch):
    monkeypatch.setenv("STATEOUS_TASKS", "0")
    monkeypatch.setenv("STATEOUS_URL", "nowhere")

    with pytest.raises(SupervisorError) as refused:
        Supervisor(None, scripts=True)
    assert "cannot use STATEOUS_URL: " in str(refused.value)
    assert "cannot use STATEOUS_TASKS: a number from 1 to 1000 is needed, not 0" in str(
        refused.value
    )
    assert "None" not in str(refused.value)


def test_the_command_runs_scripts(plane):
    plane.grant_job(1, script="return 1")
    flags = ["--scripts", "--url", plane.url, "--name", "box-c", "--tasks", "2"]
    command = subprocess.Popen(
        [sys.executable, "-m", "stateous_supervisor.command", *flags],
        stderr=subprocess.PIPE,
        text=True,
    )
    with command:
        try:
            assert plane.wait_for("/tasks/1/report")[0]["supervisor"] == "box-c"
            assert plane.bodies("/claim")[0]["max"] == 2
            command.terminate()
            assert command.wait(20) == 0
        finally:
            command.kill()
        assert command.stderr is not None
        told = command.stderr.read()
    assert "box-c serves scripts" in told
    assert "Traceback" not in told


def running_scripts():
    """The processes of scripts that are at work now."""
    if sys.platform != "linux":
        return []
    fields = {int(it.name): status(it.name) for it in Path("/proc").iterdir() if it.name.isdigit()}
    servers = {pid for pid, of in fields.items() if of.get("PPid") == str(os.getpid())}
    found = [
        pid
        for pid, of in fields.items()
        if of.get("Seccomp") == "2" and int(of["PPid"]) in servers and of["State"][0] != "Z"
    ]
    assert found
    return found


def alive(pid):
    return status(pid).get("State", "Z")[0] != "Z"


def status(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)
