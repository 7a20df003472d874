#!/usr/bin/env bash
# Installs PostgreSQL with pgvector from Debian's packages where they are missing. Needs root; changes nothing when both are there.
# PgBouncer as well, for the tests that go through it; where it cannot be had, those are left out and everything else goes on.
# Where Debian has no package of pgvector for its PostgreSQL, its source package is taken from the next suite and compiled.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

source_suite=trixie
export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1

say() { echo "install-postgres: $*" >&2; }

newest_bin() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }
has_server() { [ -x "$(newest_bin)/initdb" ] && [ -x "$(newest_bin)/postgres" ]; }
major() { basename "$(dirname "$(newest_bin)")"; }
has_bouncer() { command -v pgbouncer >/dev/null; }
can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }
has_vector() { [ -f "/usr/share/postgresql/$(major)/extension/vector.control" ]; }

updated=no
update() { [ "$updated" = yes ] || { apt-get -qq update >&2; updated=yes; }; }
get() { update; apt-get -qq install --no-install-recommends --yes "$@" >/dev/null; }
has_candidate() { update; apt-cache policy "$1" | grep -q 'Candidate: [^(]'; }

install_server() {
  say "installing PostgreSQL"
  # The tests start a server of their own; the package need not make one.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
  get postgresql
}

# The address and key that the machine itself uses for Debian's main packages, as a line for the source suite.
source_line() {
  local codename
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  apt-get indextargets --format '$(RELEASE)|$(COMPONENT)|$(REPO_URI)|$(SIGNED_BY)' "Created-By: Packages" |
    awk -F'|' -v suite="$source_suite" -v codename="$codename" '
      $1 == codename && $2 == "main" && !found {
        options = $4 ~ /^\// ? "[signed-by=" $4 "] " : ""
        print "deb-src " options $3 " " suite " main"; found = 1
      }'
}

# Runs in a folder of its own, with apt settings that live as long as this function.
compile_vector() (
  say "compiling pgvector for PostgreSQL $(major)"
  get make gcc libc6-dev "postgresql-server-dev-$(major)"
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  chmod 755 "$folder"
  mkdir -p "$folder"/{lists,cache,source}/partial
  source_line >"$folder/sources.list"
  [ -s "$folder/sources.list" ] || { say "found no source of Debian's main packages in apt's settings"; exit 1; }
  apt=(apt-get -qq -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" -o APT::Sandbox::User=root)
  "${apt[@]}" update >&2
  cd "$folder/source"
  "${apt[@]}" source --download-only pgvector >&2
  tar --extract --strip-components=1 --file ./*.orig.tar.*
  config="$(newest_bin)/pg_config"
  make -s -j2 PG_CONFIG="$config" OPTFLAGS="" with_llvm=no >&2
  make -s PG_CONFIG="$config" with_llvm=no install >/dev/null
)

install_vector() {
  if has_candidate "postgresql-$(major)-pgvector"; then get "postgresql-$(major)-pgvector"; else compile_vector; fi
}

# The tests start their own, so the service of the package must not start: a policy of invoke-rc.d says so while it is installed.
install_bouncer() (
  say "installing PgBouncer"
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  apt=(timeout 120 apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
  [ "$updated" = yes ] || "${apt[@]}" update >&2
  "${apt[@]}" install --no-install-recommends --yes pgbouncer >/dev/null
)

if ! { has_server && has_vector; }; then
  can_install || { say "run this as root on Debian, or install PostgreSQL and pgvector yourself"; exit 1; }
  has_server || install_server
  has_vector || install_vector
  has_server && has_vector || { say "PostgreSQL $(major) with pgvector is still missing"; exit 1; }
fi
if ! has_bouncer && can_install; then install_bouncer || true; fi
has_bouncer || say "PgBouncer is not installed: the tests that go through it are left out"
