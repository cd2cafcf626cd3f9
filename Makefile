# One command for each purpose; `make help` lists them. Needs Python 3.10+ with venv, a Rust toolchain, gcc, make.
# Everything Python goes to .venv, everything Rust to target/; stamps keep what is fresh from being made again.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REPS ?= 10000
PYTHONS ?=
HASHES ?= hashes.txt

# Programs that only releases and their checks need, in exact versions.
TOOLS := target/tools
CARGO_DENY := 0.20.2
ACTIONLINT := v1.7.12

export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# pip takes exact versions for everything, whoever calls it.
export PIP_CONSTRAINT := $(CURDIR)/requirements-dev.txt

RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
PIP := $(BIN)/python -m pip --quiet
LANE = @printf '\n== %s\n' "$@"

.DELETE_ON_ERROR:
.PHONY: help page page-picture page-references scorecards demo test lint lint-rust lint-python types test-rust test-python determinism golden-check docs wheel \
	slow ray golden hashes compare-hashes properties bench bench-scale bench-check swarm build lock clean \
	dist third-party licences workflows tag-check

help: ## show this list
	@printf 'Usage: make TARGET\n\n'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

demo: build ## from nothing to the report of the umts-vegas study, in its quick form, and to that of one run
	$(BIN)/lasthop study run umts-vegas --quick --out results/umts-vegas
	$(BIN)/lasthop run umts-download --quiet --force --set output.explain=true --out results/umts-download
	$(BIN)/lasthop report results/umts-download

build: $(VENV)/.built ## the Python package with its extension, in .venv

test: lint test-rust test-python determinism golden-check docs wheel ## every lane that CI runs, one per question

lint: lint-rust lint-python types ## are the sources tidy?

lint-rust: $(VENV)/.made ## Rust: formatted, no warnings
	$(LANE)
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

lint-python: $(VENV)/.tools ## Python: formatted, no lint
	$(LANE)
	$(BIN)/ruff format --check python tests release docs/*.py docs/_ext
	$(BIN)/ruff check python tests release docs

types: $(VENV)/.tools build ## Python: types hold, the extension's stub matches the extension
	$(LANE)
	$(BIN)/mypy
	$(BIN)/stubtest lasthop._core --ignore-missing-stub --mypy-config-file pyproject.toml

# The crate `py` has no tests of its own, and a test binary of it would need libpython to link. Examples are compiled by
# clippy in `lint-rust`; without `--tests` each would be linked here, too.
test-rust: $(VENV)/.made ## do the crates work, with every debug check on?
	$(LANE)
	cargo test --workspace --exclude lasthop-py --locked --tests
	cargo test --workspace --exclude lasthop-py --locked --doc --quiet

# Campaigns start processes of their own and limit their time: beside others they would wait for a core.
test-python: $(VENV)/.tools build ## do the package, the command and the studies work?
	$(LANE)
	$(BIN)/python -m pytest tests --ignore=tests/determinism --ignore=tests/golden --ignore=tests/campaign -n auto --dist worksteal
	$(BIN)/python -m pytest tests/campaign

slow: $(VENV)/.tools build ## measurements that are too long for every commit
	$(LANE)
	$(BIN)/python -m pytest tests -m slow

ray: $(VENV)/.tools build ## do campaigns work on a Ray cluster of two nodes? (installs Ray, 240 MB)
	$(LANE)
	$(PIP) install 'ray>=2.40'
	$(BIN)/python -m pytest tests/campaign/test_ray.py

determinism: $(VENV)/.tools build ## does the same scenario give the same bytes?
	$(LANE)
	$(BIN)/python -m pytest tests/determinism

golden-check: $(VENV)/.tools build ## are the results those of the golden files?
	$(LANE)
	$(BIN)/python -m pytest tests/golden

docs: $(VENV)/.tools build ## does the documentation build without a warning? (docs/_build/html)
	$(LANE)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_search.py docs/_build/html
	@echo "docs/_build/html/index.html"

wheel: $(VENV)/.made ## does the wheel hold the package and nothing else, and work in a bare environment? (target/wheel)
	$(LANE)
	rm -rf target/wheel
	$(BIN)/maturin build --release --locked --out target/wheel
	$(BIN)/python release/check.py target/wheel/lasthop-*.whl
	bash tests/wheel.sh $(BIN)/python target/wheel/lasthop-*.whl

dist: $(VENV)/.release ## the files of a release, checked: portable wheel, sdist, SBOM (dist/); PYTHONS="..." names interpreters
	$(LANE)
	PYTHONS="$(PYTHONS)" bash release/dist.sh $(BIN)

third-party: ## renew THIRD-PARTY.md and the SBOM of the page, after a change of a lock file (needs Node)
	$(PYTHON) release/third_party.py

licences: $(TOOLS)/bin/cargo-deny ## are licences, versions and sources of the crates those that deny.toml allows?
	$(TOOLS)/bin/cargo-deny --locked check licenses bans sources

workflows: $(VENV)/.release ## are the workflow files of GitHub valid? (actionlint needs Go)
	$(LANE)
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/yamllint --strict -d '{extends: default, rules: {line-length: {max: 160}, document-start: disable, truthy: {check-keys: false}, comments: {min-spaces-from-content: 1}}}' .github/workflows
	@command -v go > /dev/null || { echo "DID NOT RUN: actionlint (no program go)" >&2; exit 0; }; \
	  set -x; go run github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT)

tag-check: $(VENV)/.made ## is TAG that of the version? (TAG=v0.1.0)
	$(BIN)/python release/check.py --tag '$(TAG)'

golden: build ## renew the golden files; the commit says why results moved
	$(BIN)/python -m tests.golden renew

hashes: build ## the hashes of the golden runs on this platform, in the file HASHES
	$(BIN)/python -m tests.golden hashes $(HASHES)

compare-hashes: ## do the files HASHES="A B ..." hold the same hashes? (of several platforms)
	@set -- $(HASHES); first=$$1; shift; failed=0; \
	  for other; do \
	    if diff -u "$$first" "$$other" | head -n 40; cmp -s "$$first" "$$other"; \
	    then echo "$$other: the same as $$first"; else echo "$$other: differs from $$first" >&2; failed=1; fi; \
	  done; [ $$# -gt 0 ] || { echo 'HASHES="A B ..." names two files at least' >&2; failed=2; }; exit $$failed

page: ## build the page of `lasthop view` and of reports from its sources in viewer/ (needs Node)
	cd viewer && npm ci --no-audit --no-fund --ignore-scripts && npm run build

page-picture: $(VENV)/.tools build ## renew the pictures of reports in README and guides (needs Chromium)
	$(BIN)/python docs/draw_page.py

page-references: $(VENV)/.tools build ## renew the pictures that the page is compared with, after a change of its looks on purpose
	LASTHOP_RENEW_REFERENCES=1 $(BIN)/python -m pytest -q tests/viewer/test_references.py

scorecards: $(VENV)/.tools build ## renew the scorecards of all built-in congestion controls in the docs (docs/concepts/scorecards.md)
	$(BIN)/python docs/draw_scorecards.py

properties: build ## renew the properties of lasthop.Results, after a change of the tables of runs
	$(BIN)/python -m tests.table_properties

# Built like the extension of a wheel: cargo profile dist, with profile-guided optimization from the
# bundled scenarios and those of release/training. With a named target the flags do not apply to
# build scripts and macros. Cargo does not see that a profile has changed, so the build begins anew.
HOST = $(shell rustc --print host-tuple)
BENCH = RUSTFLAGS='-Cprofile-use=$(CURDIR)/target/pgo/merged.profdata' cargo bench --profile dist --locked --target $(HOST)
TRAINING = $(wildcard scenarios/*.toml release/training/*.toml)

target/pgo/merged.profdata: $(RUST) $(TRAINING)
	release/llvm-profdata --version > /dev/null
	rm -rf target/pgo/raw target/$(HOST)/dist
	RUSTFLAGS='-Cprofile-generate=$(CURDIR)/target/pgo/raw' cargo bench --profile dist --locked --target $(HOST) \
	  --target-dir target/pgo/build -p lasthop-sim --bench scenarios -- train $(abspath $(TRAINING))
	release/llvm-profdata merge -o $@ target/pgo/raw
	release/llvm-profdata show --all-functions --counts $@ | $(PYTHON) release/check_training.py

bench: target/pgo/merged.profdata ## speed of fixed scenarios and of RLC AM (also as target/bench*.json)
	$(BENCH) -p lasthop-sim
	$(BENCH) -p lasthop-lte-l2 --bench rlc_am

bench-scale: target/pgo/merged.profdata ## cost of a network by cells, UEs and load (docs/data, drawn by docs/draw_network_cost.py)
	$(BENCH) -p lasthop-sim --bench scenarios -- scale

bench-check: target/pgo/merged.profdata ## instruction counts of the bench cases against the record (UPDATE=1 renews it)
	$(BENCH) -p lasthop-sim --bench scenarios -- $(if $(UPDATE),update,check)
	$(if $(UPDATE),$(PYTHON) docs/fill_bench.py --page)

swarm: ## random valid scenarios with every debug check on (REPS=10000)
	cargo run --profile checked -p lasthop-sim --example swarm -- $(REPS)

lock: $(VENV)/.made ## renew requirements-dev.txt and requirements-release.txt from pyproject.toml
	PIP_CONSTRAINT= $(PIP) install uv
	{ echo '# What development and CI install: exact versions that resolve on Python 3.10 and later. Renew with `make lock`.'; \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --upgrade --no-header --no-annotate \
	    --extra dev --extra docs pyproject.toml; } > requirements-dev.txt.new
	{ echo '# What `make dist` and `make workflows` install beside requirements-dev.txt. Renew with `make lock`.'; \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --upgrade --no-header --no-annotate \
	    --constraint requirements-dev.txt.new --extra release pyproject.toml; } > requirements-release.txt.new
	mv requirements-dev.txt.new requirements-dev.txt
	mv requirements-release.txt.new requirements-release.txt

clean: ## remove everything that was made
	rm -rf $(VENV) viewer/node_modules viewer/build target dist results docs/_build .mypy_cache .ruff_cache .pytest_cache python/lasthop/_core*.so
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made: requirements-dev.txt
	@command -v cargo > /dev/null || { echo "Lasthop needs a Rust toolchain: cargo is not on the PATH" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Lasthop needs Python 3.10 or later; PYTHON=... names one" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || \
	  { echo "$(PYTHON) cannot make virtual environments (on Debian: apt install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install maturin
	@touch $@

$(VENV)/.tools: $(VENV)/.made
	$(PIP) install -r requirements-dev.txt
	@touch $@

$(VENV)/.release: $(VENV)/.made requirements-release.txt
	PIP_CONSTRAINT= $(PIP) install -r requirements-release.txt
	@touch $@

$(TOOLS)/bin/cargo-deny:
	cargo install --locked --root $(TOOLS) --version $(CARGO_DENY) cargo-deny

$(VENV)/.built: $(VENV)/.made pyproject.toml $(RUST)
	$(BIN)/maturin develop --release --locked
	@touch $@
