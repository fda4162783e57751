#!/usr/bin/env bash
# Builds guests: native cargo cannot, and the host embeds what this puts into plugins/dist.
#
#   plugins/build.sh            everything below
#   plugins/build.sh plugins    the bundled plugins, plugins/NAME  -> plugins/dist/NAME.wasm
#   plugins/build.sh guests     fixtures and examples, tests/guests/NAME and examples/NAME -> target/guests/NAME.wasm
#   plugins/build.sh packages   builds nothing; prints the packages of `guests`, which are not tested natively
#
# One plugin is not like the others: plugins/script, the engine of scripts, is built without WASI, started once, and frozen
# (plugins/script/preinit). It and plugins/types are delivered with the plugins, and are no tools.
#
# A file is replaced only when its bytes changed, so that the host is not rebuilt for nothing. Bundled plugins are built
# apart from the fixtures: features that a fixture turns on must not change what is shipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly stamp=target/wasm-route
readonly target=wasm32-wasip2
readonly component_start=0061736d0d000100
# The engine of scripts imports nothing; its target promises that.
readonly engine=plugins/script
readonly engine_target=wasm32-unknown-unknown

fail() {
    echo "build: $1" >&2
    shift
    local line
    for line in "$@"; do echo "       $line" >&2; done
    exit 1
}

# The value of `name` in one section of a Cargo.toml.
name_in() {
    awk -v section="[$2]" '$1 == section { on = 1; next } /^\[/ { on = 0 }
        on && /^name[ \t]*=/ { gsub(/^[^"]*"|".*$/, ""); print; exit }' "$1/Cargo.toml"
}

# Prints the folders below the given ones that are guests: a Cargo.toml that asks for a cdylib, and not the engine's.
guest_folders() {
    local parent folder
    for parent in "$@"; do
        for folder in "$parent"/*/; do
            folder="${folder%/}"
            if [[ "$folder" != "$engine" && -f "$folder/Cargo.toml" ]] && grep -q '"cdylib"' "$folder/Cargo.toml"; then echo "$folder"; fi
        done
    done
}

# Route debian: a compiler, a library and a libc of the distribution, and Rust's own linkers in front of its PATH.
use_debian() {
    local bin
    bin="$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin"
    native_path="$PATH"
    export PATH="$bin:$bin/gcc-ld:$PWD/target/debian/tools/bin:$PATH"
    export RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc
    export RUSTFLAGS="-L native=/usr/lib/wasm32-wasi -Clink-self-contained=no"
    unset CARGO_ENCODED_RUSTFLAGS
    target_dir=target/debian
    build_std="-Zbuild-std=std,panic_abort"
}

compile() {
    local folder packages=()
    for folder in "$@"; do packages+=(-p "$(name_in "$folder" package)"); done
    cargo build --profile guest --target "$target" --target-dir "$target_dir" ${build_std:+"$build_std"} "${packages[@]}" ||
        fail "the guests in $(dirname "$1") did not compile; the compiler's words are above." \
            "if they are about the toolchain and not the code: remove $stamp and run \`make setup\`."
}

# Copies one guest to where it is read from, if it is a component and not what is there already.
deliver() {
    local folder="$1" to="$2" crate built start
    crate="$(name_in "$folder" lib)"
    crate="${crate:-$(name_in "$folder" package)}"
    built="$target_dir/$target/guest/${crate//-/_}.wasm"
    start="$(od -An -tx1 -N8 "$built" | tr -d ' \n')"
    [[ "$start" == "$component_start" ]] || fail "$built is not a component (it starts with $start)." \
        "fix: remove $stamp, then \`LAZARET_WASM_ROUTE=debian make setup\` or \`LAZARET_WASM_ROUTE=rustup make setup\`."
    put "$built" "$to"
}

# Copies a file to where it is read from, if it is not there already.
put() {
    if ! cmp -s "$1" "$2"; then
        cp "$1" "$2.new"
        mv "$2.new" "$2"
        echo "build: $2 ($(($(wc -c <"$2") / 1024)) KiB)" >&2
    fi
}

# Builds all guests below the given folders into one place, and removes what no folder stands for any more. The second
# argument is the name of one that is built otherwise and stays; it may be empty.
build_into() {
    local place="$1" folder name known=" $2 " folders=()
    shift 2
    while read -r folder; do
        name="$(basename "$folder")"
        [[ "$known" != *" $name "* ]] || fail "two guests are called \`$name\`; one is $folder." "fix: rename one."
        known+="$name "
        folders+=("$folder")
    done < <(guest_folders "$@")
    mkdir -p "$place"
    if ((${#folders[@]} > 0)); then
        compile "${folders[@]}"
        for folder in "${folders[@]}"; do deliver "$folder" "$place/$(basename "$folder").wasm"; done
    fi
    for folder in "$place"/*.wasm; do
        name="$(basename "$folder" .wasm)"
        if [[ -f "$folder" && "$known" != *" $name "* ]]; then rm "$folder"; fi
    done
}

# The engine: its module, and, when that or what freezes it changed, the component.
build_engine() {
    local module="$target_dir/$engine_target/guest/lazaret_script.wasm" to=plugins/dist/script.wasm
    local tool=target/tool/lazaret-preinit seen=target/script-seen now
    local settings=("CC_wasm32_unknown_unknown=$(sed -n 's/^clang: //p' "$stamp")")
    settings+=("AR_wasm32_unknown_unknown=$(sed -n 's/^llvm-ar: //p' "$stamp")")
    # The engine has its own libc, so it is not to find the distribution's.
    if [[ -n "$build_std" ]]; then settings+=(RUSTFLAGS=); fi
    env "${settings[@]}" \
        cargo build --profile guest --target "$engine_target" --target-dir "$target_dir" ${build_std:+"$build_std"} \
        -p lazaret-script --lib ||
        fail "the engine of scripts did not compile; the compiler's words are above." \
            "if they are about the toolchain and not the code: remove $stamp and run \`make setup\`."
    (native && cargo build --profile tool -p lazaret-preinit) ||
        fail "the program that freezes the engine of scripts did not compile; the compiler's words are above."
    now="$(cksum "$module" "$tool")"
    if [[ -f "$to" && -f "$seen" && "$(cat "$seen")" == "$now" ]]; then return; fi
    "$tool" "$module" "$module.component" || fail "the engine of scripts could not be frozen; the reason is above."
    mkdir -p plugins/dist
    put "$module.component" "$to"
    echo "$now" >"$seen"
}

# For what runs on this machine: Rust as it was before use_debian.
native() {
    if [[ -n "$build_std" ]]; then
        unset RUSTC_BOOTSTRAP RUSTC RUSTFLAGS
        PATH="$native_path"
    fi
}

build_plugins() {
    build_engine
    build_into plugins/dist script plugins
}
build_guests() { build_into target/guests "" tests/guests examples; }

main() {
    local what="${1:-all}" folder
    if [[ "$what" == packages ]]; then
        guest_folders tests/guests examples | while read -r folder; do name_in "$folder" package; done
        return
    fi
    plugins/setup.sh
    target_dir=target
    build_std=""
    if [[ "$(head -n 1 "$stamp")" == debian ]]; then use_debian; fi
    case "$what" in
    plugins) build_plugins ;;
    guests) build_guests ;;
    all)
        build_plugins
        build_guests
        ;;
    *) fail "\`$what\` is nothing that this builds." "fix: plugins, guests, packages, or nothing for all." ;;
    esac
}

main "$@"
