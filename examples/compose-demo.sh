#!/bin/sh
# `make compose-demo`: the compose stack from nothing, three tickets, their histories, and down again.
set -eu
cd "$(dirname "$0")/.."
export STATEOUS_PORT=0                       # any free one: the demo talks inside the stack
compose() { docker compose --project-name stateous-demo --profile cli "$@" </dev/null; }
say() { printf '\n%s\n' "$*"; }
stateous() {
  printf '$ stateous'
  for word in "$@"; do
    case $word in *\ *) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  printf '\n'
  compose run --rm --no-TTY cli "$@"
}

trap 'say "Down again, with its volumes."; compose down --volumes --timeout 5 2>/dev/null' EXIT
say "1. Postgres, a control plane, two supervisors: up, and healthy."
compose up --detach --wait --quiet-pull database controlplane supervisor-1 supervisor-2 2>/dev/null
compose ps --format '  {{.Service}}: {{.Status}}'

say "2. Three tickets, started with the image of the command."
stateous token start TICKET-1 '{"title": "Log in with a passkey"}'
stateous token start TICKET-2 '{"title": "Export to CSV", "bugs": 2, "leaks": true}'
stateous token start TICKET-3 '{"title": "A darker dark mode", "bugs": 5}'

say "3. One is watched to its end. Both supervisors work for it."
stateous token watch TICKET-2
compose run --rm --no-TTY cli token watch TICKET-3 >/dev/null

say "4. Where all of them are, and one history."
stateous token list --workflow sdlc
stateous token show TICKET-1
