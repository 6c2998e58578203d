# Every target sets up its own virtual environment on first use.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
TOOLS  := .venv-integrations

.PHONY: demo web test test-all test-spark test-integrations lint types bench docs hashes clean

demo: $(READY)
	$(BIN)/reissue demo --force --out demo-out

web: $(READY)
	test -f demo-out/act-two.html || $(BIN)/reissue demo --force --out demo-out
	$(BIN)/reissue open demo-out/ledger

test: lint types $(READY)
	$(BIN)/pytest

test-all: lint types $(READY)
	HYPOTHESIS_PROFILE=explore $(BIN)/pytest -m "slow or not slow"

test-integrations: $(TOOLS)/.ready
	$(TOOLS)/bin/pytest -n 0 -m "slow or not slow" tests/test_integrations.py

# The engine `spark` on two workers of this machine. Installs Spark (450 MB) and a Java, in case there is none.
test-spark: $(VENV)/.spark
	REISSUE_TEST_SPARK=1 $(BIN)/pytest -n 0 -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning tests/spark

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	$(BIN)/python docs/gallery/make.py
	PYTHONPATH=docs $(BIN)/zensical build --clean

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Reissue needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(TOOLS)/.ready: pyproject.toml integrations/requirements.txt integrations/constraints.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --constraint integrations/constraints.txt --requirement integrations/requirements.txt --editable '.[duckdb]'
	@touch $@

$(VENV)/.spark: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[spark]'
	@touch $@

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

# What the runtime needs, with hashes: after a change of constraints.txt.
hashes: $(READY)
	$(BIN)/python requirements/make.py

clean:
	rm -rf $(VENV) $(TOOLS) build dist site demo-out benchmarks/out .mypy_cache .ruff_cache .pytest_cache .hypothesis
