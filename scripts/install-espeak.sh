#!/usr/bin/env bash
# Installs eSpeak NG from Debian's packages where it is missing, for the test with real speech. Needs root; changes nothing when it is there.
set -euo pipefail

say() { echo "install-espeak: $*" >&2; }

if command -v espeak-ng >/dev/null; then exit 0; fi
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { say "run this as root on Debian, or install espeak-ng yourself"; exit 1; }
say "installing eSpeak NG"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update >&2
apt-get -qq install --no-install-recommends --yes espeak-ng >/dev/null
command -v espeak-ng >/dev/null || { say "espeak-ng is still missing"; exit 1; }
