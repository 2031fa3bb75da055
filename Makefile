# Every target installs what it needs on a fresh Debian machine with python3.11, git and make.
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
STAMP := $(VENV)/.installed
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test check coverage matrix audit bench soak docs clean

help:  ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(CORE): pyproject.toml
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || ./tools/apt python3-venv
	@test -x $(BIN)/pip || { rm -rf $(VENV); $(PYTHON) -m venv $(VENV); }
	@echo "installing sordino into $(VENV): eight packages and what they need"
	@$(BIN)/pip install --editable . | grep --line-buffered -E '^(Collecting|Successfully)' || true
	@$(BIN)/python -c 'import sordino'
	@touch $@

$(STAMP): $(CORE)
	@echo "installing the tools of its tests into $(VENV)"
	@$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(CORE)  ## see it work
	@$(BIN)/python -m sordino.demo

check: $(STAMP)  ## lint, types, layers
	@$(BIN)/ruff check src tests bench tools
	@$(BIN)/ruff format --check --quiet src tests bench tools || { echo 'run: $(BIN)/ruff format src tests bench tools'; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports

test: check  ## everything CI runs
	@command -v chromium >/dev/null || ./tools/apt chromium
	@command -v psql >/dev/null && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || ./tools/apt postgresql
	@$(BIN)/python tools/run_tests.py

coverage: $(STAMP)  ## which lines the tests run; half an hour, the figure is in the README
	@mkdir -p build/coverage
	@$(BIN)/python tools/line_coverage.py

matrix:  ## the tests on every supported Python this machine has
	@./tools/matrix

audit: $(STAMP)  ## every mechanism and question against hostile neighbours, every interval on real tables; writes docs/audit.md, docs/accuracy.md
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sordino.lab.campaign --page docs/audit.md
	@$(BIN)/python bench/coverage.py --write --strangers 3
	@SORDINO_AUDIT=full $(BIN)/python -m pytest tests/lab/test_conformance.py tests/lab/test_planted.py tests/models/test_privacy.py tests/session/test_replay.py tests/browser/test_course.py -n 2

bench: $(STAMP)  ## speed and accuracy as ratios, and the peers beside us; two hours, and up to four more the first time
	@$(BIN)/python bench/everything.py

soak: $(STAMP)  ## the ledger under thousands of kills
	@$(BIN)/python -m tests.ledger.soak

docs: $(STAMP)  ## the site in build/site, and every example in it
	@$(BIN)/python -m pytest tests/test_documents.py tests/test_notes_map.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "open build/site/index.html"

clean:  ## forget the environment
	rm -rf $(VENV) .mypy_cache .ruff_cache .import_linter_cache .hypothesis
