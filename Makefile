# A fresh clone needs python3 (3.10 or later), and wants a C++ compiler and valgrind. Everything else is set up here.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SOURCES := src tests benchmarks examples docs

# Somebody's own paths would put other packages in front of the pinned ones.
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench clean tools

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) tools ## set up and measure the built-in suite `quick`
	@$(BIN)/opbench run quick --plan quick

test: $(READY) tools ## set up and run the tests; ARGS='...' goes to pytest
	@$(BIN)/python -m pytest $(ARGS)

lint: $(READY) ## check style, types and import rules
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(READY) ## put all files into the project's style
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

bench: $(READY) tools ## measure opbench itself: isolation, start-up, large suites, harness, agreement
	@for script in startup harness timer agreement fuzzing isolation large_suite; do \
		$(BIN)/python benchmarks/$$script.py || exit 1; echo; \
	done

clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Without them everything but C++ snippets and instruction counts works, so only CI insists.
tools:
	@missing=; \
	command -v "$${CXX:-c++}" >/dev/null 2>&1 || missing="$$missing a C++ compiler ($${CXX:-c++});"; \
	command -v valgrind >/dev/null 2>&1 || missing="$$missing valgrind;"; \
	if [ -n "$$missing" ]; then \
		echo "not found:$$missing what needs it is left out" >&2; \
		if [ "$$CI" = true ]; then exit 1; fi; \
	fi

# The stamp is made last, so an interrupted set-up is done again.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
		echo "opbench needs Python 3.10 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)." >&2; \
		echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' cannot make virtual environments (Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }
	@echo "setting up $(VENV), once; it takes a minute or two" >&2
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --constraint constraints.txt pip
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --build-constraint constraints.txt \
		--group dev --editable '.[torch,postgresql,yaml]'
	@touch $@
