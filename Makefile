# Every target installs what it needs: `make run` and `make test` work in a fresh clone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
READY_DEEP := $(VENV)/.ready-deep

# Some machines forbid it, and then each process that a test starts compiles every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run quick test test-deep attack mutants lint check bench findings gallery site dist clean

help:
	@echo "make run        run the papers' two settings of DRUG offline, 5 repetitions each, into runs/"
	@echo "make quick      check, and run the core tests; under a minute with warm caches"
	@echo "make test       check, and run all tests but the slow ones"
	@echo "make test-deep  run the slow tests: kills, PostgreSQL, the wheel, every example of properties;"
	@echo "                SWEEPS=whole tries all of large sweeps, not the first third"
	@echo "make attack     kill, cut, change and trespass, round after round; ROUNDS=1000 for a night"
	@echo "make mutants    change what runs, one place at a time; goes on where it was stopped;"
	@echo "                EVERY=60 MODULE=proofs tries every 60th change of each of these modules"
	@echo "make check      check formatting, lint, types and import contracts"
	@echo "make bench      run the benchmarks; each prints a table"
	@echo "make findings   write docs/findings*.md and the pictures, from a run of every check"
	@echo "make gallery    write docs/gallery.md: every kind of picture, with its command"
	@echo "make site       build the site of the documentation into build/site"
	@echo "make dist       build the source distribution and the wheel into dist/, and check them"
	@echo "make clean      remove the virtual environment and the caches"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pxp-fsm needs Python 3.11 or newer; try: make PYTHON=python3.11 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[drug]'
	@touch $@

$(READY_DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY) $@

$(READY_DEEP): $(READY_DEV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,inspect,site,storm]' 'a2a-sdk[http-server]==1.3.0' 'langgraph>=1.2' 'cvc5>=1.2' 'uv>=0.9'
	@touch $@

run: $(READY)
	$(BIN)/pxp run drug --repetitions 5 --both

lint: $(READY_DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache

check: lint
	$(BIN)/mypy

# The tests of the rooms on which all others depend.
QUICK := tests/automata tests/protocol tests/prompting tests/guards tests/house/test_house.py \
	tests/sessions/test_live.py tests/sessions/test_guards.py tests/sessions/test_sessions.py

quick: check
	$(BIN)/pytest -n auto --dist loadfile $(QUICK)

# Types are checked beside the tests, and told after them.
test: lint
	@$(BIN)/mypy >$(VENV)/types.txt & types=$$!; \
	$(BIN)/pytest -n auto --dist loadfile; tests=$$?; \
	wait $$types; types=$$?; cat $(VENV)/types.txt; exit $$((tests | types))

# Many wait for a browser or a server, so one more of them runs than there are cores.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
SWEEPS ?=
test-deep: $(READY_DEEP)
	@PXP_TEST_SWEEPS=$(SWEEPS) $(BIN)/pytest -m "deep or hypothesis" --hypothesis-profile whole -n $(WORKERS) --dist worksteal; \
	tests=$$?; $(BIN)/pytest -m "" -n $(WORKERS) --dist loadfile docs examples README.md; exit $$((tests | $$?))

ROUNDS ?= 10
ATTACKS ?=
attack: $(READY_DEV)
	$(BIN)/python -m tests.attack $(ROUNDS) $(ATTACKS)

mutants: $(READY_DEV)
	$(BIN)/python -m tests.proofs.mutation_page $(if $(EVERY),--every $(EVERY)) $(if $(MODULE),--module $(MODULE))

bench: $(READY_DEV)
	@for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit; done

site: $(READY_DEEP)
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/site
	$(BIN)/python docs/browser/build.py build/site/check
	@echo "Open build/site/index.html; the page that checks in the browser needs a server:"
	@echo "$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site"

findings: $(READY_DEV)
	cd benchmarks && ../$(BIN)/python -m findings.page ../docs
	cd benchmarks && ../$(BIN)/python -m findings.probability ../docs
	cd benchmarks && ../$(BIN)/python -m findings.panels ../docs
	$(BIN)/python -m tests.analysis.agent_findings

gallery: $(READY_DEV)
	$(BIN)/python benchmarks/gallery.py

dist: | $(BIN)/python
	rm -rf dist
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
