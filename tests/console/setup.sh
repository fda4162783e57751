#!/usr/bin/env bash
# Makes this machine able to test the console in a real browser: Chromium and Node from packages of the distribution where they
# are missing, and two libraries from npm, with the versions and digests of package-lock.json, into target/console.
# CHROMIUM=PATH chooses another Chromium or Chrome.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly folder=target/console
readonly node_min=20

say() { echo "setup: $*" >&2; }
fail() {
    say "$1"
    shift
    local line
    for line in "$@"; do echo "       $line" >&2; done
    exit 1
}

browser() {
    local name
    for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
        if [[ -n "$name" ]] && command -v "$name" 2>/dev/null; then return 0; fi
    done
    return 1
}

install() {
    if [[ "$(id -u)" != 0 ]] || ! command -v apt-get >/dev/null; then
        fail "there is no $1 here." "fix: install it, then run this again."
    fi
    say "installing $1 from Debian's packages"
    apt-get update -qq >"$folder/apt.log" 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$folder/apt.log" 2>&1 ||
        fail "$1 cannot be installed: $(grep -m 1 '^E:' "$folder/apt.log" || tail -n 1 "$folder/apt.log")"
}

mkdir -p "$folder"
browser >/dev/null || install chromium fonts-dejavu-core
command -v node >/dev/null && command -v npm >/dev/null || install nodejs npm
version="$(node --version)"
version="${version#v}"
((${version%%.*} >= node_min)) || fail "Node $version is too old: $node_min or newer is needed." "fix: install a newer one, then run this again."
cp tests/console/package.json tests/console/package-lock.json "$folder/"
if ! cmp -s "$folder/package-lock.json" "$folder/installed"; then
    (cd "$folder" && npm ci --silent --no-audit --no-fund --ignore-scripts) || fail "npm could not install what tests/console/package-lock.json names."
    cp "$folder/package-lock.json" "$folder/installed"
fi
browser
