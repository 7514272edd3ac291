PYTHON ?= python3
VENV ?= .venv
ARGS ?=
# Percent of branches. Not seen: code of forked children, which end by os._exit, and what only 3.12 and 3.13 run.
COVERED := 92
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help venv test survival-long coverage demo check static fmt fmt-check lint types examples bench bench-quick bench-peers bench-plots bench-services bench-queued bench-waits wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' Makefile

venv: $(STAMP) ## make the virtual environment, or bring it up to date

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "everstep needs Python 3.11 or newer: make venv PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || \
		{ echo "$(PYTHON) lacks venv: on Debian or Ubuntu, apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

test: venv ## run the tests; ARGS goes to pytest
	$(BIN)/pytest -n auto --dist worksteal $(ARGS)

survival-long: venv ## kill at every boundary, over long chains of deaths; takes an hour
	EVERSTEP_SURVIVAL=long $(BIN)/pytest -n auto --dist worksteal --timeout 7200 tests/survival $(ARGS)

demo: venv ## run the demo
	$(BIN)/python examples/demo.py

coverage: venv ## hold the branch coverage of the tests that are not slow to the gate; twice their time
	$(BIN)/pytest -n auto --dist worksteal -m "not slow" --ignore tests/survival --cov --cov-report=term --cov-fail-under=$(COVERED)

check: static test examples wheel ## what CI runs

static: fmt-check lint types ## the checks that run nothing

fmt: venv ## format
	$(BIN)/ruff format
	$(BIN)/ruff check --fix --select I

fmt-check: venv
	$(BIN)/ruff format --check

lint: venv ## lint
	$(BIN)/ruff check

types: venv ## mypy and pyright, both strict, on every file
	$(BIN)/python scripts/check_files.py types

examples: venv ## run every example
	$(BIN)/python scripts/run_examples.py

bench: venv ## measure; some minutes; ARGS="--json FILE" goes along, as with all of these
	$(BIN)/python -m benchmarks.run $(ARGS)

bench-quick: venv ## measure in a minute
	$(BIN)/python -m benchmarks.run --quick $(ARGS)

bench-peers: venv ## measure beside other runtimes, which are installed into .peers
	$(BIN)/python -m benchmarks.peers.run $(ARGS)

bench-plots: venv ## draw what a JSON tells into docs; JSON="FILE ..."
	$(BIN)/python -m benchmarks.plots $(JSON)

bench-services: venv ## measure ten thousand supervised services
	$(BIN)/python -m benchmarks.services $(ARGS)

bench-queued: venv ## measure what a long queue costs
	$(BIN)/python -m benchmarks.queued $(ARGS)

bench-waits: venv ## measure tasks that wait out of memory
	$(BIN)/python -m benchmarks.waits $(ARGS)

wheel: venv ## build sdist and, from it, the wheel; compare both with the tree
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python scripts/check_files.py dist

clean: ## remove what the targets made
	rm -rf $(VENV) .peers build dist htmlcov *.egg-info .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
