#!/usr/bin/env bash
# Makes this machine able to build guests (WebAssembly components), and says what it does and why.
#
# Two routes lead there, and the first that works is remembered in target/wasm-route:
#   rustup   the targets wasm32-wasip2 and wasm32-unknown-unknown of the Rust toolchain in use (a download of some 45 MB)
#   debian   packages of the distribution only; the standard library is built from their source
# Both need a clang that knows wasm32, and llvm-ar, for the one guest that is partly C: the engine of scripts. Where they
# are missing and this is Debian, they are installed; CC_wasm32_unknown_unknown and AR_wasm32_unknown_unknown choose others.
# LAZARET_WASM_ROUTE=rustup|debian|auto chooses; without it, auto: rustup, else debian.
# Running it again when nothing changed does nothing and takes no time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly asked="${LAZARET_WASM_ROUTE:-auto}"
readonly stamp=target/wasm-route
readonly log=target/setup.log
readonly target=wasm32-wasip2
# The engine of scripts imports nothing, so it is not built for WASI.
readonly bare_target=wasm32-unknown-unknown
readonly rust_min_minor=95
readonly clang_names=(clang clang-{20..14} /opt/homebrew/opt/llvm/bin/clang /usr/local/opt/llvm/bin/clang)
readonly llvm_ar_names=(llvm-ar llvm-ar-{20..14} /opt/homebrew/opt/llvm/bin/llvm-ar /usr/local/opt/llvm/bin/llvm-ar)
# rustc-web is a recent rustc and rust-web-src its library; the libc is wasi-libc's; no version is pinned.
readonly packages=(rustc-web rust-web-src wasi-libc lld clang llvm)

say() { echo "setup: $*" >&2; }
fail() {
    say "$1"
    shift
    local line
    for line in "$@"; do echo "       $line" >&2; done
    exit 1
}

# What went wrong in the command logged last: rustup, rustc and cargo say "error", apt-get says "E:".
first_error() { grep -m 1 -E '^(error|E:)' "$log" || tail -n 1 "$log"; }

# What no route can do without: cargo, a Rust that is new enough, a C compiler.
check_rust() {
    if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
        fail "cargo and rustc are not on the PATH; all of Lazaret is built with them." \
            "fix: install Rust 1.$rust_min_minor or newer as https://rustup.rs describes, open a new shell, and run this again."
    fi
    rust_id="$(rustc -vV 2>&1)" || fail "\`rustc\` is installed but does not run:" "$rust_id" \
        "fix: \`rustup default stable\` (a fresh rustup has no toolchain), then run this again."
    local release minor
    release="$(sed -n 's/^release: //p' <<<"$rust_id")"
    minor="${release#1.}"
    minor="${minor%%.*}"
    if [[ "$release" != 1.* ]] || ((minor < rust_min_minor)); then
        fail "Rust $release is too old: Lazaret needs 1.$rust_min_minor or newer." \
            "fix: \`rustup update stable\`, then run this again."
    fi
    host_triple="$(sed -n 's/^host: //p' <<<"$rust_id")"
}

check_cc() {
    local cc="${CC:-cc}"
    # CC may carry arguments ("ccache gcc"); the first word is the program.
    command -v "${cc%% *}" >/dev/null || fail "no C compiler (\`${cc%% *}\`): SQLite and every link step of the host need one." \
        "fix: on Debian or Ubuntu \`apt-get install gcc libc6-dev\`, on Fedora \`dnf install gcc\`, on macOS \`xcode-select --install\`."
}

as_root() {
    if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

rustup_ready() {
    local rustlib
    rustlib="$(rustc --print sysroot)/lib/rustlib"
    [[ -d "$rustlib/$target/lib" && -d "$rustlib/$bare_target/lib" ]]
}

route_rustup() {
    if rustup_ready; then
        say "the toolchain already has the targets $target and $bare_target; nothing to download."
    else
        if ! command -v rustup >/dev/null; then
            problem="this Rust was not installed by rustup, so the targets $target and $bare_target cannot be added to it"
            return 1
        fi
        say "adding the targets $target and $bare_target to the Rust toolchain, to compile plugins (a download of some 45 MB) …"
        if ! RUST_BACKTRACE=0 rustup target add "$target" "$bare_target" >"$log" 2>&1; then
            problem="\`rustup target add $target $bare_target\` failed: $(first_error)"
            return 1
        fi
    fi
    probe_rustup
}

# A target that is there can still lack its linker; a three-line guest tells, in a third of a second.
probe_rustup() {
    local dir=target/setup-probe
    mkdir -p "$dir"
    echo '#[unsafe(no_mangle)] pub extern "C" fn probe() -> u32 { 7 }' >"$dir/probe.rs"
    if ! env -u RUSTFLAGS rustc --edition 2024 --target "$target" --crate-type cdylib -o "$dir/probe.wasm" "$dir/probe.rs" \
        >"$log" 2>&1; then
        problem="the target $target is there but cannot build: $(first_error)"
        return 1
    fi
    if [[ "$(od -An -tx1 -N8 "$dir/probe.wasm" | tr -d ' \n')" != 0061736d0d000100 ]]; then
        problem="the target $target built something that is not a component"
        return 1
    fi
    rm -r "$dir"
}

missing_packages() {
    local package
    for package in "${packages[@]}"; do
        [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" == installed ]] || echo "$package"
    done
}

route_debian() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        problem="this is not a Debian-like system: there is no apt-get"
        return 1
    fi
    local missing
    read -r -a missing <<<"$(missing_packages | tr '\n' ' ')"
    if ((${#missing[@]} > 0)); then
        install_packages "${missing[@]}" || return 1
    else
        say "all packages of the Debian route are installed."
    fi
    debian_ready || {
        problem="the packages are installed, but /usr/bin/rustc, its source or wasi-libc is not where it was expected"
        return 1
    }
    component_linker
}

install_packages() {
    if ((EUID != 0)) && ! command -v sudo >/dev/null; then
        problem="packages are missing and this is neither root nor a machine with sudo; as root: apt-get install --no-install-recommends $*"
        return 1
    fi
    say "installing Debian packages that compile plugins: $* …"
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@")
    if ! as_root "${install[@]}" >"$log" 2>&1; then
        say "that did not work at once; refreshing the package lists and trying again …"
        if ! { as_root apt-get update && as_root "${install[@]}"; } >"$log" 2>&1; then
            problem="\`apt-get install --no-install-recommends $*\` failed: $(first_error)"
            return 1
        fi
    fi
}

debian_ready() {
    [[ -x /usr/bin/rustc && -d /usr/lib/wasm32-wasi ]] && [[ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library" ]]
}

# The last link step makes a component; Rust's own toolchains ship the program for it, distributions may not.
component_linker() {
    if [[ -x "$(rustc --print sysroot)/lib/rustlib/$host_triple/bin/wasm-component-ld" ]] ||
        command -v wasm-component-ld >/dev/null || [[ -x target/debian/tools/bin/wasm-component-ld ]]; then
        return 0
    fi
    say "building \`wasm-component-ld\`, which this toolchain does not bring (once, some minutes) …"
    if ! cargo install --quiet --locked --root target/debian/tools wasm-component-ld >"$log" 2>&1; then
        problem="\`cargo install wasm-component-ld\` failed: $(first_error)"
        return 1
    fi
}

# Looks for a clang and an llvm-ar that compile for wasm32; sets `clang` and `llvm_ar`, or `problem`.
find_clang() {
    local name
    clang="" llvm_ar=""
    for name in "${CC_wasm32_unknown_unknown:-}" "${clang_names[@]}"; do
        if [[ -n "$name" ]] && command -v "${name%% *}" >/dev/null && probe_clang "$name"; then
            clang="$name"
            break
        fi
    done
    for name in "${AR_wasm32_unknown_unknown:-}" "${llvm_ar_names[@]}"; do
        if [[ -n "$name" ]] && command -v "$name" >/dev/null; then
            llvm_ar="$name"
            break
        fi
    done
    [[ -n "$clang" ]] || {
        problem="no clang that compiles for wasm32 (Apple's does not)"
        return 1
    }
    [[ -n "$llvm_ar" ]] || {
        problem="no llvm-ar"
        return 1
    }
}

# A clang can be built without the WebAssembly target, or lack the headers that belong to it.
probe_clang() {
    local dir=target/setup-probe start
    mkdir -p "$dir"
    printf '#include <stddef.h>\n#include <stdarg.h>\nsize_t probe(void) { return sizeof(va_list); }\n' >"$dir/probe.c"
    # shellcheck disable=SC2086 # the name may carry arguments, as for the C compiler above
    $1 --target="$bare_target" -c "$dir/probe.c" -o "$dir/probe.o" >"$log" 2>&1 || return 1
    start="$(od -An -tx1 -N4 "$dir/probe.o" | tr -d ' \n')"
    rm -r "$dir"
    [[ "$start" == 0061736d ]]
}

# The engine of scripts is partly C, so every route needs this.
check_clang() {
    if find_clang; then return; fi
    local first="$problem"
    if ! command -v apt-get >/dev/null; then
        fail "$first: the engine of scripts is partly C, and is compiled to WebAssembly with it." \
            "fix: install clang and llvm (\`dnf install clang llvm\`, \`brew install llvm\`, …), or name them in" \
            "CC_wasm32_unknown_unknown and AR_wasm32_unknown_unknown; then run this again."
    fi
    if ! install_packages clang llvm; then
        fail "$first, and they could not be installed: $problem." \
            "fix: as root \`apt-get install --no-install-recommends clang llvm\`, then run this again (full output: $log)."
    fi
    find_clang || fail "the packages clang and llvm are installed, but $problem." \
        "fix: name working ones in CC_wasm32_unknown_unknown and AR_wasm32_unknown_unknown, then run this again."
}

# One `key: ` line of the stamp.
stamped() { sed -n "s/^$1: //p" "$stamp"; }

# Prints the route that the stamp names, if what it promised still holds for this question and this Rust.
remembered() {
    [[ -f "$stamp" ]] || return 1
    clang="$(stamped clang)"
    llvm_ar="$(stamped llvm-ar)"
    command -v "${clang%% *}" >/dev/null && command -v "$llvm_ar" >/dev/null || return 1
    [[ "$(cat "$stamp")" == "$(stamp_text rustup)" ]] && rustup_ready && return 0
    [[ "$(cat "$stamp")" == "$(stamp_text debian)" ]] && debian_ready && return 0
    return 1
}

# The first line is the route, which build.sh reads, as it does the two programs; the rest is what the choice depended on.
stamp_text() {
    printf '%s\nclang: %s\nllvm-ar: %s\nasked: %s %s %s\n%s\n' "$1" "$clang" "$llvm_ar" \
        "$asked" "${CC_wasm32_unknown_unknown:-}" "${AR_wasm32_unknown_unknown:-}" "$rust_id"
}

choose() {
    problem=""
    case "$asked" in
    rustup | debian)
        if ! "route_$asked"; then
            fail "the route \`$asked\` did not work: $problem." \
                "fix what it says (full output: $log), or unset LAZARET_WASM_ROUTE to try every route."
        fi
        route="$asked"
        ;;
    auto)
        if route_rustup; then
            route=rustup
            return
        fi
        local first="$problem"
        say "$first; trying Debian's packages instead."
        if ! route_debian; then
            fail "no route to a WebAssembly toolchain worked." "rustup: $first" "debian: $problem" \
                "fix either one: with a network, \`rustup target add $target $bare_target\`; on Debian, the packages: ${packages[*]}" \
                "(full output of the last attempt: $log)"
        fi
        route=debian
        ;;
    *)
        fail "LAZARET_WASM_ROUTE is \`$asked\`, which is no route." "fix: set it to rustup, debian or auto, or unset it."
        ;;
    esac
}

main() {
    check_rust
    check_cc
    if remembered; then return; fi
    mkdir -p target
    choose
    check_clang
    stamp_text "$route" >"$stamp"
    say "ready: plugins are built by the route \`$route\` (remembered in $stamp)."
}

main
