#!/usr/bin/env bash
# Installs Chromium's headless shell from Debian's packages where it is missing, for the tests of the page: it needs less CPU time than the whole
# browser, which is taken where there is no shell. Needs root; changes nothing when the shell is there.
set -euo pipefail

say() { echo "install-chromium: $*" >&2; }

install() {
  say "installing $1"
  DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends --yes "$1" >/dev/null
}

if command -v chromium-headless-shell >/dev/null; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get -qq update >&2 && install chromium-headless-shell; } || command -v chromium >/dev/null || install chromium
fi
command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || { say "run this as root on Debian, or install Chromium yourself and set TEST_CHROMIUM to its path"; exit 1; }
