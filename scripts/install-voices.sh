#!/usr/bin/env bash
# Installs eSpeak NG and SoX from Debian's packages where they are missing, for the tests with real speech. Needs root; changes nothing when they are there.
set -euo pipefail

say() { echo "install-voices: $*" >&2; }

has_voices() { command -v espeak-ng >/dev/null && command -v sox >/dev/null && sox --help | grep "AUDIO FILE FORMATS.* mp3" >/dev/null; }

if has_voices; then exit 0; fi
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { say "run this as root on Debian, or install espeak-ng and sox with MP3 yourself"; exit 1; }
say "installing eSpeak NG and SoX"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update >&2
apt-get -qq install --no-install-recommends --yes espeak-ng sox libsox-fmt-mp3 >/dev/null
has_voices || { say "espeak-ng or sox is still missing"; exit 1; }
