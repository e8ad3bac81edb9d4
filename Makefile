# `make demo` lints the example programs, `make test` runs every check of the project.
# Both set up .venv by themselves and work on a fresh clone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTEST_ARGS ?=
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
# The tests start many Pythons, and without files of bytecode each of them would compile the package anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint types contracts unit explore compiled wheel format readme clean
.DEFAULT_GOAL := test

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The stamps keep what is installed: they are renewed when the requirements change, not when the code does.
$(VENV)/.stamp-demo: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable .
	touch $@

$(VENV)/.stamp-test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --editable '.[test]'
	touch $@ $(VENV)/.stamp-demo

demo: $(VENV)/.stamp-demo
	@echo '$$ devlint check examples'
	@$(BIN)/devlint check --isolated --no-cache examples || test $$? -eq 1

test: lint types contracts unit

lint: $(VENV)/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.stamp-test
	$(BIN)/mypy --strict devlint

contracts: $(VENV)/.stamp-test
	$(BIN)/lint-imports

unit: $(VENV)/.stamp-test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(PYTEST_ARGS)

# Property tests on programs that nobody has tried yet; `make test` repeats the same ones.
explore: $(VENV)/.stamp-test
	HYPOTHESIS_PROFILE=exploring $(BIN)/python -m pytest -n 2 --hypothesis-show-statistics -q \
	    $$(grep -rl '^@given' tests) $(PYTEST_ARGS)

# The optional build: a wheel whose interpreter is compiled by mypyc (needs a C compiler, takes minutes), and its tests.
wheel: $(BIN)/python
	HATCH_BUILD_HOOKS_ENABLE=1 $(PIP) wheel --no-deps --wheel-dir dist .

compiled: $(VENV)/.stamp-test
	DEVLINT_TEST_COMPILED=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -v tests/shell/test_compiled.py $(PYTEST_ARGS)

format: $(VENV)/.stamp-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What is made from the rules, the tables and from running devlint: rule pages, the README's list and its output, counts.
readme: $(VENV)/.stamp-test
	$(BIN)/python -m devlint.rules.pages --write
	$(BIN)/python -m tests.shell.readme

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .devlint_cache .import_linter_cache build dist
