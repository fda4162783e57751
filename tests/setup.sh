#!/usr/bin/env bash
# Makes this machine able to run the tests of secrets in a desktop's keyring: a session bus, a keyring and the command that asks
# it. Where they are missing and this is Debian and root, they are installed; elsewhere those tests say what is said without
# them, and with CI set they fail instead. Running it again does nothing and takes no time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly programs=(dbus-daemon dbus-send gnome-keyring-daemon secret-tool)
readonly packages=(dbus gnome-keyring libsecret-tools)
readonly log=target/setup.log

say() { echo "setup: $*" >&2; }

missing() {
    local program
    for program in "${programs[@]}"; do
        [[ -x "/usr/bin/$program" ]] || echo "$program"
    done
}

[[ -n "$(missing)" ]] || exit 0
if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    say "no keyring is tested here, for want of: $(missing | tr '\n' ' ')"
    exit 0
fi
say "installing Debian packages that tests of a keyring need: ${packages[*]} …"
mkdir -p target
install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}")
if ! "${install[@]}" >"$log" 2>&1; then
    { apt-get update -qq && "${install[@]}"; } >"$log" 2>&1 ||
        say "no keyring is tested here: $(grep -m 1 '^E:' "$log" || tail -n 1 "$log")"
fi
