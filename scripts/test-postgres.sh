#!/usr/bin/env bash
# scripts/test-postgres.sh [--durable] COMMAND…: runs the command with TEST_DATABASE_URL set to a PostgreSQL server that lives as long as it does.
# With --durable the server keeps its data as PostgreSQL does by default: every commit waits for the disk.
# The server is private: a temporary folder, a free port of 127.0.0.1, a random password. A TEST_DATABASE_URL that is already set is used as it is.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

# Test data need not survive a power cut.
durability="-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
if [ "${1:-}" = --durable ]; then durability=""; shift; fi
[ $# -gt 0 ] || { echo "usage: $0 [--durable] COMMAND…" >&2; exit 2; }
[ -z "${TEST_DATABASE_URL:-}" ] || exec "$@"

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1 || true)
if [ ! -x "$bin/initdb" ] && command -v pg_config >/dev/null; then bin=$(pg_config --bindir); fi
if [ ! -x "$bin/initdb" ]; then
  echo "There is no PostgreSQL server on this machine. Install one with pgvector (on Debian: sudo scripts/install-postgres.sh), or set TEST_DATABASE_URL." >&2
  exit 1
fi

# A server refuses to run as root; the Debian package brings the user postgres.
as_server() { if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/colloquy-postgres.XXXXXX")
stop() {
  as_server "$bin/pg_ctl" --pgdata "$folder/data" --mode immediate --silent stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "$password" >"$folder/password"
chmod 700 "$folder"
[ "$(id -u)" != 0 ] || chown -R postgres "$folder"
as_server "$bin/initdb" --pgdata "$folder/data" --username postgres --auth scram-sha-256 --pwfile "$folder/password" \
  --encoding UTF8 --locale C --no-sync >/dev/null

settings="-c listen_addresses=127.0.0.1 -c unix_socket_directories=$folder -c max_connections=200 $durability"
start_on() { as_server "$bin/pg_ctl" --pgdata "$folder/data" --log "$folder/log" --silent --wait --options "-p $1 $settings" start >/dev/null 2>&1; }
port=""
for _ in 1 2 3 4 5 6 7 8; do
  candidate=$((20000 + RANDOM % 12000))
  if start_on "$candidate"; then port=$candidate; break; fi
done
if [ -z "$port" ]; then
  echo "The PostgreSQL server did not start:" >&2
  tail -n 20 "$folder/log" >&2
  exit 1
fi

export TEST_DATABASE_URL="postgres://postgres:$password@127.0.0.1:$port/postgres"
"$@"
