"""What a chart is refused for: a code, its place in the chart, its line (`statechart.md` 1.5)."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from stateous_compiler.errors import InvalidChart
from stateous_compiler.statechart.compile import check_chart
from stateous_compiler.statechart.problems import ChartProblem

FILES = {
    "s.js": "return 1\n",
    "broken.js": "\n\nreturn (\n",
    "m.yaml": "statechart: m\nevents: { ping: }\nstates: { only: { on: { ping: {} } } }\n",
    "other-m.yaml": "statechart: m\nstates: { only: {} }\n",
    "torn.yaml": "statechart: torn\nstates: {",
}


def problems_of(folder: Path, text: str) -> tuple[ChartProblem, ...]:
    for name, content in FILES.items():
        (folder / name).write_text(content)
    (folder / "chart.yaml").write_text(dedent(text).lstrip("\n"))
    with pytest.raises(InvalidChart) as caught:
        check_chart(folder / "chart.yaml")
    return caught.value.problems


def states(*lines: str, head: str = "") -> str:
    """A chart whose states begin in line 4, or behind the lines of ``head``."""
    body = "\n".join(f"  {line}" for line in lines)
    return f"statechart: c\n{head}initial: a\nstates:\n{body}\n  z: {{ end: done }}\n"


A = "states.a"
WHEN = "states.a.on.x[0].when"
SEND = "states.a.entry[0]"
# code, where, line, chart
TABLE: list[tuple[str, str, int, str]] = [
    # The file.
    ("yaml", "", 2, "statechart: c\nstates: { a: {}, a: {} }\n"),
    ("yaml", "", 1, "statechart: !!str c\nstates: { a: {} }\n"),
    ("yaml", "", 3, "statechart: c\nstates:\n  a: &a { <<: { on: { x: {} } } }\n"),
    ("yaml", "", 2, "statechart: c\nstates: { a: {}, 1: {} }\n"),
    ("yaml", "", 2, "statechart: c\nstates: { a: { end: done, output: .inf } }\n"),
    ("yaml", "", 2, "statechart: c\nstates: { a: { end: done, output: -.INF } }\n"),
    ("yaml", "", 2, "statechart: c\nstates: { a: { end: done, output: .nan } }\n"),
    ("yaml", "", 2, "statechart: c\nstates: { a: { end: done, output: 1e999 } }\n"),
    ("yaml", "", 2, 'statechart: c\nstates: { a: { end: done, output: "\\0" } }\n'),
    ("yaml", "", 2, "statechart: c\nstates: { a: *nobody }\n"),
    ("yaml", "", 2, "statechart: c\nstates: &s { a: { states: *s } }\n"),
    ("yaml", "", 3, "statechart: c\nstates: { a: {} }\n---\nx: 1\n"),
    ("yaml", "", 3, "statechart: c\nstates:\n\ta: {}\n"),
    ("yaml", "", 4, "statechart: c\nstates:\n  a: {}\n\tb: {}\n"),
    ("yaml", "", 1, "statechart:\t- c\nstates: { a: {} }\n"),
    ("yaml", "", 1, "# nothing\n"),
    ("yaml", "", 2, "%YAML 1.1\n---\nstatechart: c\nstates: { a: {} }\n"),
    ("yaml", "", 1, "%YAML 1.3\n---\nstatechart: c\nstates: { a: {} }\n"),
    ("yaml", "", 4, states("a: { on: { x: { when: ${true} } } }")),
    ("too-large", "", 2, "statechart: c\nstates: " + "[" * 70 + "]" * 70 + "\n"),
    # The chart.
    ("bad-value", "", 1, "[a, b]\n"),
    ("bad-value", "", 1, "states: { a: {} }\n"),
    ("bad-value", "statechart", 1, "statechart: 5\nstates: { a: {} }\n"),
    ("bad-name", "statechart", 1, "statechart: Review\nstates: { a: {} }\n"),
    ("bad-name", "statechart", 1, f"statechart: {'c' * 65}\nstates: {{ a: {{}} }}\n"),
    ("unknown-field", "output", 2, "statechart: c\noutput: 1\nstates: { a: {} }\n"),
    ("unknown-field", "scripts", 2, "statechart: c\nscripts: {}\nstates: { a: {} }\n"),
    ("unknown-field", "stateous", 1, "stateous: 1\nstatechart: c\nstates: { a: {} }\n"),
    ("bad-value", "input", 2, "statechart: c\ninput: [a]\nstates: { a: {} }\n"),
    ("bad-type", "input.n", 2, "statechart: c\ninput: { n: text }\nstates: { a: {} }\n"),
    ("bad-type", "input.n", 2, "statechart: c\ninput: { n: string?? }\nstates: { a: {} }\n"),
    ("bad-type", "input.n", 2, "statechart: c\ninput: { n: }\nstates: { a: {} }\n"),
    ("bad-type", "events.e", 2, "statechart: c\nevents: { e: 5 }\nstates: { a: {} }\n"),
    (
        "bad-type",
        "events.e",
        3,
        "statechart: c\nevents:\n  e: { type: strin }\nstates: { a: {} }\n",
    ),
    (
        "bad-type",
        "events.e",
        3,
        "statechart: c\nevents:\n  e: { $ref: 'https://example.com/e' }\nstates: { a: {} }\n",
    ),
    ("bad-name", 'events["1e"]', 2, "statechart: c\nevents: { 1e: }\nstates: { a: {} }\n"),
    ("reserved-event", "events.done", 2, "statechart: c\nevents: { done: }\nstates: { a: {} }\n"),
    ("no-states", "", 1, "statechart: c\n"),
    ("no-states", "", 1, "statechart: c\nstates: {}\n"),
    ("no-states", A, 4, states("a: { states: {} }")),
    ("bad-value", "states", 2, "statechart: c\nstates: [a]\n"),
    ("missing-initial", "", 1, "statechart: c\nstates: { a: {}, b: {} }\n"),
    ("missing-initial", A, 5, states("z2: {}", "a: { states: { p: {}, q: {} } }")),
    ("unknown-initial", "initial", 2, "statechart: c\ninitial: b\nstates: { a: {} }\n"),
    (
        "unknown-initial",
        "states.a.initial",
        5,
        states("a:", "  initial: z", "  states: { p: {} }"),
    ),
    ("bad-value", "initial", 2, "statechart: c\ninitial:\nstates: { a: {} }\n"),
    # States.
    ("bad-name", 'states["1a"]', 2, "statechart: c\nstates: { 1a: {} }\n"),
    ("bad-value", A, 2, "statechart: c\nstates: { a: }\n"),
    ("duplicate-state", "states.b.states.a", 6, states("a: {}", "b:", "  states: { a: {} }")),
    ("unknown-field", "states.a.timer", 4, states("a: { timer: { t: 1h } }")),
    (
        "bad-combination",
        A,
        4,
        states("a: { job: { script: s.js }, jobs: { j: { script: s.js } } }"),
    ),
    ("bad-combination", A, 4, states("a: { job: { script: s.js }, states: { p: {} } }")),
    ("bad-combination", "states.a.initial", 4, states("a: { initial: z }")),
    ("final-fields", "states.a.on", 4, states("a: { end: done, on: { x: z } }")),
    ("final-fields", "states.a.ticket", 4, states("a: { ticket: t, end: done }")),
    ("final-fields", "states.a.output", 4, states("a: { output: 1 }")),
    ("final-fields", "states.a.timers", 4, states("a: { end: done, timers: {} }")),
    ("final-fields", "states.a.defer", 4, states("a: { end: done, defer: [] }")),
    ("final-fields", "states.a.on", 4, states("a: { end: done, on: {} }")),
    ("final-fields", "states.a.exit", 4, states("a: { end: done, exit: {} }")),
    ("final-fields", "states.a.jobs", 4, states("a: { end: done, jobs: }")),
    ("final-fields", "states.a.output", 4, states("a: { output: }")),
    ("bad-end", "states.a.end", 4, states("a: { end: finished }")),
    ("bad-end", "states.a.end", 4, states("a: { end: }")),
    ("bad-value", "states.a.ticket", 4, states("a: { ticket: }")),
    ("bad-name", "states.a.ticket", 4, states("a: { ticket: to sign }")),
    ("reserved-event", "states.a.ticket", 4, states("a: { ticket: failed }")),
    ("duplicate-ticket", "states.b.ticket", 5, states("a: { ticket: t }", "b: { ticket: t }")),
    ("bad-value", "states.a.defer", 4, states("a: { defer: x }")),
    ("reserved-event", "states.a.defer[0]", 4, states("a: { defer: [done] }")),
    ("bad-name", "states.a.defer[1]", 4, states("a: { defer: [x, 1x] }")),
    # Jobs.
    ("bad-value", "states.a.job", 4, states("a: { job: s.js }")),
    ("bad-job", "states.a.job", 4, states("a: { job: {} }")),
    ("bad-job", "states.a.job", 4, states("a: { job: { script: s.js, machine: m.yaml } }")),
    ("bad-job", "states.a.job.script", 4, states('a: { job: { script: "${input.s}" } }')),
    ("bad-job", "states.a.job.machine", 4, states('a: { job: { machine: "${input.s}" } }')),
    ("bad-job", "states.a.job.routine", 4, states('a: { job: { routine: "${input.s}" } }')),
    ("bad-job", "states.a.job.script", 4, states("a: { job: { script: } }")),
    ("bad-name", "states.a.job.routine", 4, states("a: { job: { routine: a/b } }")),
    ("bad-job", "states.a.job.retries", 4, states("a: { job: { script: s.js, retries: -1 } }")),
    ("bad-job", "states.a.job.retries", 4, states("a: { job: { script: s.js, retries: 1.5 } }")),
    ("bad-job", "states.a.job.retries", 4, states("a: { job: { script: s.js, retries: true } }")),
    ("bad-job", "states.a.job.retries", 4, states("a: { job: { machine: m.yaml, retries: 1 } }")),
    ("bad-job", "states.a.job.timeout", 4, states("a: { job: { machine: m.yaml, timeout: 1h } }")),
    ("bad-job", "states.a.job.timeout", 4, states("a: { job: { script: s.js, timeout: 18:00 } }")),
    ("bad-job", "states.a.job.timeout", 4, states("a: { job: { script: s.js, timeout: 5 } }")),
    ("bad-job", "states.a.job.timeout", 4, states("a: { job: { script: s.js, timeout: 3651d } }")),
    ("bad-job", "states.a.job.allow", 4, states("a: { job: { routine: r, allow: [none] } }")),
    ("bad-job", "states.a.job.allow", 4, states("a: { job: { routine: r, allow: [] } }")),
    ("bad-job", "states.a.job.allow", 4, states("a: { job: { machine: m.yaml, allow: [] } }")),
    ("bad-job", "states.a.job.allow", 4, states("a: { job: { script: s.js, allow: none } }")),
    (
        "unsupported-grant",
        "states.a.job.allow[1]",
        4,
        states('a: { job: { script: s.js, allow: [none, "net:example.com"] } }'),
    ),
    ("unknown-field", "states.a.job.retry", 4, states("a: { job: { script: s.js, retry: 1 } }")),
    ("empty-jobs", "states.a.jobs", 4, states("a: { jobs: {} }")),
    ("bad-value", "states.a.jobs", 4, states("a: { jobs: [ { script: s.js } ] }")),
    ("bad-value", "states.a.jobs[0]", 6, states("a:", "  jobs:", "    j: s.js")),
    (
        "unknown-field",
        "states.a.jobs.j.job",
        4,
        states("a: { jobs: { j: { job: x, routine: r } } }"),
    ),
    ("bad-name", 'states.a.jobs["j j"]', 4, states("a: { jobs: { j j: { routine: r } } }")),
    # Timers.
    ("bad-time", "states.a.timers.t", 4, states("a: { timers: { t: soon } }")),
    ("bad-time", "states.a.timers.t", 6, states("a:", "  timers:", "    t: 24:00")),
    ("bad-time", "states.a.timers.t", 4, states("a: { timers: { t: 0s } }")),
    ("bad-time", "states.a.timers.t", 4, states("a: { timers: { t: 90 } }")),
    ("bad-time", "states.a.timers.t", 4, states("a: { timers: { t: '09:00 Europe/Atlantis' } }")),
    ("bad-time", "states.a.timers.t", 4, states('a: { timers: { t: "in ${input.t}" } }')),
    ("bad-value", "states.a.timers.t", 4, states("a: { timers: { t: } }")),
    ("bad-value", "states.a.timers", 4, states("a: { timers: [ 1h ] }")),
    ("bad-name", 'states.a.timers["t t"]', 4, states("a: { timers: { t t: 1h } }")),
    ("reserved-event", "states.a.timers.timer", 4, states("a: { timers: { timer: 1h } }")),
    # Transitions.
    ("bad-value", "states.a.on", 4, states("a: { on: [ x ] }")),
    ("bad-value", "states.a.on.x[0]", 4, states("a: { on: { x: 5 } }")),
    ("bad-value", "states.a.on.x[0]", 4, states("a: { on: { x: } }")),
    ("bad-value", "states.a.on.x", 4, states("a: { on: { x: [] } }")),
    ("bad-value", "states.a.on.x[1]", 4, states("a: { on: { x: [ z, [ z ] ] } }")),
    ("bad-name", 'states.a.on["x x"]', 4, states("a: { on: { x x: z } }")),
    ("reserved-event", "states.a.on.start", 4, states("a: { on: { start: z } }")),
    ("reserved-event", "states.a.on.timer", 4, states("a: { on: { timer: z } }")),
    ("unknown-field", "states.a.on.x[0].to", 4, states("a: { on: { x: { to: z } } }")),
    ("unknown-target", "states.a.on.x[0].go", 4, states("a: { on: { x: nowhere } }")),
    (
        "unknown-target",
        "states.a.on.x[1].go",
        8,
        states(
            "a:",
            "  on:",
            "    x:",
            "      - { go: z, when: '${true}' }",
            "      - go: '${event.s}'",
        ),
    ),
    ("bad-value", "states.a.on.x[0].go", 4, states("a: { on: { x: { go: } } }")),
    ("when-not-expression", WHEN, 4, states("a: { on: { x: { when: event.data.ok } } }")),
    ("when-not-expression", WHEN, 4, states('a: { on: { x: { when: "not ${event.data.ok}" } } }')),
    ("when-not-expression", WHEN, 4, states('a: { on: { x: { when: " ${true}" } } }')),
    ("when-not-expression", WHEN, 4, states('a: { on: { x: { when: "$${true}" } } }')),
    ("when-not-expression", WHEN, 4, states("a: { on: { x: { when: true } } }")),
    ("when-not-expression", WHEN, 4, states("a: { on: { x: { when: } } }")),
    # Expressions.
    ("expression", WHEN, 4, states('a: { on: { x: { when: "${event.data.}" } } }')),
    ("expression", WHEN, 4, states('a: { on: { x: { when: "${event.data.ok" } } }')),
    (
        "expression",
        "states.a.job.input",
        4,
        states('a: { job: { routine: r, input: "${ctx.x}" } }'),
    ),
    (
        "expression",
        "states.a.job.input.deep[1]",
        6,
        states(
            "a: { job: { routine: r, input: {", "    deep: [ 1,", '      "${nosuch(1)}" ] } } }'
        ),
    ),
    ("expression", "states.z2.output", 4, states('z2: { end: done, output: "a ${" }', "a: {}")),
    ("expression", "states.a.timers.t", 4, states('a: { timers: { t: "${input." } }')),
    ("expression", "states.a.timers.t", 4, states('a: { timers: { t: "${1 +}" } }')),
    (
        "too-large",
        "states.z2.output",
        4,
        states(f'z2: {{ end: done, output: "${{{"1 + " * 1024}1}}" }}', "a: {}"),
    ),
    (
        "unknown-name",
        "states.a.job.input",
        4,
        states('a: { job: { routine: r, input: "${states.b.output}" } }'),
    ),
    (
        "unknown-name",
        "states.a.job.input",
        5,
        states('a: { job: { routine: r, input: "${input.b}" } }', head="input: { a: string }\n"),
    ),
    (
        "unknown-name",
        WHEN,
        4,
        states("a: { on: { x: { when: '${tickets.t == \"x\"}' } } }", "b: { ticket: t }"),
    ),
    (
        "unknown-name",
        "states.a.timers.later",
        4,
        states('a: { ticket: t, timers: { later: "${tickets.t}" } }'),
    ),
    # Names in one another's way.
    (
        "name-conflict",
        "states.b.timers.t",
        5,
        states("a: { ticket: t }", "b: { timers: { t: 1h } }"),
    ),
    (
        "name-conflict",
        "states.a.states.p.timers.t",
        6,
        states("a:", "  timers: { t: 1h }", "  states: { p: { timers: { t: 2h } } }"),
    ),
    ("name-conflict", "states.a.jobs.z", 4, states("a: { jobs: { z: { routine: r } } }")),
    ("name-conflict", "states.parent", 4, states("parent: {}", "a: {}")),
    ("name-conflict", "states.a.jobs.parent", 4, states("a: { jobs: { parent: { routine: r } } }")),
    ("name-conflict", "states.a.defer[0]", 4, states("a: { defer: [t] }", "b: { ticket: t }")),
    ("name-conflict", "states.a.defer[0]", 4, states("a: { defer: [t], timers: { t: 1h } }")),
    (
        "name-conflict",
        "states.a.defer[0]",
        4,
        states("a: { defer: [t], states: { p: { timers: { t: 1h } } } }"),
    ),
    (
        "name-conflict",
        "states.a.states.p.defer[0]",
        4,
        states("a: { timers: { t: 1h }, states: { p: { defer: [t] } } }"),
    ),
    ("reserved-event", "events.t", 2, states("a: { timers: { t: 1h } }", head="events: { t: }\n")),
    ("unknown-event", "states.a.on.y", 5, states("a: { on: { y: z } }", head="events: { x: }\n")),
    ("unknown-event", "states.a.defer[0]", 5, states("a: { defer: [y] }", head="events: {}\n")),
    # Sends.
    ("bad-value", "states.a.entry", 4, states("a: { entry: {} }")),
    ("unknown-field", "states.a.entry.to", 4, states("a: { entry: { send: [], to: parent } }")),
    ("bad-value", "states.a.exit", 4, states("a: { exit: [ { to: parent, event: x } ] }")),
    ("bad-value", "states.a.entry", 4, states("a: { entry: { send: parent } }")),
    ("bad-send", SEND, 4, states("a: { entry: { send: { to: parent } } }")),
    ("bad-send", SEND, 4, states("a: { entry: { send: { event: x } } }")),
    (
        "bad-send",
        f"{SEND}.event",
        4,
        states('a: { entry: { send: { to: parent, event: "${event.name}" } } }'),
    ),
    (
        "bad-send",
        f"{SEND}.to",
        4,
        states("a: { entry: { send: { to: { machine: m.yaml }, event: ping } } }"),
    ),
    (
        "bad-send",
        f"{SEND}.to.machine",
        4,
        states('a: { entry: { send: { to: { machine: "${input.m}", key: k }, event: x } } }'),
    ),
    ("bad-value", f"{SEND}.to", 4, states("a: { entry: { send: { to: 5, event: x } } }")),
    (
        "bad-value",
        f"{SEND}.to.key",
        4,
        states("a: { entry: { send: { to: { key: 5 }, event: x } } }"),
    ),
    (
        "bad-value",
        f"{SEND}.to.key",
        4,
        states("a: { entry: { send: { to: { key: '' }, event: x } } }"),
    ),
    (
        "too-large",
        f"{SEND}.to.key",
        4,
        states(f"a: {{ entry: {{ send: {{ to: {{ key: {'k' * 257} }}, event: x }} }} }}"),
    ),
    (
        "unknown-field",
        f"{SEND}.to.run",
        4,
        states("a: { entry: { send: { to: { key: k, run: r }, event: x } } }"),
    ),
    (
        "unknown-field",
        f"{SEND}.payload",
        4,
        states("a: { entry: { send: { to: parent, event: x, payload: 1 } } }"),
    ),
    ("bad-name", f"{SEND}.event", 4, states("a: { entry: { send: { to: parent, event: x y } } }")),
    (
        "reserved-event",
        f"{SEND}.event",
        4,
        states("a: { entry: { send: { to: parent, event: timer } } }"),
    ),
    ("bad-send-target", f"{SEND}.to", 4, states("a: { entry: { send: { to: z, event: x } } }")),
    (
        "bad-send-target",
        f"{SEND}.to",
        4,
        states('a: { entry: { send: { to: "${event.from}", event: x } } }'),
    ),
    (
        "bad-send-target",
        f"{SEND}.to",
        4,
        states("a: { entry: { send: { to: a, event: x } }, job: { routine: r } }"),
    ),
    (
        "bad-send-target",
        f"{SEND}.to",
        4,
        states("a: { entry: { send: { to: a, event: x } }, jobs: { j: { machine: m.yaml } } }"),
    ),
    (
        "exit-send-to-child",
        "states.a.exit[0].to",
        4,
        states("a: { job: { machine: m.yaml }, exit: { send: { to: a, event: ping } } }"),
    ),
    (
        "exit-send-to-child",
        "states.a.exit[0].to",
        4,
        states("a: { jobs: { j: { machine: m.yaml } }, exit: { send: { to: j, event: ping } } }"),
    ),
    (
        "unknown-event",
        f"{SEND}.event",
        4,
        states("a: { job: { machine: m.yaml }, entry: { send: { to: a, event: pong } } }"),
    ),
    (
        "unknown-event",
        f"{SEND}.event",
        4,
        states("a: { entry: { send: { to: { machine: m.yaml, key: k }, event: pong } } }"),
    ),
    (
        "unknown-event",
        "states.to.entry[0].event",
        7,
        states(
            "a: { on: { x: to } }",
            "to:",
            "  job: { machine: m.yaml }",
            "  entry: { send: { to: to, event: pong } }",
        ),
    ),
    # Files.
    ("file-not-found", "states.a.job.script", 4, states("a: { job: { script: nowhere.js } }")),
    ("file-not-found", "states.a.job.script", 4, states("a: { job: { script: /etc/passwd } }")),
    ("file-not-found", "states.a.job.script", 4, states("a: { job: { script: . } }")),
    ("file-not-found", "states.a.job.machine", 4, states("a: { job: { machine: nowhere.yaml } }")),
    ("file-not-found", "states.a.job.machine", 4, states("a: { job: { machine: '#nobody' } }")),
    (
        "file-not-found",
        f"{SEND}.to.machine",
        4,
        states("a: { entry: { send: { to: { machine: 'C:\\m.yaml', key: k }, event: x } } }"),
    ),
    (
        "duplicate-machine",
        'machines["other-m.yaml"].statechart',
        1,
        states("a: { job: { machine: m.yaml } }", "b: { job: { machine: other-m.yaml } }"),
    ),
    (
        "duplicate-machine",
        'machines["#m"].statechart',
        5,
        states(
            "a: { jobs: { i: { machine: { statechart: m, states: { p: {} } } },",
            "    j: { machine: { statechart: m, states: { q: {} } } } } }",
        ),
    ),
    (
        "duplicate-machine",
        'machines["#c"].statechart',
        4,
        states("a: { job: { machine: { statechart: c, states: { p: {} } } } }"),
    ),
]


@pytest.mark.parametrize(("code", "where", "line", "text"), TABLE)
def test_a_wrong_chart_has_one_problem(
    code: str, where: str, line: int, text: str, tmp_path: Path
) -> None:
    (problem,) = problems_of(tmp_path, text)
    assert (problem.code, problem.where, problem.place.line) == (code, where, line), problem


CODES = (
    *("yaml", "unknown-field", "bad-value", "bad-name", "bad-type", "no-states", "missing-initial"),
    *(
        "unknown-initial",
        "duplicate-state",
        "bad-combination",
        "final-fields",
        "bad-end",
        "bad-job",
    ),
    *("empty-jobs", "unsupported-grant", "unknown-target", "when-not-expression", "expression"),
    *("unknown-name", "duplicate-ticket", "name-conflict", "reserved-event", "unknown-event"),
    *("bad-send", "bad-send-target", "exit-send-to-child", "bad-time", "file-not-found"),
    *("duplicate-machine", "too-large"),
)


def test_every_code_is_in_the_table() -> None:
    assert {code for code, *_ in TABLE} == set(CODES)


def test_all_problems_are_told_at_once_in_the_order_of_the_lines(tmp_path: Path) -> None:
    problems = problems_of(
        tmp_path,
        """
        statechart: Wrong
        initial: nowhere
        states:
          a:
            job: { script: nowhere.js, input: "${input.}" }
            timers: { t: soon }
            on:
              done: nowhere
              x: { when: yes, send: { to: nobody, event: done } }
          b: { end: maybe }
        """,
    )
    assert [(problem.place.line, problem.code) for problem in problems] == [
        (1, "bad-name"),
        (2, "unknown-initial"),
        (5, "file-not-found"),
        (5, "expression"),
        (6, "bad-time"),
        (8, "unknown-target"),
        (9, "when-not-expression"),
        (9, "reserved-event"),
        (9, "bad-send-target"),
        (10, "bad-end"),
    ]


def test_a_tab_is_told_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "tabs.yaml").write_text("statechart: c\nstates:\n\ta: {}\n")
    with pytest.raises(InvalidChart) as refused:
        check_chart(tmp_path / "tabs.yaml")
    (problem,) = refused.value.problems
    assert (problem.code, problem.place.line) == ("yaml", 3)
    assert problem.text.endswith("; indent with spaces")


def test_problems_of_other_files_name_those_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "child.yaml").write_text(
        "statechart: child\nstates:\n  only: { job: { script: here.js } }\n"
    )
    problems = problems_of(
        tmp_path,
        states(
            "a: { jobs: { i: { machine: sub/child.yaml }, j: { script: broken.js },",
            "    k: { machine: torn.yaml } } }",
        ),
    )
    assert [(str(problem.place), problem.code, problem.where) for problem in problems] == [
        ("torn.yaml:2", "yaml", ""),
        (
            "sub/child.yaml:3",
            "file-not-found",
            'machines["sub/child.yaml"].states.only.job.script',
        ),
        ("broken.js:3", "script-syntax", ""),
    ]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("return (", 1),
        ("let a = 1\nlet b = ;\n", 2),
        ("}\nsteal()\nfunction other() {", 2),
        ("}); steal(); (function () {", 1),
        ("import x from 'x'", 1),
        ("await input", 1),
        ("let input = 1", 1),
        ("a\nb\x00", 2),
    ],
)
def test_a_script_that_is_no_body_of_a_function(source: str, line: int, tmp_path: Path) -> None:
    (tmp_path / "wrong.js").write_text(source)
    (problem,) = problems_of(tmp_path, states("a: { job: { script: wrong.js } }"))
    assert (problem.code, str(problem.place)) == ("script-syntax", f"wrong.js:{line}")


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("large.js", b"/" * (256 * 1024 + 1), "too-large"),
        ("latin.js", "é".encode("latin-1"), "file-not-found"),
    ],
)
def test_a_script_that_cannot_be_taken(
    name: str, content: bytes, code: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    (problem,) = problems_of(tmp_path, states(f"a: {{ job: {{ script: {name} }} }}"))
    assert (problem.code, problem.place.line) == (code, 4)


def test_states_nest_sixteen_deep_and_no_deeper(tmp_path: Path) -> None:
    def nested(levels: int) -> str:
        text = "{}"
        for level in range(levels, 1, -1):
            text = f"{{ states: {{ s{level}: {text} }} }}"
        return f"statechart: c\nstates: {{ s1: {text} }}\n"

    (tmp_path / "deep.yaml").write_text(nested(16))
    assert check_chart(tmp_path / "deep.yaml").document.name == "c"
    (problem,) = problems_of(tmp_path, nested(17))
    assert problem.code == "too-large"


def test_a_few_aliases_do_not_become_gigabytes(tmp_path: Path) -> None:
    lines = ["statechart: c", "laughs:", '  - &l0 "ha ha ha ha ha ha ha ha"']
    lines += [f"  - &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10)]
    (problem,) = problems_of(tmp_path, "\n".join([*lines, "states: { a: {} }"]) + "\n")
    assert problem.code == "too-large"
    assert problem.place.line == 9
