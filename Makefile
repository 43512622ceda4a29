# Everything sets itself up: `make run` and `make test` work in a fresh clone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
READY_DEEP := $(VENV)/.ready-deep

.PHONY: help run test test-deep check bench findings clean

help:
	@echo "make run        the main job: 5 repetitions of 20 DRUG sessions, offline, into runs/"
	@echo "make test       formatting, lint, types, import contracts and tests"
	@echo "make test-deep  what takes longer: hostile messages, kills, restarts, the wheel"
	@echo "make check      formatting, lint, types and import contracts alone"
	@echo "make bench      the benchmarks, a table each"
	@echo "make findings   docs/findings*.md and the pictures, from a run of every check"
	@echo "make clean      remove the virtual environment and the caches"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pxp-fsm needs Python 3.11 or newer; try: make PYTHON=python3.11 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(READY_DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY) $@

$(READY_DEEP): $(READY_DEV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,storm]'
	@touch $@

run: $(READY)
	$(BIN)/pxp run drug --repetitions 5

check: $(READY_DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: check
	$(BIN)/pytest -n auto --dist loadfile

test-deep: $(READY_DEEP)
	$(BIN)/pytest -m deep -n auto

bench: $(READY_DEV)
	@for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit; done

findings: $(READY_DEV)
	$(BIN)/python -m pxp_fsm.analysis.findings.page docs
	$(BIN)/python -m pxp_fsm.analysis.findings.probability docs

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
