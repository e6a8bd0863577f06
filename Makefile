# Tasks of this repository. `make` alone lists them.
#
# Nothing here is needed to use Proofload: cargo builds it alone.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Servers and browsers of Debian stand outside a user's path.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin

# What is built once needs no preparation for the next build.
ifdef CI
export CARGO_INCREMENTAL := 0
endif

# All tests. The first two mostly wait for clocks and processes, so they run beside the others.
TESTS := e2e experiments unit

.PHONY: help demo test proof bench dist site prerequisites format build lint docs static $(TESTS) tidy reference

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## build, run experiments/demo.toml, print the path of its report (needs cargo and cc)
	@scripts/demo

test: ## everything that must hold before a change is merged (installs what it lacks on Debian)
	@scripts/prerequisites
	@$(MAKE) --no-print-directory format build
	@$(MAKE) --no-print-directory --jobs=4 static $(TESTS)
	@echo "make test: all of it holds"

proof: ## the instrument against targets of known behaviour, and long simulations (an hour and a half)
	@scripts/prerequisites
	@cargo build --release --locked --quiet -p proofload -p truth
	PROOFLOAD_PROOF=1 cargo test --release --locked --quiet -p stats --test simulated --test comparison --test capacity -- --show-output
	PROOFLOAD_PROOF=1 cargo test --release --locked --quiet -p stats --lib -- steady equal_sides --show-output
	PROOFLOAD_PROOF=1 cargo test --quiet -p judge --lib capacity
	PROOFLOAD_PROOF=1 cargo test --quiet -p proofload --test e2e capacity
	PROOFLOAD_PROOF=1 cargo test --release --locked --quiet -p proofload --test e2e clean_runs
	PROOFLOAD_PROOF=1 cargo test --quiet -p proofload --test e2e -- journeys::admin journeys::nonces --nocapture --test-threads=1
	PROOFLOAD_PROOF=1 cargo test --quiet -p proofload --test e2e agents:: -- --nocapture --test-threads=1
	PROOFLOAD_PROOF=1 cargo test --quiet -p stats -p judge --lib chance
	PROOFLOAD_PROOF=1 cargo test --quiet -p plan --lib dispersion
	PROOFLOAD_PROOF=1 cargo test --quiet -p proofload --test e2e -- agents::agreement --nocapture --test-threads=1
	PROOFLOAD_PROOF=1 cargo test --quiet -p proofload --test e2e replay:: -- --test-threads=4
	PROOFLOAD_PROOF=1 cargo test --quiet -p registry --test stores sets
	PROOFLOAD_PROOF=1 cargo test --quiet -p proofload --test e2e accepted_is_there
	PROOFLOAD_PROOF=1 cargo test --quiet -p registry --test filters
	PROOFLOAD_PROOF=1 cargo test --quiet -p search --lib -- index kill planted
	PROOFLOAD_PROOF=1 cargo test --quiet -p proofload --test e2e acknowledged_is_found
	PROOFLOAD_PROOF=1 cargo test --quiet -p proofload --test simulated -- --nocapture
	PROOFLOAD_PROOF=1 cargo test --quiet -p shm-channel
	PROOFLOAD_PROOF=1 cargo test --quiet -p exchange --test ways
	@$(MAKE) --no-print-directory site && node packaging/website/check.mjs site
# Last: other work on the machine may bring it beyond its bounds.
	@target/release/proofload calibrate

bench: ## the instrument beside its peers (installs what it needs)
	@benchmarks/run

dist: ## what is published, in dist/: archives, packages, a wheel, an image, an SBOM
	@scripts/prerequisites dist $(TARGET)
	@python3 -B packaging/dist.py $(if $(TARGET),--target $(TARGET)) $(DIST)

site: ## the documentation as a searchable site with reports of real runs, in site/
	@scripts/prerequisites site
	@cargo build --release --locked --quiet -p proofload -p truth
	@python3 -B packaging/site.py

prerequisites: ## what the tests need of the system, installed if missing
	@scripts/prerequisites

format: ## formatting, checked
	cargo fmt --all --check

lint: ## clippy over everything, warnings refused
	cargo clippy --workspace --all-targets --quiet -- -D warnings

# A front page may link to its private rooms: private items are documented, too.
docs: ## API documentation, warnings refused
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --workspace --no-deps --document-private-items --quiet

# Beside the tests, which mostly wait for clocks and processes.
static:
	@nice -n 19 $(MAKE) --no-print-directory lint
	@nice -n 19 $(MAKE) --no-print-directory docs

build: ## everything that the tests need, compiled
	cargo test --workspace --no-run --quiet

tidy: ## the rules of ARCHITECTURE.md alone
	cargo test --quiet -p proofload --test tidy

reference: ## write the generated pages of docs/reference and the samples of import anew
	PROOFLOAD_REGENERATE=1 cargo test --quiet -p proofload -p import --test reference --test samples

# Tests that wait leave processors idle: two threads for each.
CARGO_TESTS := RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$((2 * $$(nproc)))} cargo test --workspace --no-fail-fast

e2e: ## the real binary against real servers
	$(CARGO_TESTS) --test e2e

experiments: ## each experiment, shortened
	$(CARGO_TESTS) --test experiments

# The tidy test makes sure that no other test program begins with "e".
unit: ## all other tests, tidy among them
	$(CARGO_TESTS) --lib --bins --test '[!e]*'
	@# rustdoc warns of a jobserver that make has closed.
	MAKEFLAGS= cargo test --workspace --doc
