#!/usr/bin/env bash
# Installs Chromium from Debian's packages where it is missing, for the tests of the page. Needs root; changes nothing when it is there.
set -euo pipefail

say() { echo "install-chromium: $*" >&2; }

if command -v chromium >/dev/null; then exit 0; fi
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { say "run this as root on Debian, or install Chromium yourself and set TEST_CHROMIUM to its path"; exit 1; }
say "installing Chromium"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update >&2
apt-get -qq install --no-install-recommends --yes chromium >/dev/null
command -v chromium >/dev/null || { say "Chromium is still missing"; exit 1; }
