"""Every limit that more than one part of Stateous knows, each with its unit."""

from __future__ import annotations

from typing import Final

# JSON that comes in (docs/spec/wire.md 1.3).
MAX_BODY_BYTES: Final = 1_048_576
MAX_REPORT_BYTES: Final = 2 * MAX_BODY_BYTES
MAX_JSON_DEPTH: Final = 64
# A context as compact JSON, with defaults, changes and `into` applied.
MAX_CONTEXT_BYTES: Final = 1_048_576

# Names and ids, in characters.
MAX_NAME: Final = 64
MAX_TOKEN_ID: Final = 128
MAX_SUPERVISOR_NAME: Final = 256
MAX_IDEMPOTENCY_KEY: Final = 256
MAX_NOTE: Final = 500
MAX_MEMORY_KEY: Final = 128
MAX_REQUEST_ID: Final = 64
#: `<workflow>/<state>` as a claim names it.
MAX_QUEUE_NAME: Final = 2 * MAX_NAME + 1

# Counts in one request.
MAX_QUEUES_PER_CLAIM: Final = 1000
MAX_GRANTS_PER_CLAIM: Final = 100
MAX_TASKS_PER_HEARTBEAT: Final = 1000
MAX_ID: Final = 2**63 - 1

# Waits, in seconds.
MAX_CLAIM_WAIT: Final = 30
MAX_READ_WAIT: Final = 60

# Leases, in seconds (docs/spec/wire.md 2.6, 3.8).
DEFAULT_LEASE: Final = 120
MIN_LEASE: Final = 4

# Durations (docs/spec/authoring.md 1).
MAX_DURATION_DAYS: Final = 3650

# Guards (docs/spec/authoring.md 3.2).
MAX_GUARD_DEPTH: Final = 100

# Graph documents: lists and objects inside one another, the document itself being the first.
MAX_GRAPH_DEPTH: Final = 200
# Schemas inside one another and behind references: a validator goes down them on the stack.
MAX_SCHEMA_LEVELS: Final = 1000

# Statecharts (docs/spec/statechart.md 19).
#: One expression, in bytes of UTF-8.
MAX_EXPRESSION_BYTES: Final = 4096
#: A length of time, in seconds.
MAX_LENGTH_SECONDS: Final = MAX_DURATION_DAYS * 86_400
#: A document as compact JSON; the body that carries one.
MAX_CHART_BYTES: Final = 4 * MAX_BODY_BYTES
#: A script's source, in bytes of UTF-8.
MAX_SCRIPT_BYTES: Final = 256 * 1024
#: States inside one another, the outermost being the first.
MAX_NESTED_STATES: Final = 16
#: Runs below a run, child by child.
MAX_CHILD_RUNS_DEEP: Final = 16
#: Runs that one command starts. A machine that is in two jobs of its own would start 65,000.
MAX_RUNS_BEGUN: Final = 1000
#: Input, output, event data, an answer, an emitted value, a send's data: each as compact JSON.
MAX_RUN_VALUE_BYTES: Final = MAX_BODY_BYTES
MAX_KEPT_EVENTS: Final = 100
#: Steps of one run in one command.
MAX_STEPS: Final = 1000
#: Values that one attempt emits.
MAX_EMITTED: Final = 10_000
#: Attempts of a job in one visit whose lease ended.
MAX_LOST_ATTEMPTS: Final = 5
#: A run's key, in characters.
MAX_RUN_KEY: Final = 256
#: What a script may use at once, in bytes.
MAX_SCRIPT_MEMORY_BYTES: Final = 64 * 1024 * 1024
#: The error of a script, in characters.
MAX_SCRIPT_ERROR: Final = 2000
