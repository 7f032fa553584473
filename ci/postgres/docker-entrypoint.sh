#!/bin/sh
# Stand-in for the official image's entrypoint: POSTGRES_USER, POSTGRES_PASSWORD(_FILE), POSTGRES_DB, *.sql/*.sh in /docker-entrypoint-initdb.d
set -eu
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown postgres:postgres "$PGDATA" /var/run/postgresql; chmod 700 "$PGDATA"
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  [ -z "${POSTGRES_PASSWORD_FILE:-}" ] || POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
  : "${POSTGRES_PASSWORD:?POSTGRES_PASSWORD must be set}"
  user=${POSTGRES_USER:-postgres}; db=${POSTGRES_DB:-$user}
  pw=$(mktemp); printf '%s\n' "$POSTGRES_PASSWORD" > "$pw"
  initdb -D "$PGDATA" -U "$user" --pwfile="$pw" --auth-host=scram-sha-256 --auth-local=trust -E UTF8 --locale=C.UTF-8 >/dev/null
  rm -f "$pw"
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -w -o "-c listen_addresses='' -c unix_socket_directories=/tmp" start >/dev/null
  [ "$db" = postgres ] || createdb -h /tmp -U "$user" "$db"
  for f in /docker-entrypoint-initdb.d/*; do
    case "$f" in
      *.sql) psql -h /tmp -U "$user" -d "$db" -v ON_ERROR_STOP=1 -f "$f" ;;
      *.sh)  . "$f" ;;
    esac
  done
  pg_ctl -D "$PGDATA" -w -m fast stop >/dev/null
  echo "PostgreSQL init process complete; ready for start up."
fi
[ "$1" = postgres ] && set -- "$@" -c listen_addresses='*'
exec "$@"
