# The ways in. Each one sets up by itself whatever the machine lacks; `make help` says what each is for.
.DEFAULT_GOAL := help
.PHONY: help setup plugins lint test console mutants attacks crash journeys peers conformance advisories demo bench load clean

# Fixtures and examples are guests and nothing else; they are tested inside the host.
guests = $$(plugins/build.sh packages | sed 's/^/--exclude /')

help:
	@echo 'Lazaret runs agents, tools and model-written scripts in WebAssembly quarantine.'
	@echo
	@echo '  make demo     build the host and its plugins, then watch the gate at work; start here'
	@echo '  make test     all tests: host, sdk, plugins, attacks, the tidiness of the tree'
	@echo '  make console  use the console in a real browser, by hand of a program; installs Chromium where it is missing'
	@echo '  make lint     formatting and clippy; warnings are errors'
	@echo '  make mutants  break each rule on purpose, and see that a test fails; ONLY=WORD,WORD for some (an hour for all)'
	@echo '  make attacks  make every attack again and again, and see that the memory of the host comes back'
	@echo '  make crash    kill processes at work, N=10000 of them, and see that nothing happened twice and nothing is lost'
	@echo '  make journeys  take what a stranger wrote N=1000 ways through files, handles, notes and runs, and see that it stays labelled'
	@echo '  make peers    compare the codecs with the providers'\'' own SDKs; needs Python 3.11 or newer, and PyPI the first time'
	@echo '  make conformance  run the official suite of MCP; needs npm, and its packages the first time'
	@echo '  make advisories  ask the RustSec database about every library of Cargo.lock; needs cargo-deny, and the network'
	@echo '  make bench    measure, and print one table'
	@echo '  make load     measure the server: calls over HTTP and MCP, and two hundred who watch a run; needs wrk, a package of that name'
	@echo '  make plugins  only compile the plugins, into plugins/dist/NAME.wasm'
	@echo '  make setup    only make this machine able to compile plugins'
	@echo '  make clean    remove everything that was built'
	@echo
	@echo 'Needed: Rust 1.95 or newer, a C compiler. Everything else is set up on first use.'
	@echo 'The first build compiles the WebAssembly engine and takes some minutes; later ones take seconds.'
	@echo 'LAZARET_WASM_ROUTE=rustup|debian|auto chooses the compiler of plugins (plugins/setup.sh tells more).'

setup:
	@plugins/setup.sh
	@echo "setup: plugins are compiled by the route \`$$(head -n 1 target/wasm-route)\`; next: make demo"

plugins:
	@plugins/build.sh plugins

demo: plugins
	@cargo build -p lazaret
	@./target/debug/lazaret demo

# Three calls of cargo: together, the features of the guests' crates would build a second engine, some minutes for nothing. So
# would those of lazaret-preinit, which has no tests of its own; and those of the examples, a second host.
test:
	@plugins/build.sh
	@tests/setup.sh
	@cargo build -p lazaret
	@cargo test -p lazaret -p lazaret-tests
	@cargo test -p lazaret-example-code-mode -p lazaret-example-inbox -p lazaret-example-library
	@cargo test --workspace --exclude lazaret --exclude lazaret-tests --exclude lazaret-preinit \
		--exclude lazaret-example-code-mode --exclude lazaret-example-inbox --exclude lazaret-example-library $(guests)

# Chromium, Node and two libraries, where they are missing; pictures of every page are left in target/console/shots.
console: plugins
	@cargo build -p lazaret
	@browser="$$(tests/console/setup.sh)" && node tests/console/run.mjs "$$PWD/target/debug/lazaret" "$$browser"

# tests/mutants has the list; FLIPS=1 turns each condition of the rules into its opposite instead, and asks unit tests alone.
# The compiler of plugins in the tests is the host as it is.
mutants:
	@plugins/build.sh
	@cargo build -p lazaret
	@cargo run -q -p lazaret-tests --bin mutants -- $(if $(FLIPS),--flips) "$(ONLY)"

# The tests do the same with those attacks that take memory.
attacks:
	@plugins/build.sh
	@tests/setup.sh
	@cargo build -p lazaret
	@EVERY=1 cargo test -p lazaret -p lazaret-tests --test it -- --nocapture what_attacks_take_is_given_back

# The tests do the same with every stop of one run, and 200 at random.
N = 1000
crash:
	@plugins/build.sh
	@cargo build -p lazaret
	@cargo run -q -p lazaret-tests --bin crash -- "$(N)"

# The tests go the same sixteen ways each time; these are others each time, and SEED=N goes those of another time again.
journeys:
	@plugins/build.sh
	@tests/setup.sh
	@cargo build -p lazaret
	@WAYS="$(N)" cargo test -p lazaret -p lazaret-tests --test it -- --nocapture a_label_never_shrinks_on_any_way

# Its own environment of Python, with the versions and hashes of tests/peers/requirements.txt and nothing else.
peers: plugins
	@test -x target/peers/bin/python || python3 -m venv target/peers
	@target/peers/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r tests/peers/requirements.txt
	@cargo run -q -p lazaret-tests --bin peers -- target/peers/bin/python
	@cargo build -p lazaret
	@target/peers/bin/python tests/peers/serve.py target/debug/lazaret

# Versions and hashes are those of tests/conformance/package-lock.json; nothing of a package is run at its installation. The suite wants Node 22,
# which is among the packages, so that any npm will do.
conformance:
	@plugins/build.sh
	@cargo build -p lazaret
	@cd tests/conformance && npm ci --silent --ignore-scripts --no-audit --no-fund
	@cd tests/conformance && "$$(ls -d $$PWD/node_modules/node-*/bin/node | head -n 1)" run.mjs $(SIDES)

# What is known now. What was known when a version was chosen is held without a network by the test `tidy` (tests/tests/tidy/floor.rs).
advisories:
	@cargo deny --version >/dev/null 2>&1 || { echo 'cargo-deny is missing, so nothing was asked: cargo install --locked cargo-deny'; exit 1; }
	@cargo deny --all-features check advisories

# The host embeds plugins/dist, so that even a check needs the plugins.
lint: plugins
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets -- -D warnings

# The host's own code as it is shipped: optimised, without what only tests look at, in few large pieces. So that the engine is
# not built again, all else is as for the tests, where it is optimised as well.
measured = --profile dev --config 'profile.dev.package.lazaret.opt-level=3' --config 'profile.dev.package.lazaret.debug-assertions=false' \
	--config 'profile.dev.package.lazaret.codegen-units=4' --config 'profile.dev.package.lazaret-tests.opt-level=3'
bench load: export CARGO_INCREMENTAL = 0

bench:
	@plugins/build.sh
	@cargo bench $(measured) -p lazaret --bench table

load: plugins
	@cargo build $(measured) -p lazaret
	@for program in load trips; do cargo run -q $(measured) -p lazaret-tests --bin $$program -- target/debug/lazaret || exit; done

clean:
	@rm -rf target plugins/dist
